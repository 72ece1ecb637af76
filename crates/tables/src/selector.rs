//! Labels and label selectors as one line of text.

use std::fmt::Write as _;

use kubewright_apimachinery::names::{is_label_value, is_qualified_name};
use serde_json::Value;

use crate::read::{entries, list, strings, text};

/// Equality requirements of a set of labels, sorted; `<none>` when there are none.
pub(crate) fn format_labels(labels: &Value) -> String {
    let mut pairs: Vec<String> = entries(labels).map(|(key, value)| format!("{key}={value}")).collect();
    pairs.sort();
    or_none(pairs.join(","))
}

/// A selector's text; `<none>` when it selects everything or is not there, `<error>` when it is none.
pub(crate) fn format_selector(selector: &Value) -> String {
    requirements(selector).map_or_else(|| "<error>".into(), or_none)
}

/// A selector's text, or `None` when it is not a selector. Both everything and nothing have an empty text.
pub(crate) fn requirements(selector: &Value) -> Option<String> {
    let mut all: Vec<(&str, String)> = Vec::new();
    for (key, value) in entries(&selector["matchLabels"]) {
        if !is_qualified_name(key) || !is_label_value(value) {
            return None;
        }
        all.push((key, format!("{key}={value}")));
    }
    for expression in list(&selector["matchExpressions"]) {
        let key = text(&expression["key"]);
        let mut values: Vec<&str> = strings(&expression["values"]).collect();
        if !is_qualified_name(key) || !values.iter().all(|value| is_label_value(value)) {
            return None;
        }
        values.sort_unstable();
        let requirement = match (text(&expression["operator"]), values.is_empty()) {
            ("In", false) => format!("{key} in ({})", values.join(",")),
            ("NotIn", false) => format!("{key} notin ({})", values.join(",")),
            ("Exists", true) => key.to_owned(),
            ("DoesNotExist", true) => format!("!{key}"),
            _ => return None,
        };
        all.push((key, requirement));
    }
    all.sort_by_key(|(key, _)| *key);
    let texts: Vec<String> = all.into_iter().map(|(_, requirement)| requirement).collect();
    Some(texts.join(","))
}

/// A selector as Go's generated code prints the struct; some columns show that.
pub(crate) fn debug(selector: &Value) -> String {
    let mut out = String::from("&LabelSelector{MatchLabels:map[string]string{");
    for (key, value) in entries(&selector["matchLabels"]) {
        let _ = write!(out, "{key}: {value},");
    }
    out.push_str("},MatchExpressions:[]LabelSelectorRequirement{");
    for expression in list(&selector["matchExpressions"]) {
        let values: Vec<&str> = strings(&expression["values"]).collect();
        let _ = write!(
            out,
            "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
            text(&expression["key"]),
            text(&expression["operator"]),
            values.join(" ")
        );
    }
    out.push_str("},}");
    out
}

fn or_none(text: String) -> String {
    if text.is_empty() { "<none>".into() } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requirements_are_sorted_by_key_and_their_values_too() {
        let selector = json!({
            "matchLabels": {"b": "1", "z": ""},
            "matchExpressions": [
                {"key": "c", "operator": "NotIn", "values": ["y", "x"]},
                {"key": "a", "operator": "Exists"},
                {"key": "b", "operator": "DoesNotExist"},
            ],
        });
        assert_eq!(format_selector(&selector), "a,b=1,!b,c notin (x,y),z=");
    }

    #[test]
    fn what_selects_everything_or_nothing_is_none() {
        assert_eq!(format_selector(&json!({})), "<none>");
        assert_eq!(format_selector(&Value::Null), "<none>");
        assert_eq!(format_labels(&json!({})), "<none>");
    }

    #[test]
    fn what_is_no_selector_is_an_error() {
        for broken in [
            json!({"matchLabels": {"not a key": "v"}}),
            json!({"matchLabels": {"k": "-v"}}),
            json!({"matchExpressions": [{"key": "k", "operator": "In"}]}),
            json!({"matchExpressions": [{"key": "k", "operator": "Exists", "values": ["v"]}]}),
            json!({"matchExpressions": [{"key": "k", "operator": "Like", "values": ["v"]}]}),
        ] {
            assert_eq!(format_selector(&broken), "<error>", "{broken}");
        }
    }
}
