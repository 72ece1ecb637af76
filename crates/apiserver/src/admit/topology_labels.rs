//! `PodTopologyLabels`: a Pod that is put on a node gets the labels that say where the node is (A19).

use serde_json::{Map, Value};

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::registry::{BuiltInId, Subresource};
use crate::wire::status::Result;

pub(super) struct PodTopologyLabels;

const LABELS: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

impl Plugin for PodTopologyLabels {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::PodTopologyLabels)
    }

    fn mutate(&self, attributes: &Attributes<'_>, object: &mut Value, _old: Option<&Value>) -> Result<()> {
        if !attributes.resource.is(BuiltInId::Pods) || attributes.operation != Operation::Create {
            return Ok(());
        }
        let node = match attributes.subresource {
            None => object.pointer("/spec/nodeName"),
            Some(Subresource::Binding) => {
                let is_node = object.pointer("/target/kind").and_then(Value::as_str) == Some("Node");
                object.pointer("/target/name").filter(|_| is_node)
            }
            Some(_) => return Ok(()),
        };
        let Some(node) = node.and_then(Value::as_str).filter(|node| !node.is_empty()) else {
            return Ok(());
        };
        let Some(node) = attributes.server.store.get(BuiltInId::Nodes.resource().table, node) else {
            return Ok(());
        };
        let found: Vec<(&str, &str)> = LABELS
            .into_iter()
            .filter_map(|key| Some((key, node.label(key)?)))
            .collect();
        if found.is_empty() {
            return Ok(());
        }
        let Some(metadata) = crate::object::metadata_mut(object) else {
            return Ok(());
        };
        let labels = metadata.entry("labels").or_insert_with(|| Map::new().into());
        for (key, value) in found {
            labels[key] = value.into();
        }
        Ok(())
    }
}
