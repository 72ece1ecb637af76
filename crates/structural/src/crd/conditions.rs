//! The conditions of a definition (C1): found, set and removed the way the API machinery does it.

use serde_json::{Map, Value, json};

use super::access::{list, object_mut, text};

/// Whether the requested names are free.
pub(crate) const NAMES_ACCEPTED: &str = "NamesAccepted";
/// Whether the kind is served; once true it stays so.
pub(crate) const ESTABLISHED: &str = "Established";
/// Whether the definition is being deleted.
pub(crate) const TERMINATING: &str = "Terminating";
/// Whether a schema is not structural.
pub(crate) const NON_STRUCTURAL: &str = "NonStructuralSchema";
/// Whether a definition in a protected group was approved.
pub(crate) const API_APPROVAL: &str = "KubernetesAPIApprovalPolicyConformant";

/// A condition without its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) kind: &'static str,
    pub(crate) status: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Condition {
    pub(crate) fn new(
        kind: &'static str,
        status: &'static str,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Condition {
        Condition {
            kind,
            status,
            reason,
            message: message.into(),
        }
    }

    /// Whether the definition already says this, whenever it began to.
    pub(crate) fn is_said_by(&self, object: &Value) -> bool {
        find(object, self.kind).is_some_and(|old| {
            text(old, &["status"]) == self.status
                && text(old, &["reason"]) == self.reason
                && text(old, &["message"]) == self.message
        })
    }

    /// Says this from `now` on; a condition whose status stays keeps its time.
    pub(crate) fn set(&self, object: &mut Value, now: &str) {
        let Some(status) = object_mut(object, &["status"]) else {
            return;
        };
        let conditions = status.entry("conditions").or_insert_with(|| json!([]));
        if !conditions.is_array() {
            *conditions = json!([]);
        }
        let Some(conditions) = conditions.as_array_mut() else {
            return;
        };
        let existing = conditions
            .iter_mut()
            .find(|condition| text(condition, &["type"]) == self.kind);
        if let Some(Value::Object(existing)) = existing {
            let status_changes = existing.get("status").and_then(Value::as_str) != Some(self.status);
            if status_changes || existing.get("lastTransitionTime").is_none_or(Value::is_null) {
                existing.insert("lastTransitionTime".to_owned(), now.into());
            }
            self.say(existing);
            return;
        }
        let mut condition = Map::new();
        condition.insert("type".to_owned(), self.kind.into());
        condition.insert("lastTransitionTime".to_owned(), now.into());
        self.say(&mut condition);
        conditions.push(Value::Object(condition));
    }

    fn say(&self, condition: &mut Map<String, Value>) {
        condition.insert("status".to_owned(), self.status.into());
        for (field, words) in [("reason", self.reason), ("message", &self.message)] {
            if words.is_empty() {
                condition.remove(field);
            } else {
                condition.insert(field.to_owned(), words.into());
            }
        }
    }
}

/// The condition of this type.
pub(crate) fn find<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    list(object, &["status", "conditions"])
        .iter()
        .find(|condition| text(condition, &["type"]) == kind)
}

/// Whether the condition is there and true.
pub(crate) fn is_true(object: &Value, kind: &str) -> bool {
    find(object, kind).is_some_and(|condition| text(condition, &["status"]) == "True")
}

/// Removes the condition of this type.
pub(crate) fn remove(object: &mut Value, kind: &str) {
    let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    if let Some(conditions) = conditions {
        conditions.retain(|condition| text(condition, &["type"]) != kind);
    }
}
