//! The formats of strings (C8), as upstream's own checks judged them.

use std::collections::BTreeMap;

use kubewright_structural::Schema;
use serde_json::{Value, json};

#[test]
fn every_format_is_checked_as_upstream_checks_it() {
    let recorded: BTreeMap<String, BTreeMap<String, Vec<String>>> =
        serde_json::from_str(include_str!("../schema_formats.json")).unwrap();
    assert_eq!(recorded.len(), 25);
    for (format, texts) in recorded {
        let schema = Schema::compile(
            &json!({"type": "object", "properties": {"spec": {"type": "string", "format": format}}}),
            false,
        );
        for (verdict, texts) in texts {
            for text in texts {
                let mut errors = Vec::new();
                schema.validate(&json!({"spec": text}), None, &mut errors);
                assert_eq!(
                    errors.is_empty(),
                    verdict == "valid",
                    "{text:?} as {format}: {errors:?}"
                );
            }
        }
    }
}

#[test]
fn a_format_that_the_server_does_not_know_is_ignored() {
    for (ty, format, value) in [
        ("string", "int32", json!("x")),
        ("string", "colour", json!("x")),
        ("integer", "date", json!(1)),
        ("number", "int32", json!(1e12)),
        ("object", "date", json!({})),
    ] {
        let schema = Schema::compile(
            &json!({"type": "object", "properties": {"spec": {"type": ty, "format": format}}}),
            false,
        );
        let mut errors = Vec::new();
        schema.validate(&json!({"spec": value}), None, &mut errors);
        assert_eq!(errors, [], "{ty} {format}");
    }
}

#[test]
fn dashes_in_the_name_of_a_format_do_not_count() {
    let complaints = |format: &str| {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "string", "format": format}}});
        let mut errors = Vec::new();
        Schema::compile(&schema, false).validate(&json!({"spec": "x"}), None, &mut errors);
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        complaints("date-time"),
        ["spec: Invalid value: \"x\": spec in body must be of type date-time: \"x\""]
    );
    assert_eq!(
        complaints("datetime"),
        ["spec: Invalid value: \"x\": spec in body must be of type datetime: \"x\""]
    );
    assert_eq!(Value::from(complaints("password").len()), 0);
}
