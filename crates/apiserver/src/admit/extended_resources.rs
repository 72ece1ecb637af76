//! `ExtendedResourceToleration`: Pods that ask for a device tolerate the nodes that are kept for those who do (A19).

use std::collections::BTreeSet;

use kubewright_apimachinery::names::is_qualified_name;
use serde_json::{Value, json};

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::registry::BuiltInId;
use crate::wire::status::Result;

pub(super) struct ExtendedResourceToleration;

impl Plugin for ExtendedResourceToleration {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::ExtendedResourceToleration)
    }

    fn mutate(&self, attributes: &Attributes<'_>, pod: &mut Value, _old: Option<&Value>) -> Result<()> {
        let is_write = matches!(attributes.operation, Operation::Create | Operation::Update);
        let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
            return Ok(());
        };
        if !is_write || !attributes.is(BuiltInId::Pods) {
            return Ok(());
        }
        let resources: BTreeSet<String> = ["containers", "initContainers"]
            .into_iter()
            .filter_map(|key| spec.get(key)?.as_array())
            .flatten()
            .filter_map(|container| container.pointer("/resources/requests")?.as_object())
            .flat_map(|requests| requests.keys().filter(|name| is_extended(name)).cloned())
            .collect();
        if resources.is_empty() {
            return Ok(());
        }
        let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
        if tolerations.is_null() {
            *tolerations = json!([]);
        }
        for resource in resources {
            tolerate(tolerations.as_array_mut(), &resource);
        }
        Ok(())
    }
}

/// Puts the toleration in the place of those like it, or at the end.
fn tolerate(tolerations: Option<&mut Vec<Value>>, resource: &str) {
    let Some(tolerations) = tolerations else { return };
    let wanted = json!({ "key": resource, "operator": "Exists", "effect": "NoSchedule" });
    let mut is_there = false;
    for own in tolerations.iter_mut() {
        let text = |key: &str| own.get(key).and_then(Value::as_str).unwrap_or_default();
        if (text("key"), text("operator"), text("effect"), text("value")) == (resource, "Exists", "NoSchedule", "") {
            is_there = true;
            *own = wanted.clone();
        }
    }
    if !is_there {
        tolerations.push(wanted);
    }
}

/// Whether a resource is none of Kubernetes' own, and could be counted by a quota.
fn is_extended(name: &str) -> bool {
    name.contains('/')
        && !name.contains("kubernetes.io/")
        && !name.starts_with("requests.")
        && is_qualified_name(&format!("requests.{name}"))
}
