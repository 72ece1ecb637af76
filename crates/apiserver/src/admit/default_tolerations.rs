//! `DefaultTolerationSeconds`: pods tolerate an unready or unreachable node for five minutes.

use serde_json::{Value, json};

use super::{Attributes, Operation, Plugin};
use crate::registry::BuiltInId;
use crate::wire::status::Result;

pub(super) struct DefaultTolerationSeconds;

const SECONDS: i64 = 300;
const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

impl Plugin for DefaultTolerationSeconds {
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
        for taint in TAINTS {
            if !tolerations.iter().any(|toleration| tolerates(toleration, taint)) {
                all.push(json!({
                    "key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS,
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
