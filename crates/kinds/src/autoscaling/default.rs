//! An autoscaler's defaults that depend on its other fields.

use serde_json::{Map, Value, json};

use crate::rules::access::{at, list_at, map_mut, set_default};

/// The CPU utilization an autoscaler without metrics aims at, in percent.
pub(super) const CPU_UTILIZATION: i64 = 80;

/// The metric of an autoscaler that names none.
pub(super) fn cpu_metric(utilization: i64) -> Value {
    json!({
        "type": "Resource",
        "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": utilization } },
    })
}

pub(super) fn apply(object: &mut Value) {
    set_default(object, &["spec"], "minReplicas", 1);
    if list_at(object, &["spec", "metrics"]).is_empty()
        && let Some(spec) = map_mut(object, &["spec"])
    {
        spec.insert("metrics".into(), json!([cpu_metric(CPU_UTILIZATION)]));
    }
    if at(object, &["spec", "behavior"]).is_none() {
        return;
    }
    let up = json!({
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            { "type": "Pods", "value": 4, "periodSeconds": 15 },
            { "type": "Percent", "value": 100, "periodSeconds": 15 },
        ],
    });
    // How long a scale-down waits is the controller's own setting unless the object says otherwise.
    let down = json!({
        "selectPolicy": "Max",
        "policies": [{ "type": "Percent", "value": 100, "periodSeconds": 15 }],
    });
    for (direction, defaults) in [("scaleUp", up), ("scaleDown", down)] {
        let rules = map_mut(object, &["spec", "behavior", direction]);
        if let (Some(rules), Value::Object(defaults)) = (rules, defaults) {
            fill(rules, defaults);
        }
    }
}

fn fill(rules: &mut Map<String, Value>, defaults: Map<String, Value>) {
    for (field, value) in defaults {
        let slot = rules.entry(field).or_insert(Value::Null);
        if slot.is_null() {
            *slot = value;
        }
    }
}
