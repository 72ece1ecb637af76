//! `NodeDeclaredFeatureValidator`: a Pod on a node changes only as the node says that it can (A19).

use serde_json::Value;

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::object::meta_number;
use crate::registry::{BuiltInId, Subresource};
use crate::wire::status::Result;

pub(super) struct NodeDeclaredFeatureValidator;

impl Plugin for NodeDeclaredFeatureValidator {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::NodeDeclaredFeatureValidator)
    }

    fn validate(
        &self,
        attributes: &Attributes<'_>,
        pod: &Value,
        old: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<()> {
        let is_changed = attributes.resource.is(BuiltInId::Pods)
            && attributes.operation == Operation::Update
            && matches!(attributes.subresource, None | Some(Subresource::Resize));
        let Some(old) = old.filter(|_| is_changed) else {
            return Ok(());
        };
        let name = pod
            .pointer("/spec/nodeName")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if name.is_empty() || meta_number(old, "generation") == meta_number(pod, "generation") {
            return Ok(());
        }
        let needed = needed(pod, old);
        if needed.is_empty() {
            return Ok(());
        }
        let quoted = kubewright_apimachinery::go::quote(name);
        let Some(node) = attributes.stored(BuiltInId::Nodes, name) else {
            return Err(attributes.forbidden(&format!("node {quoted} not found")));
        };
        let declared = node.pointer("/status/declaredFeatures").and_then(Value::as_array);
        let has = |feature: &&str| {
            declared.is_some_and(|declared| declared.iter().any(|known| known.as_str() == Some(feature)))
        };
        let missing: Vec<&str> = needed.into_iter().filter(|feature| !has(feature)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing = missing.join(", ");
        let why = format!("pod update requires features {missing} which are not available on node {quoted}");
        Err(attributes.forbidden(&why))
    }
}

/// What the update of a Pod needs of its node.
fn needed(pod: &Value, old: &Value) -> Vec<&'static str> {
    let mut needed = Vec::new();
    if pod.pointer("/spec/resources") != old.pointer("/spec/resources") {
        needed.push("InPlacePodLevelResourcesVerticalScaling");
    }
    let initializing = |pod: &Value| -> Vec<Value> {
        let containers = pod.pointer("/spec/initContainers").and_then(Value::as_array);
        let containers = containers.into_iter().flatten();
        let containers = containers.filter(|container| container.get("restartPolicy") != Some(&"Always".into()));
        containers
            .map(|container| container.get("resources").cloned().unwrap_or_default())
            .collect()
    };
    if initializing(pod) != initializing(old) {
        needed.push("InPlacePodVerticalScalingInitContainers");
    }
    needed
}
