//! A pod's conditions: setting one, and noting since when it has had its status.

use serde_json::{Map, Value, json};

use crate::rules::access::{list_at, map_mut, str_at};

/// Sets the condition `kind`; its time of transition moves only when its status does.
pub(crate) fn set(pod: &mut Value, kind: &str, status: &str, reason: &str, message: &str, now: &str) {
    let mut condition = Map::new();
    condition.insert("type".to_owned(), kind.into());
    condition.insert("status".to_owned(), status.into());
    condition.insert("lastProbeTime".to_owned(), Value::Null);
    condition.insert("lastTransitionTime".to_owned(), now.into());
    for (name, value) in [("reason", reason), ("message", message)] {
        if !value.is_empty() {
            condition.insert(name.to_owned(), value.into());
        }
    }
    let Some(of_pod) = map_mut(pod, &["status"]) else {
        return;
    };
    let Some(conditions) = of_pod.entry("conditions").or_insert_with(|| json!([])).as_array_mut() else {
        return;
    };
    match conditions.iter_mut().find(|known| str_at(known, &["type"]) == kind) {
        Some(known) => {
            if str_at(known, &["status"]) == status {
                let since = known.get("lastTransitionTime").cloned().unwrap_or_default();
                condition.insert("lastTransitionTime".to_owned(), since);
            }
            *known = Value::Object(condition);
        }
        None => conditions.push(Value::Object(condition)),
    }
}

/// Whether the condition `kind` is there and true.
pub(crate) fn is_true(pod: &Value, kind: &str) -> bool {
    list_at(pod, &["status", "conditions"])
        .iter()
        .any(|condition| str_at(condition, &["type"]) == kind && str_at(condition, &["status"]) == "True")
}
