//! Patches and what upstream's libraries make of them, recorded from these.

use crate::workload::{DEPLOYMENT, TestTopology};
use kubewright_merge::{JsonPatch, MAX_OPERATIONS, PatchError, merge_patch, strategic};
use serde_json::{Value, json};

struct Case {
    object: Value,
    patch: Value,
    expected: Value,
}

fn cases(golden: &str) -> Vec<Case> {
    let golden: Value = serde_json::from_str(golden).expect("the golden file is JSON");
    let cases = golden["cases"].as_array().expect("the golden file has cases");
    let case = |case: &Value| Case {
        object: golden["object"].clone(),
        patch: case["patch"].clone(),
        expected: case.clone(),
    };
    cases.iter().map(case).collect()
}

#[test]
fn json_patches_apply_as_upstream_applies_them() {
    for Case {
        object,
        patch,
        expected,
    } in cases(include_str!("../golden/json_patch.json"))
    {
        let result = JsonPatch::decode(patch.clone(), true).and_then(|patch| patch.apply(object));
        match result {
            Ok(result) => assert_eq!(Some(&result), expected.get("result"), "{patch}"),
            Err(error) => assert_eq!(expected.get("code"), Some(&json!(error.code())), "{patch}: {error:?}"),
        }
    }
}

#[test]
fn merge_patches_apply_as_upstream_applies_them() {
    for Case {
        object,
        patch,
        expected,
    } in cases(include_str!("../golden/merge_patch.json"))
    {
        let result = merge_patch::apply(object, patch.clone(), true);
        assert_eq!(result.as_ref().ok(), expected.get("result"), "{patch}");
    }
}

#[test]
fn strategic_patches_apply_as_upstream_applies_them() {
    for Case {
        object,
        patch,
        expected,
    } in cases(include_str!("../golden/strategic.json"))
    {
        let result = strategic::apply(object, patch.clone(), TestTopology::of(&DEPLOYMENT));
        match result {
            Ok(result) => assert_eq!(Some(&result), expected.get("result"), "{patch}"),
            Err(PatchError::DoesNotApply { reason }) => assert_eq!(expected["error"], reason, "{patch}"),
            Err(error) => assert_eq!(expected["error"], error.to_string(), "{patch}"),
        }
    }
}

/// Recorded from the real server.
#[test]
fn patches_that_are_not_patches_are_refused_in_the_servers_words() {
    let json_patch = |patch: Value, checked| JsonPatch::decode(patch, checked).err();
    let merge_patch = |patch: Value, checked| merge_patch::apply(json!({}), patch, checked).err();
    let strategic = |patch: Value| strategic::apply(json!({}), patch, TestTopology::of(&DEPLOYMENT)).err();
    for (error, message) in [
        (
            json_patch(json!({}), true),
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            json_patch(json!({}), false),
            "json: cannot unmarshal object into Go value of type jsonpatch.Patch",
        ),
        (
            json_patch(json!([1]), true),
            "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
        ),
        (
            json_patch(json!([1]), false),
            "json: cannot unmarshal number into Go value of type jsonpatch.Operation",
        ),
        (
            json_patch(json!([{"op": 1}]), true),
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
        ),
        (
            merge_patch(json!([]), true),
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (merge_patch(json!("a"), false), "Invalid JSON Patch"),
        (merge_patch(json!(null), true), "Invalid JSON Patch"),
        (merge_patch(json!(null), false), "Invalid JSON Patch"),
        (
            strategic(json!([])),
            "json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
    ] {
        assert_eq!(error, Some(PatchError::Malformed(message.to_owned())));
    }
    assert_eq!(json_patch(json!(null), true), None);
    assert_eq!(strategic(json!(null)), None);
}

#[test]
fn operations_are_counted() {
    let test = json!({"op": "test", "path": "/kind", "value": null});
    let patch = |count| JsonPatch::decode(Value::Array(vec![test.clone(); count]), true);
    assert!(patch(MAX_OPERATIONS).is_ok());
    let error = patch(MAX_OPERATIONS + 1).map_err(|error| (error.code(), error.to_string()));
    let message = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001";
    assert_eq!(error, Err((413, message.to_owned())));
    let of_webhook = JsonPatch::decode_of_webhook(Value::Array(vec![test; MAX_OPERATIONS + 1]));
    assert!(of_webhook.is_ok(), "upstream counts the operations of clients only");
}

#[test]
fn unknown_fields_of_operations_are_named() {
    let patch = json!([{"op": "add", "path": "/a", "value": 1, "foo": 1}]);
    let patch = JsonPatch::decode(patch, true).expect("unknown fields are no error");
    assert_eq!(patch.unknown_fields(), ["[0].foo"]);
}

#[test]
fn copies_cannot_grow_without_bound() {
    let doubling = json!({"op": "copy", "from": "/a", "path": "/a/-"});
    let patch = JsonPatch::decode(Value::Array(vec![doubling; 64]), true).expect("a well-formed patch");
    let error = patch.apply(json!({"a": ["0123456789"]})).map_err(|error| error.code());
    assert_eq!(error, Err(422));
}

#[test]
fn nesting_cannot_grow_without_bound() {
    let deeper: Vec<Value> = (0..400)
        .map(|depth| json!({"op": "add", "path": "/a".repeat(depth + 1), "value": {}}))
        .collect();
    let patch = JsonPatch::decode(Value::Array(deeper), true).expect("a well-formed patch");
    assert_eq!(patch.apply(json!({})).map_err(|error| error.code()), Err(422));
}

#[test]
fn messages_print_values_as_go_does() {
    let value = json!({"b": [1, 1.5, true, null, "x y"], "a": {"c": {}}, "f": 1_000_000.5});
    assert_eq!(
        strategic::printed(&value),
        "map[a:map[c:map[]] b:[1 1.5 true <nil> x y] f:1.0000005e+06]"
    );
}
