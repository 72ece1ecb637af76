//! What decoding makes of an object (C6, C7, W2): metadata, unknown fields, nulls, and what storage may hold.

use kubewright_structural::{Schema, schema::Scale};
use serde_json::{Value, json};

fn schema() -> Schema {
    Schema::compile(
        &json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "string"},
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
            "default": {"type": "object", "default": {"known": 1, "unknown": 2}, "properties": {"known": {"type": "integer"}}},
        }}}}),
        false,
    )
}

fn object(metadata: &Value, spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata, "spec": spec})
}

#[test]
fn unknown_fields_are_named_metadata_first_then_fields_then_embedded_metadata() {
    let mut thing = object(
        &json!({"name": "x", "zzz": 1, "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u", "foo": 1}]}),
        &json!({"z": 1, "list": [{"b": 1}], "template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"bar": 1}}}),
    );
    thing["status"] = json!({});
    assert_eq!(
        schema().decode(&mut thing).unwrap(),
        [
            "metadata.ownerReferences[0].foo",
            "metadata.zzz",
            "spec.list[0].b",
            "spec.z",
            "status",
            "spec.template.metadata.bar",
        ]
    );
    assert_eq!(
        thing["spec"],
        json!({"list": [{}], "template": {"apiVersion": "v1", "kind": "Pod", "metadata": {}}})
    );
}

#[test]
fn metadata_of_the_wrong_type_is_refused_from_clients_and_dropped_from_storage() {
    let metadata = json!({"name": "x", "labels": {"a": 1}});
    let refused = schema().decode(&mut object(&metadata, &json!({}))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
    );
    let mut stored = object(&metadata, &json!({}));
    schema().read(&mut stored);
    assert_eq!(stored["metadata"], json!({"name": "x", "generation": 1}));
}

#[test]
fn embedded_metadata_of_the_wrong_type_is_refused_with_its_place() {
    let template = json!({"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 1}}});
    let refused = schema()
        .decode(&mut object(&json!({"name": "x"}), &template))
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "spec.template.metadata: Invalid value: {\"name\":1}: json: cannot unmarshal number into Go struct field \
         ObjectMeta.name of type string"
    );
}

#[test]
fn a_default_holds_nothing_that_the_schema_does_not_know() {
    let mut thing = object(&json!({"name": "x"}), &json!({}));
    schema().default(&mut thing);
    assert_eq!(thing["spec"], json!({"default": {"known": 1}}));
}

#[test]
fn with_preserve_unknown_fields_nothing_is_pruned() {
    let schema = Schema::compile(
        &json!({"type": "object", "properties": {"spec": {"type": "object"}}}),
        true,
    );
    let mut thing = object(&json!({"name": "x"}), &json!({"a": {"b": null}}));
    assert_eq!(schema.decode(&mut thing).unwrap(), Vec::<String>::new());
    assert_eq!(thing["spec"], json!({"a": {"b": null}}));
}

#[test]
fn the_fields_of_scale_are_counts_whatever_the_schema_says() {
    let schema = Schema::compile(
        &json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        false,
    );
    let scale = Scale::from_json(&json!({
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector",
    }));
    let complaints = |spec: &Value, status: Value| {
        let mut thing = object(&json!({"name": "x"}), spec);
        thing["status"] = status;
        let mut errors = Vec::new();
        schema.validate(&thing, Some(&scale), &mut errors);
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        complaints(&json!({"replicas": 3}), json!({"replicas": 3, "selector": "a=b"})),
        Vec::<String>::new()
    );
    assert_eq!(
        complaints(
            &json!({"replicas": -1}),
            json!({"replicas": 3_000_000_000u64, "selector": 1})
        ),
        [
            ".spec.replicas: Invalid value: -1: should be a non-negative integer",
            ".status.replicas: Invalid value: 3000000000: should be less than or equal to 2147483647",
            ".status.selector: Invalid value: \"\": .status.selector accessor error: 1 is of the type int64, expected string",
        ]
    );
    assert_eq!(
        complaints(&json!({"replicas": "x"}), json!(7)),
        [
            ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64",
            ".status.replicas: Invalid value: 0: .status.replicas accessor error: 7 is of the type int64, expected map[string]interface{}",
            ".status.selector: Invalid value: \"\": .status.selector accessor error: 7 is of the type int64, expected map[string]interface{}",
        ]
    );
}

#[test]
fn a_pattern_that_cannot_run_is_known_before_a_value_meets_it() {
    let schema = Schema::compile(
        &json!({"type": "object", "properties": {"spec": {"type": "string", "pattern": "(?=a)"}}}),
        false,
    );
    let defect = &schema.defects()[0];
    assert_eq!(defect.path, "properties[spec].pattern");
    let mut errors = Vec::new();
    schema.validate(&json!({"spec": "a"}), None, &mut errors);
    assert!(
        errors[0]
            .detail
            .starts_with("spec in body should match '(?=a), but pattern is invalid: ")
    );
}
