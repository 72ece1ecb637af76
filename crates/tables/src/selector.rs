//! Labels and label selectors as one line of text.

use std::fmt::Write as _;

use kubewright_apimachinery::labels::Selector;
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
    Some(Selector::from_label_selector(selector).ok()?.to_string())
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
    fn a_selector_of_everything_or_nothing_prints_none() {
        assert_eq!(format_selector(&json!({})), "<none>");
        assert_eq!(format_selector(&Value::Null), "<none>");
        assert_eq!(format_labels(&json!({})), "<none>");
    }

    #[test]
    fn what_is_no_selector_is_an_error() {
        assert_eq!(format_selector(&json!({"matchLabels": {"k": "v"}})), "k=v");
        assert_eq!(format_selector(&json!({"matchLabels": {"k": "-v"}})), "<error>");
    }
}
