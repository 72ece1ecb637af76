//! What holds for all patches.

use crate::workload::{DEPLOYMENT, TestTopology};
use kubewright_merge::{JsonPatch, merge_patch, strategic};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "metadata",
        "spec",
        "labels",
        "finalizers",
        "template",
        "containers",
        "name",
        "image",
        "env",
        "ports",
        "value",
        "containerPort",
        "volumes",
        "strategy",
        "type",
        "a",
        "b",
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$setElementOrder/finalizers",
        "$deleteFromPrimitiveList/finalizers",
        "0",
        "-1",
    ])
    .prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..4i64).prop_map(Value::from),
        prop::sample::select(vec!["a", "b", "c", "delete", "replace", "name", "type"]).prop_map(Value::from),
    ];
    scalar.prop_recursive(7, 48, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::btree_map(name(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    prop::collection::btree_map(name(), value(), 0..5)
        .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>()))
}

fn pointer() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 0..5).prop_map(|steps| steps.iter().flat_map(|step| ["/", step]).collect())
}

fn operation() -> impl Strategy<Value = Value> {
    let op = prop::sample::select(vec!["add", "remove", "replace", "move", "copy", "test"]);
    (op, pointer(), pointer(), value())
        .prop_map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}))
}

/// Whether a null stands in an object somewhere: to a merge patch that is a deletion.
fn has_null_field(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().any(|value| value.is_null() || has_null_field(value)),
        Value::Array(items) => items.iter().any(has_null_field),
        _ => false,
    }
}

fn has_null_in_list(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().any(has_null_in_list),
        Value::Array(items) => items.iter().any(|item| has_null_field(item) || has_null_in_list(item)),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn an_empty_patch_changes_nothing(object in object()) {
        prop_assert_eq!(merge_patch::apply(object.clone(), json!({}), true), Ok(object.clone()));
        prop_assert_eq!(strategic::apply(object.clone(), json!({}), TestTopology::of(&DEPLOYMENT)), Ok(object.clone()));
        let patch = JsonPatch::decode(json!([]), true);
        prop_assert_eq!(patch.and_then(|patch| patch.apply(object.clone())), Ok(object));
    }

    /// Upstream leaves nulls alone in a list that replaces an object, and prunes them in one that replaces a list.
    #[test]
    fn a_merge_patch_applied_twice_is_applied_once(object in object(), patch in object()) {
        prop_assume!(!has_null_in_list(&patch));
        let once = merge_patch::apply(object, patch.clone(), true);
        let twice = once.clone().and_then(|once| merge_patch::apply(once, patch, true));
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn an_object_without_nulls_merged_into_nothing_is_itself(object in object()) {
        prop_assume!(!has_null_field(&object));
        prop_assert_eq!(merge_patch::apply(json!({}), object.clone(), true), Ok(object));
    }

    #[test]
    fn what_was_added_is_there_and_gone_once_removed(object in object(), key in "[a-z]{30}", value in value()) {
        let path = format!("/{key}");
        let patch = JsonPatch::decode(json!([
            {"op": "add", "path": path, "value": value},
            {"op": "test", "path": path, "value": value},
            {"op": "remove", "path": path},
        ]), true);
        prop_assert_eq!(patch.and_then(|patch| patch.apply(object.clone())), Ok(object));
    }

    #[test]
    fn a_failed_patch_is_an_error_and_no_panic(object in object(), patch in prop::collection::vec(operation(), 0..6)) {
        if let Ok(patch) = JsonPatch::decode(Value::Array(patch), true) {
            // Both outcomes are fine.
            let _ = patch.apply(object);
        }
    }

    #[test]
    fn no_strategic_patch_panics(object in object(), patch in object()) {
        let _ = strategic::apply(object, patch, TestTopology::of(&DEPLOYMENT));
    }

    #[test]
    fn merging_containers_keeps_each_name_once(
        live in prop::collection::btree_set("[a-e]", 0..5),
        patch in prop::collection::btree_set("[a-h]", 0..5),
    ) {
        let named = |names: &std::collections::BTreeSet<String>| -> Vec<Value> {
            names.iter().map(|name| json!({"name": name})).collect()
        };
        let object = json!({"spec": {"template": {"spec": {"containers": named(&live)}}}});
        let change = json!({"spec": {"template": {"spec": {"containers": named(&patch)}}}});
        let merged = strategic::apply(object, change, TestTopology::of(&DEPLOYMENT)).map_err(|error| error.to_string());
        let mut names: Vec<String> = merged
            .iter()
            .filter_map(|merged| merged.pointer("/spec/template/spec/containers")?.as_array())
            .flatten()
            .filter_map(|container| Some(container["name"].as_str()?.to_owned()))
            .collect();
        names.sort();
        prop_assert_eq!(names, live.union(&patch).cloned().collect::<Vec<_>>());
    }
}
