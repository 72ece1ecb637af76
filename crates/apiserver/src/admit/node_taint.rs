//! `TaintNodesByCondition`: a new node has the taint `node.kubernetes.io/not-ready` until its conditions say
//! otherwise.

use serde_json::{Value, json};

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::registry::BuiltInId;
use crate::wire::status::Result;

pub(super) struct TaintNodesByCondition;

const TAINT: &str = "node.kubernetes.io/not-ready";

impl Plugin for TaintNodesByCondition {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::TaintNodesByCondition)
    }

    fn mutate(&self, attributes: &Attributes<'_>, node: &mut Value, _old: Option<&Value>) -> Result<()> {
        if !attributes.is(BuiltInId::Nodes) || attributes.operation != Operation::Create {
            return Ok(());
        }
        let Some(spec) = node
            .as_object_mut()
            .map(|node| node.entry("spec").or_insert_with(|| json!({})))
            .and_then(Value::as_object_mut)
        else {
            return Ok(());
        };
        let taints = spec.entry("taints").or_insert_with(|| json!([]));
        if let Some(taints) = taints.as_array_mut()
            && !taints
                .iter()
                .any(|taint| taint["key"] == TAINT && taint["effect"] == "NoSchedule")
        {
            taints.push(json!({ "key": TAINT, "effect": "NoSchedule" }));
        }
        Ok(())
    }
}
