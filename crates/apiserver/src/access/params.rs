//! Policies with params: who writes one may read everything of the kind of its params, and who binds one may read the params that the
//! binding names (Z4), since a policy shows what it reads.

use kubewright_admission::GroupVersionKind;
use kubewright_admission::policy::kind_of_params;
use kubewright_apimachinery::field::{FieldError, PathRef};
use serde_json::Value;

use super::{Attributes, Ruling, User, ruling};
use crate::object::{self, meta_text};
use crate::policy;
use crate::registry::{BuiltInId, Resource, api_version};
use crate::request::call::Call;
use crate::wire::status::{Result, Status};

/// Refuses a policy or a binding whose author may not read its params; all other kinds pass. Comes after an object is found valid, as
/// upstream has it.
pub(crate) async fn check_params(
    call: &Call<'_>,
    resource: &Resource,
    object: &Value,
    old: Option<&Value>,
) -> Result<()> {
    if call.target.subresource.is_some() || call.user.is_master() {
        return Ok(());
    }
    let (field, refusal) = match resource.id() {
        Some(BuiltInId::ValidatingAdmissionPolicies | BuiltInId::MutatingAdmissionPolicies) => {
            ("paramKind", refusal_of_policy(call, object, old).await)
        }
        Some(BuiltInId::ValidatingAdmissionPolicyBindings) => {
            let policies = BuiltInId::ValidatingAdmissionPolicies;
            ("paramRef", refusal_of_binding(call, object, policies).await)
        }
        Some(BuiltInId::MutatingAdmissionPolicyBindings) => {
            let policies = BuiltInId::MutatingAdmissionPolicies;
            ("paramRef", refusal_of_binding(call, object, policies).await)
        }
        _ => return Ok(()),
    };
    let Some(why) = refusal else { return Ok(()) };
    let spec = PathRef::root("spec");
    let error = FieldError::forbidden(&spec.child(field), why);
    let name = meta_text(object, "name");
    Err(Status::invalid(&resource.group, &resource.kind, name, &vec![error]))
}

async fn refusal_of_policy(call: &Call<'_>, policy: &Value, old: Option<&Value>) -> Option<String> {
    let kind = kind_of_params(policy)?;
    if old.and_then(kind_of_params).as_ref() == Some(&kind) {
        return None;
    }
    let (asked, _) = attributes("get", Some(&kind), call);
    let asked = asked.in_namespace("*").named("*");
    let Ruling { decision, error, .. } = ruling(call.server, call.user, &asked).await;
    if decision.allowed {
        return None;
    }
    Some(error.unwrap_or_else(|| {
        format!(
            r#"user {} must have "get" permission on all objects of the referenced paramKind (kind={}, apiVersion={})"#,
            shown(call.user),
            kind.kind,
            api_version(&kind.group, &kind.version)
        )
    }))
}

/// Every update of a binding with params is asked about: upstream compares the addresses of parts of the old and the new `paramRef`.
async fn refusal_of_binding(call: &Call<'_>, binding: &Value, policies: BuiltInId) -> Option<String> {
    let reference = binding.pointer("/spec/paramRef").filter(|part| part.is_object())?;
    let text = |part: &Value, field: &str| part.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let policy_name = text(&binding["spec"], "policyName");
    let stored = call.server.store.get(policies.resource().table, &policy_name);
    let policy = stored.map(|record| object::to_value(policies.resource(), &record, record.revision));
    let kind = policy.as_ref().and_then(kind_of_params);

    let name = text(reference, "name");
    let verb = if name.is_empty() { "list" } else { "get" };
    let (asked, is_resolved) = attributes(verb, kind.as_ref(), call);
    let asked = asked.in_namespace(text(reference, "namespace")).named(name);
    let Ruling { decision, error, .. } = ruling(call.server, call.user, &asked).await;
    if decision.allowed {
        return None;
    }
    let is_validating = policies == BuiltInId::ValidatingAdmissionPolicies;
    if let Some(why) = error {
        return Some(if is_validating {
            format!("failed to authorize request: {why}")
        } else {
            why
        });
    }
    let user = shown(call.user);
    let everything = format!(
        r#"to determine minimum required permissions and user {user} does not have "{verb}" permission for all groups, versions and resources"#
    );
    Some(match &kind {
        _ if policy.is_none() => format!("unable to get policy {policy_name} {everything}"),
        Some(kind) if !is_resolved => {
            format!(
                "unable to resolve paramKind &{{{} {}}} {everything}",
                api_version(&kind.group, &kind.version),
                kind.kind
            )
        }
        _ => {
            // Upstream has exchanged the two for mutating policies.
            let (user, verb) = if is_validating { (&*user, verb) } else { (verb, &*user) };
            format!(r#"user {user} does not have "{verb}" permission on the object referenced by paramRef"#)
        }
    })
}

/// What is asked about objects of a kind, and whether that is served: about everything that the kind could be as long as that is unknown.
fn attributes(verb: &'static str, kind: Option<&GroupVersionKind>, call: &Call<'_>) -> (Attributes<'static>, bool) {
    let Some(kind) = kind else {
        let mut asked = Attributes::resource(verb, "*", "*");
        asked.version = "*".into();
        return (asked, false);
    };
    let served = policy::param_resource(call.server, kind).ok();
    let plural = served
        .as_ref()
        .map_or_else(|| "*".to_owned(), |resource| resource.plural.to_string());
    let mut asked = Attributes::resource(verb, kind.group.clone(), plural);
    asked.version = kind.version.clone().into();
    (asked, served.is_some())
}

/// A user as Go's `%v` prints upstream's: `&{alice u-1 [team] map[scopes:[a b]]}`.
fn shown(user: &User) -> String {
    let extra = user.extra.iter();
    let extra: Vec<String> = extra
        .map(|(key, values)| format!("{key}:[{}]", values.join(" ")))
        .collect();
    format!(
        "&{{{} {} [{}] map[{}]}}",
        user.name,
        user.uid,
        user.groups.join(" "),
        extra.join(" ")
    )
}
