//! The params of a binding: objects of the kind that its policy names (A13).

use std::sync::Arc;

use kubewright_admission::GroupVersionKind;
use kubewright_admission::policy::{Binding, ParamRef};
use kubewright_apimachinery::labels::Selector;
use kubewright_store::Record;
use serde_json::Value;

use crate::custom::conversion::with_conversions;
use crate::object::{self, remove_meta};
use crate::registry::{Registry, Resource};
use crate::request::call::record_value;
use crate::server::Server;

/// The resource of a kind, or upstream's message that there is none.
pub(crate) fn resource(server: &Server, kind: &GroupVersionKind) -> Result<Arc<Resource>, String> {
    let definitions = server.definitions.served();
    let is_kind = |resource: &&Arc<Resource>| {
        *resource.group == *kind.group && *resource.version == *kind.version && *resource.kind == *kind.kind
    };
    let found = Registry::builtin()
        .iter()
        .chain(definitions.registry.iter())
        .find(is_kind);
    found
        .cloned()
        .ok_or_else(|| format!("failed to find resource referenced by paramKind: '{kind}'"))
}

/// The resource of the params of a policy; `None` if it has none.
pub(super) fn resource_of(server: &Server, kind: Option<&GroupVersionKind>) -> Result<Option<Arc<Resource>>, String> {
    kind.map(|kind| resource(server, kind)).transpose()
}

/// The params of a binding: one that is null if it has none.
pub(super) async fn of_binding(
    server: &Server,
    resource: Option<&Resource>,
    binding: &Binding,
    namespace: &str,
) -> Result<Vec<Value>, String> {
    match (resource, &binding.param_ref) {
        (Some(resource), Some(reference)) => find(server, resource, reference, namespace).await,
        _ => Ok(vec![Value::Null]),
    }
}

/// The params that a binding names, for a request in this namespace, or upstream's message why there are none.
async fn find(
    server: &Server,
    resource: &Resource,
    reference: &ParamRef,
    namespace: &str,
) -> Result<Vec<Value>, String> {
    let namespace = match (resource.namespaced, reference.namespace.as_str()) {
        (true, "") if namespace.is_empty() => {
            let why = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
            return Err(why.to_owned());
        }
        (true, "") => namespace,
        (true, other) => other,
        (false, "") => "",
        (false, _) => {
            return Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned());
        }
    };
    let records = match &reference.selector {
        _ if !reference.name.is_empty() => {
            let key = object::key(namespace, &reference.name);
            server.store.get(resource.table, &key).into_iter().collect()
        }
        Some(selector) => selected(server, resource, namespace, selector.as_ref().map_err(Clone::clone)?),
        None => return Err("one of name or selector must be provided".to_owned()),
    };
    if records.is_empty() && reference.deny_missing {
        return Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned());
    }
    let mut params = Vec::with_capacity(records.len());
    for record in records {
        let value = with_conversions(server, resource, |cache| {
            record_value(resource, &record, record.revision, cache)
        });
        let mut value = value.await.map_err(|status| status.message.clone())?;
        // Upstream's cache of built-in kinds has no owners of fields.
        if resource.custom().is_none() {
            remove_meta(&mut value, "managedFields");
        }
        params.push(value);
    }
    Ok(params)
}

fn selected(server: &Server, resource: &Resource, namespace: &str, selector: &Selector) -> Vec<Arc<Record>> {
    let snapshot = server.store.snapshot(resource.table);
    let namespace = resource.namespaced.then_some(namespace);
    let records = snapshot.records(namespace, None);
    records
        .filter(|record| selector.matches(&*record.labels))
        .cloned()
        .collect()
}
