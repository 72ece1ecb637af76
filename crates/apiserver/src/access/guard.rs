//! Writes that would give away rights: of roles (verb `escalate`) and of bindings (verb `bind`) (Z4).

use std::sync::Arc;

use http::StatusCode;
use kubewright_access::{Forbidden, RoleRef, Rule, confirm_no_escalation};
use serde_json::Value;

use super::delegated::decide_by;
use super::{Attributes, RBAC, Ruling, forbidden_status, ruling};
use crate::object::{meta_text, metadata, metadata_mut};
use crate::registry::{BuiltInId, Resource, name_of};
use crate::request::call::Call;
use crate::wire::status::{GroupResource, Result, Status};

/// Whether the author of a role or binding may give what it gives; all other kinds pass. Comes after objects are
/// mutated and before they are validated, as upstream has it.
pub(crate) async fn check_escalation(
    call: &Call<'_>,
    resource: &Resource,
    object: &Value,
    old: Option<&Value>,
) -> Result<()> {
    match resource.id() {
        _ if call.user.is_master() => Ok(()),
        Some(BuiltInId::Roles | BuiltInId::ClusterRoles) => check_role(call, resource, object, old).await,
        Some(BuiltInId::RoleBindings | BuiltInId::ClusterRoleBindings) => {
            check_binding(call, resource, object, old).await
        }
        _ => Ok(()),
    }
}

/// Whether an update or a patch may create the object that is not there; a create has been asked already.
pub(crate) async fn check_create_by_update(call: &Call<'_>) -> Result<()> {
    if call.target.name.is_empty() || call.target.subresource.is_some() {
        return Ok(());
    }
    let resource = call.resource();
    let mut asked = Attributes::resource("create", &*resource.group, &*resource.plural)
        .in_namespace(call.target.namespace)
        .named(call.target.name);
    asked.version = (&*resource.version).into();
    let decision = if let Some(access) = call.server.access.delegated() {
        decide_by(&**access, call.user, &asked)
            .await
            .map_err(|why| Status::internal(&why))?
    } else {
        let Ruling { decision, error, .. } = ruling(call.server, call.user, &asked).await;
        match error {
            Some(why) if !decision.allowed => return Err(Status::internal(&why)),
            _ => decision,
        }
    };
    if decision.allowed {
        return Ok(());
    }
    Err(forbidden_status(&Forbidden::of(call.user, &asked, &decision)))
}

/// Whether a client may connect to a Pod: every way of asking, also a GET, takes the right to create the connection.
pub(crate) async fn check_create_of_connection(call: &Call<'_>) -> Result<()> {
    let resource = call.resource();
    let mut asked = Attributes::resource("create", &*resource.group, &*resource.plural)
        .in_namespace(call.target.namespace)
        .named(call.target.name);
    asked.subresource = name_of(call.target.subresource).into();
    asked.version = (&*resource.version).into();
    let decision = ruling(call.server, call.user, &asked).await.decision;
    if decision.allowed {
        return Ok(());
    }
    Err(Status::forbidden(
        resource.about(),
        call.target.name,
        &decision.reason.to_string(),
    ))
}

async fn check_role(call: &Call<'_>, resource: &Resource, role: &Value, old: Option<&Value>) -> Result<()> {
    let mut asked = Attributes::resource("escalate", RBAC, &*resource.plural)
        .in_namespace(call.target.namespace)
        .named(call.target.name);
    asked.version = "*".into();
    if ruling(call.server, call.user, &asked).await.decision.allowed || is_for_the_collector(role, old) {
        return Ok(());
    }
    confirm(call, resource, role, &Rule::all_of(role))?;
    let aggregates = |role: &Value| kubewright_access::ClusterRoleSelectors::of(role).is_some();
    if resource.is(BuiltInId::ClusterRoles) && (aggregates(role) || old.is_some_and(aggregates)) {
        let everything = [Rule::resources(["*"], ["*"], ["*"]), Rule::paths(["*"], ["*"])];
        if confirm(call, resource, role, &everything).is_err() {
            let why = "must have cluster-admin privileges to use the aggregationRule";
            return Err(refusal(resource, role, why));
        }
    }
    Ok(())
}

async fn check_binding(call: &Call<'_>, resource: &Resource, binding: &Value, old: Option<&Value>) -> Result<()> {
    if is_for_the_collector(binding, old) {
        return Ok(());
    }
    let role = RoleRef::of(binding);
    let namespace = call.target.namespace;
    let bound = match role.kind.as_str() {
        "ClusterRole" => Some("clusterroles"),
        "Role" => Some("roles"),
        _ => None,
    };
    if let Some(bound) = bound {
        let mut asked = Attributes::resource("bind", role.api_group.as_str(), bound)
            .in_namespace(namespace)
            .named(role.name.as_str());
        asked.version = "*".into();
        if ruling(call.server, call.user, &asked).await.decision.allowed {
            return Ok(());
        }
    }
    if bound == Some("roles") && namespace.is_empty() {
        return Err(Status::namespace_required());
    }
    let found = call.server.authorizer().policy().role(&role, namespace);
    let rules = found.map_err(|why| match bound {
        // Upstream looks roles up on behalf of the request, and names its resource.
        Some(_) => Status::not_found(resource.about(), &role.name),
        None => Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", why),
    })?;
    confirm(call, resource, binding, &rules)
}

/// Whether the user has all these rights.
fn confirm(call: &Call<'_>, resource: &Resource, object: &Value, rules: &[Rule]) -> Result<()> {
    let (held, errors) = call.server.authorizer().rules_for(call.user, call.target.namespace);
    // Here too, what is missing is missing under the name of the request's resource.
    let named = |error: &Arc<str>| match error.split_once('.') {
        Some(("role" | "clusterrole", rest)) => format!("{}.{rest}", resource.plural),
        _ => error.to_string(),
    };
    let errors: Vec<String> = errors.iter().map(named).collect();
    confirm_no_escalation(call.user, &held, &errors, rules).map_err(|why| refusal(resource, object, &why))
}

fn refusal(resource: &Resource, object: &Value, why: &str) -> Box<Status> {
    let about = GroupResource {
        group: RBAC,
        resource: &resource.plural,
    };
    Status::forbidden(about, meta_text(object, "name"), why)
}

/// Whether an update changes only what the garbage collector changes on its way to delete something.
fn is_for_the_collector(object: &Value, old: Option<&Value>) -> bool {
    let Some(old) = old else { return false };
    let mut copy = object.clone();
    let before = metadata(old);
    if let Some(meta) = metadata_mut(&mut copy) {
        for key in ["ownerReferences", "finalizers", "selfLink", "managedFields"] {
            match before.and_then(|before| before.get(key)) {
                Some(value) => meta.insert(key.to_owned(), value.clone()),
                None => meta.remove(key),
            };
        }
    }
    copy == *old
}
