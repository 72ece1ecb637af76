//! What an edit comes to: a merge patch of what was changed, and of nothing else.

use serde_json::{Map, Value};

/// The merge patch that makes `edited` of `base`; `None` if they are the same.
pub(super) fn difference(base: &Value, edited: &Value) -> Option<Value> {
    if base == edited {
        return None;
    }
    let (Value::Object(before), Value::Object(after)) = (base, edited) else {
        return Some(edited.clone());
    };
    let mut patch = Map::new();
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in after {
        let changed = match before.get(name) {
            Some(before) => difference(before, value),
            None => Some(value.clone()),
        };
        if let Some(changed) = changed {
            patch.insert(name.clone(), changed);
        }
    }
    Some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_was_changed_is_sent() {
        let base = json!({ "metadata": { "name": "a", "labels": { "x": "1", "y": "2" } }, "spec": { "replicas": 1, "list": [1, 2] } });
        let edited = json!({ "metadata": { "name": "a", "labels": { "y": "2", "z": "3" } }, "spec": { "replicas": 2, "list": [1] } });
        let patch = difference(&base, &edited).unwrap();
        assert_eq!(
            patch,
            json!({ "metadata": { "labels": { "x": null, "z": "3" } }, "spec": { "replicas": 2, "list": [1] } })
        );
        assert_eq!(difference(&base, &base), None);
        assert_eq!(
            difference(&json!({ "a": { "b": 1 } }), &json!({ "a": 1 })),
            Some(json!({ "a": 1 }))
        );
    }
}
