//! What the readers of an object promise.

use serde_json::json;

use super::*;

#[test]
fn missing_null_and_mistyped_fields_read_as_zero() {
    let object = json!({"spec": {"a": null, "n": 3, "s": "x", "l": ["y"], "b": true}});
    assert_eq!(str_at(&object, &["spec", "a"]), "");
    assert_eq!(str_at(&object, &["spec", "n"]), "");
    assert_eq!(int_at(&object, &["spec", "n"]), 3);
    assert_eq!(opt_int_at(&object, &["spec", "x"]), None);
    assert_eq!(strings_at(&object, &["spec", "l"]), ["y"]);
    assert!(bool_at(&object, &["spec", "b"]) && is_unset(&object, &["spec", "a"]) && is_unset(&object, &["x", "y"]));
}

#[test]
fn unset_and_empty_mean_the_same_and_zero_does_not() {
    assert!(same(None, Some(&json!({}))));
    assert!(same(Some(&json!({"a": {}, "c": 1})), Some(&json!({"c": 1}))));
    assert!(!same(Some(&json!(0)), None));
    assert!(!same(Some(&json!([1])), Some(&json!([1, 2]))));
}

#[test]
fn an_immutable_field_shows_its_new_value() {
    let mut errors = Errors::new();
    require_immutable(
        &json!({"spec": {"a": "new"}}),
        &json!({"spec": {"a": "old"}}),
        &["spec", "a"],
        &mut errors,
    );
    require_immutable(&json!({}), &json!({"spec": {"a": "old"}}), &["spec", "a"], &mut errors);
    require_immutable(&json!({"spec": {"a": {}}}), &json!({}), &["spec", "a"], &mut errors);
    let sentences: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        sentences,
        [
            "spec.a: Invalid value: \"new\": field is immutable",
            "spec.a: Invalid value: null: field is immutable"
        ]
    );
}

#[test]
fn keeping_a_field_restores_or_removes_it() {
    let mut object = json!({"spec": {"a": 1, "b": 2}});
    keep(&mut object, &json!({"spec": {"a": 7}}), &["spec", "a"]);
    keep(&mut object, &json!({"spec": {"a": 7}}), &["spec", "b"]);
    keep(&mut object, &json!({"status": {"x": 1}}), &["status", "x"]);
    assert_eq!(object, json!({"spec": {"a": 7}, "status": {"x": 1}}));
}

#[test]
fn defaults_fill_only_what_is_missing() {
    let mut object = json!({"spec": {"a": "", "b": null}});
    set_default(&mut object, &["spec"], "a", "x");
    set_default(&mut object, &["spec"], "b", 5);
    set_default_str(&mut object, &["spec"], "a", "y");
    set_default(&mut object, &["spec", "c"], "d", true);
    assert_eq!(object, json!({"spec": {"a": "y", "b": 5, "c": {"d": true}}}));
}
