//! `LimitPodHardAntiAffinityTopology`: a Pod keeps others off its node at most, not off a whole zone (A19).

use serde_json::Value;

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::object::meta_text;
use crate::registry::BuiltInId;
use crate::wire::status::{Result, Status};

pub(super) struct LimitPodHardAntiAffinityTopology;

const HOSTNAME: &str = "kubernetes.io/hostname";
const TERMS: &str = "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution";

impl Plugin for LimitPodHardAntiAffinityTopology {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::LimitPodHardAntiAffinityTopology)
    }

    fn validate(
        &self,
        attributes: &Attributes<'_>,
        pod: &Value,
        _old: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<()> {
        if !attributes.is(BuiltInId::Pods) || attributes.operation == Operation::Delete {
            return Ok(());
        }
        let terms = pod.pointer(TERMS).and_then(Value::as_array).into_iter().flatten();
        let mut keys = terms.map(|term| term.get("topologyKey").and_then(Value::as_str).unwrap_or_default());
        let Some(key) = keys.find(|key| *key != HOSTNAME) else {
            return Ok(());
        };
        let why = format!(
            "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but only key {HOSTNAME} is allowed"
        );
        Err(Status::forbidden(
            attributes.resource.about(),
            meta_text(pod, "name"),
            &why,
        ))
    }
}
