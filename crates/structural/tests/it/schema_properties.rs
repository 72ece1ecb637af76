//! What holds for every value, whatever the schema says of it.

use std::sync::LazyLock;

use kubewright_structural::Schema;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(compiled);
    &SCHEMA
}

fn compiled() -> Schema {
    Schema::compile(
        &json!({"type": "object", "properties": {
            "spec": {"type": "object", "required": ["a"], "properties": {
                "a": {"type": "string", "default": "x", "pattern": "^[a-z]+$", "maxLength": 3},
                "b": {"type": "object", "default": {"a": {"b": "deep"}, "unknown": 1}, "properties": {
                    "a": {"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "integer", "default": 1}}},
                    "b": {"type": "integer", "nullable": true, "default": 7},
                }},
                "c": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"], "items":
                    {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "number", "default": 1.5}}}},
                "d": {"type": "object", "additionalProperties": {"type": "object", "x-kubernetes-embedded-resource": true,
                    "x-kubernetes-preserve-unknown-fields": true}},
                "e": {"x-kubernetes-int-or-string": true},
                "f": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}},
                "g": {"type": "object", "additionalProperties": true},
                "h": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "number"}},
            }, "oneOf": [{"required": ["b"]}, {"required": ["c"], "properties": {"a": {"enum": ["x"]}}}], "not": {"minProperties": 8}},
        }, "x-kubernetes-validations": [{"rule": "!has(self.spec) || self.spec.a != 'b'"}]}),
        false,
    )
}

/// Values whose fields meet the schema's often.
fn value() -> impl Strategy<Value = Value> {
    let name = || {
        prop_oneof![
            Just("a"),
            Just("b"),
            Just("c"),
            Just("apiVersion"),
            Just("kind"),
            Just("metadata"),
            Just("name")
        ]
    };
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z]{0,4}".prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(name().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|fields| Value::Object(Map::from_iter(fields))),
        ]
    });
    let field = "[a-i]";
    let spec =
        prop::collection::btree_map(field, tree.clone(), 0..8).prop_map(|fields| Value::Object(Map::from_iter(fields)));
    let spec = prop_oneof![4 => spec, 1 => tree.clone()];
    (spec, tree).prop_map(
        |(spec, metadata)| json!({"apiVersion": "v1", "kind": "A", "metadata": metadata, "spec": spec, "other": 1}),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn pruning_twice_is_pruning_once(object in value()) {
        let schema = schema();
        let mut once = object;
        schema.prune(&mut once);
        let mut twice = once.clone();
        prop_assert_eq!(schema.prune(&mut twice), Vec::<String>::new());
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn pruning_quietly_removes_the_same(object in value()) {
        let schema = schema();
        let (mut loud, mut quiet) = (object.clone(), object);
        schema.prune(&mut loud);
        schema.prune_quietly(&mut quiet);
        prop_assert_eq!(loud, quiet);
    }

    #[test]
    fn defaulting_twice_is_defaulting_once(object in value()) {
        let schema = schema();
        let mut once = object;
        schema.default(&mut once);
        let mut twice = once.clone();
        schema.default(&mut twice);
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn the_order_of_defaulting_and_pruning_does_not_matter(object in value()) {
        let schema = schema();
        let (mut first, mut second) = (object.clone(), object);
        schema.default(&mut first);
        schema.prune_quietly(&mut first);
        schema.prune_quietly(&mut second);
        schema.default(&mut second);
        prop_assert_eq!(first, second);
    }

    #[test]
    fn decoding_twice_is_decoding_once(object in value()) {
        let schema = schema();
        let mut once = object;
        if schema.decode(&mut once).is_ok() {
            let mut twice = once.clone();
            prop_assert_eq!(schema.decode(&mut twice), Ok(Vec::new()));
            prop_assert_eq!(twice, once);
        }
    }

    #[test]
    fn what_was_read_from_storage_can_be_decoded(object in value()) {
        let schema = schema();
        let mut read = object;
        schema.read(&mut read);
        let mut again = read.clone();
        // Metadata that is no object at all cannot be repaired.
        if read["metadata"].is_object() {
            let before = again.clone();
            if schema.decode(&mut again).is_ok() {
                prop_assert_eq!(again, before);
            }
        }
    }

    #[test]
    fn validation_has_an_answer_for_every_value(new in value(), old in value()) {
        let schema = schema();
        for object in [&new, &old] {
            let mut errors = Vec::new();
            schema.validate(object, None, &mut errors);
        }
        let mut errors = Vec::new();
        schema.validate_update(&new, &old, None, &mut errors);
        schema.validate_status(&new, &old, None, &mut errors);
    }

    #[test]
    fn an_update_is_never_refused_for_more_than_a_create_would_be(new in value(), old in value()) {
        let schema = schema();
        let (mut created, mut updated) = (Vec::new(), Vec::new());
        schema.validate(&new, None, &mut created);
        schema.validate_update(&new, &old, None, &mut updated);
        // An error that is tolerated may be the one that kept rules from running.
        updated.retain(|error| !error.detail.contains("rule"));
        prop_assert!(updated.iter().all(|error| created.contains(error)), "{:?} beyond {:?}", updated, created);
    }
}

#[test]
fn a_schema_is_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(schema());
}

#[test]
fn a_schema_that_nests_beyond_reason_compiles() {
    let mut nested = json!({"type": "string"});
    let mut object = json!(1);
    for _ in 0..120 {
        nested = json!({"type": "object", "properties": {"a": nested}});
        object = json!({"a": object, "b": 1});
    }
    let schema = Schema::compile(&nested, false);
    assert_eq!(schema.prune(&mut object).len(), 120);
}
