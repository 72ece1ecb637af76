//! What the rules for labels and selectors promise.

use serde_json::json;

use super::*;

#[test]
fn an_absent_selector_selects_nothing_and_an_empty_one_everything() {
    let labels = json!({"app": "web"});
    let labels = labels.as_object();
    assert!(selector_matches(Some(&json!({})), labels));
    assert!(selector_matches(Some(&json!({"matchLabels": {"app": "web"}})), labels));
    assert!(!selector_matches(Some(&json!({"matchLabels": {"app": "db"}})), labels));
    assert!(!selector_matches(Some(&Value::Null), labels));
    assert!(!selector_matches(None, labels));
}

#[test]
fn each_fault_of_a_requirement_is_reported_where_it_is() {
    let selector = json!({"matchExpressions": [
        {"key": "a b", "operator": "In"},
        {"key": "a", "operator": "Exists", "values": ["-"]},
        {"key": "a", "operator": "Odd"},
    ]});
    let mut errors = Errors::new();
    validate_selector(
        Some(&selector),
        SelectorOptions::default(),
        &PathRef::root("selector"),
        &mut errors,
    );
    let fields: Vec<&str> = errors.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "selector.matchExpressions[0].values",
            "selector.matchExpressions[0].key",
            "selector.matchExpressions[1].values",
            "selector.matchExpressions[1].values[0]",
            "selector.matchExpressions[2].operator",
        ]
    );
    assert_eq!(
        errors[0].to_string(),
        "selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
    );
    let last = "selector.matchExpressions[2].operator: Invalid value: \"Odd\": not a valid selector operator";
    assert_eq!(errors[4].to_string(), last);
    assert!(has_invalid_values(Some(&selector)));
}

#[test]
fn a_plain_map_selects_what_has_all_its_entries() {
    let (labels, selector, other) = (json!({"a": "1", "b": "2"}), json!({"a": "1"}), json!({"a": "2"}));
    assert!(map_matches(selector.as_object(), labels.as_object()));
    assert!(!map_matches(other.as_object(), labels.as_object()));
    assert!(map_matches(None, labels.as_object()));
}
