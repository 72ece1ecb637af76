//! Which fields of an object changed.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// As many characters of a value are kept.
const LONGEST: usize = 80;

/// A field that changed.
///
/// ```
/// use kubewright_runtime::trace::FieldChange;
/// use serde_json::json;
///
/// let changes = FieldChange::between(&json!({ "spec": { "replicas": 1 } }), &json!({ "spec": { "replicas": 2 } }));
/// assert_eq!(changes[0].to_string(), "spec.replicas from 1 to 2");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// Where: `spec.containers[0].image`.
    pub path: String,
    /// The value before, as JSON; the beginning of a long one. `null` if it was not there.
    pub before: String,
    /// The value after.
    pub after: String,
}

impl FieldChange {
    /// The fields in which two forms of an object differ, but for those that every write changes: resourceVersion, generation and
    /// managedFields.
    pub fn between(before: &Value, after: &Value) -> Vec<FieldChange> {
        let mut changes = Vec::new();
        compare(before, after, "", &mut changes);
        changes
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of::<FieldChange>() + self.path.len() + self.before.len() + self.after.len()
    }
}

impl fmt::Display for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {} to {}", self.path, self.before, self.after)
    }
}

fn compare(before: &Value, after: &Value, path: &str, changes: &mut Vec<FieldChange>) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for name in names {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                if matches!(
                    path.as_str(),
                    "metadata.resourceVersion" | "metadata.managedFields" | "metadata.generation"
                ) {
                    continue;
                }
                let missing = Value::Null;
                let (old, new) = (old.get(name).unwrap_or(&missing), new.get(name).unwrap_or(&missing));
                compare(old, new, &path, changes);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (place, (old, new)) in old.iter().zip(new).enumerate() {
                compare(old, new, &format!("{path}[{place}]"), changes);
            }
        }
        (old, new) if old == new => {}
        (old, new) => changes.push(FieldChange {
            path: path.to_owned(),
            before: shortened(old),
            after: shortened(new),
        }),
    }
}

/// The beginning of a value as text.
fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
