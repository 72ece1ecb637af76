//! The text of a selectable field (C14): what `fieldSelector=spec.color=blue` is compared with.

use kubewright_apimachinery::go::value::{Numbers, plain};
use serde_json::Value;

/// The text at a simple JSON path (`.spec.color`) of an object, as Go prints a string, boolean or number; empty when
/// nothing is there.
pub fn select(object: &Value, path: &str) -> String {
    let path = path.strip_prefix('.').unwrap_or(path);
    let mut value = object;
    for step in path.split('.') {
        match value.get(step) {
            Some(below) => value = below,
            None => return String::new(),
        }
    }
    match value {
        Value::Null => String::new(),
        other => plain(other, Numbers::Int64),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_selected_by_its_text() {
        let object =
            json!({"spec": {"color": "blue", "count": 3, "ratio": 2.0, "big": 1e21, "on": true, "none": null}});
        for (path, text) in [
            (".spec.color", "blue"),
            (".spec.count", "3"),
            (".spec.ratio", "2"),
            (".spec.big", "1e+21"),
            ("spec.on", "true"),
            (".spec.none", ""),
            (".spec.absent", ""),
            (".spec.color.below", ""),
        ] {
            assert_eq!(select(&object, path), text, "{path}");
        }
    }
}
