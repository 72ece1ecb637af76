//! `OwnerReferencesPermissionEnforcement`: who changes the owners of an object may delete it, and who blocks the deletion of
//! an owner may set its finalizers (A19).

use std::sync::Arc;

use kubewright_access::Attributes as Asked;
use serde_json::Value;

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::registry::{BuiltInId, Registry, Resource, Subresource, name_of};
use crate::wire::status::Result;

pub(super) struct OwnerReferencesPermissionEnforcement;

impl Plugin for OwnerReferencesPermissionEnforcement {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::OwnerReferencesPermissionEnforcement)
    }

    fn validate(
        &self,
        attributes: &Attributes<'_>,
        object: &Value,
        old: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<()> {
        let is_pod_status =
            attributes.resource.is(BuiltInId::Pods) && attributes.subresource == Some(Subresource::Status);
        let is_write = matches!(attributes.operation, Operation::Create | Operation::Update);
        if !is_write || is_pod_status || owners(Some(object)) == owners(old) {
            return Ok(());
        }
        let user = attributes.user;
        let resource = attributes.resource;
        if attributes.operation != Operation::Create {
            let asked = Asked::resource("delete", &*resource.group, &*resource.plural)
                .in_namespace(attributes.namespace)
                .named(&*attributes.name)
                .part(name_of(attributes.subresource));
            let decision = attributes.decide(user, &asked);
            if !decision.allowed {
                let why = format!(
                    "cannot set an ownerRef on a resource you can't delete: {}, <nil>",
                    decision.reason
                );
                return Err(attributes.forbidden(&why));
            }
        }
        let blocking = newly_blocking(owners(Some(object)), owners(old));
        let anything = Asked::resource("update", "*", "*").named("*").part("finalizers");
        if blocking.is_empty() || attributes.decide(user, &anything).allowed {
            return Ok(());
        }
        for owner in blocking {
            check_finalizers(attributes, owner)?;
        }
        Ok(())
    }
}

fn owners(object: Option<&Value>) -> &[Value] {
    let owners = object.and_then(|object| object.pointer("/metadata/ownerReferences"));
    owners.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The owners whose deletion is blocked from now on.
fn newly_blocking<'o>(new: &'o [Value], old: &[Value]) -> Vec<&'o Value> {
    let blocks = |owner: &Value| owner.get("blockOwnerDeletion") == Some(&Value::Bool(true));
    let was = |owner: &Value| {
        old.iter()
            .any(|known| known.get("uid") == owner.get("uid") && blocks(known))
    };
    new.iter().filter(|owner| blocks(owner) && !was(owner)).collect()
}

fn check_finalizers(attributes: &Attributes<'_>, owner: &Value) -> Result<()> {
    let text = |key: &str| owner.get(key).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let Some((plural, namespaced)) = resource_of(attributes, group, version, kind) else {
        return Err(attributes.forbidden(&format!(
            "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion {api_version} Kind \
             {kind}: no matches for kind {} in version {}",
            kubewright_apimachinery::go::quote(kind),
            kubewright_apimachinery::go::quote(api_version),
        )));
    };
    let asked = Asked::resource("update", group, plural)
        .named(text("name"))
        .part("finalizers");
    let asked = if namespaced {
        asked.in_namespace(attributes.namespace)
    } else {
        asked
    };
    let decision = attributes.decide(attributes.user, &asked);
    if decision.allowed {
        return Ok(());
    }
    Err(attributes.forbidden(&format!(
        "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: {}, <nil>",
        decision.reason
    )))
}

/// The plural name of a kind, and whether its objects live in namespaces.
fn resource_of(attributes: &Attributes<'_>, group: &str, version: &str, kind: &str) -> Option<(String, bool)> {
    let mut built_in = Registry::builtin().iter();
    let is_meant =
        |resource: &&Arc<Resource>| (&*resource.group, &*resource.version, &*resource.kind) == (group, version, kind);
    if let Some(resource) = built_in.find(is_meant) {
        return Some((resource.plural.to_string(), resource.namespaced));
    }
    let served = attributes.server.definitions.served();
    let mut defined = served.definitions();
    let definition = defined.find(|definition| definition.group == group && definition.names.kind == kind)?;
    let is_served = definition
        .versions
        .iter()
        .any(|known| known.name == version && known.served);
    is_served.then(|| (definition.names.plural.clone(), definition.namespaced))
}
