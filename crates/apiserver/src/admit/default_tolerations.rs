//! `DefaultTolerationSeconds`: pods tolerate an unready or unreachable node for five minutes, or as long as the server is told.

use serde_json::{Value, json};

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::registry::BuiltInId;
use crate::wire::status::Result;

pub(super) struct DefaultTolerationSeconds;

const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

impl Plugin for DefaultTolerationSeconds {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::DefaultTolerationSeconds)
    }

    fn mutate(&self, attributes: &Attributes<'_>, pod: &mut Value, _old: Option<&Value>) -> Result<()> {
        if !attributes.is(BuiltInId::Pods) || attributes.operation == Operation::Delete {
            return Ok(());
        }
        let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
            return Ok(());
        };
        let tolerations = spec
            .get("tolerations")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let mut all = tolerations.clone();
        let seconds = attributes.server.admission.toleration_seconds;
        for (taint, seconds) in TAINTS.into_iter().zip(seconds) {
            if !tolerations.iter().any(|toleration| tolerates(toleration, taint)) {
                all.push(json!({
                    "key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds,
                }));
            }
        }
        if !all.is_empty() {
            spec.insert("tolerations".into(), Value::Array(all));
        }
        Ok(())
    }
}

fn tolerates(toleration: &Value, taint: &str) -> bool {
    let text = |key: &str| toleration.get(key).and_then(Value::as_str).unwrap_or_default();
    (text("key").is_empty() || text("key") == taint) && matches!(text("effect"), "" | "NoExecute")
}
