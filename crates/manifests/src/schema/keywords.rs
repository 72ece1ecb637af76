//! Which keywords of JSON Schema are kept, rewritten, or dropped because a definition may not have them.

use serde_json::{Map, Value};

/// Keywords that restrict a value. They mean the same in a structural schema, and may stand in a condition.
pub(super) const RESTRICTING: [&str; 15] = [
    "enum",
    "format",
    "maximum",
    "minimum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "multipleOf",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "maxProperties",
    "minProperties",
    "required",
];

/// Further keywords that mean the same in a structural schema.
const DESCRIBING: [&str; 7] = [
    "title",
    "description",
    "type",
    "default",
    "example",
    "nullable",
    "externalDocs",
];

/// Keywords that an API server does not use. It prunes unknown fields, so nothing needs to forbid them.
const DROPPED: [&str; 12] = [
    "$schema",
    "$id",
    "$defs",
    "definitions",
    "$comment",
    "readOnly",
    "writeOnly",
    "deprecated",
    "unevaluatedProperties",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
];

/// Keywords that `rewrite` handles.
const HANDLED: [&str; 13] = [
    "$ref",
    "properties",
    "items",
    "additionalProperties",
    "patternProperties",
    "oneOf",
    "anyOf",
    "allOf",
    "not",
    "const",
    "prefixItems",
    "uniqueItems",
    "examples",
];

/// Keywords that the derives of Kubewright write, and that are left out of definitions.
const NOTES: &str = "x-kubewright-";

/// The extensions of Kubernetes.
const EXTENSIONS: &str = "x-kubernetes-";

/// The first keyword that restricts values and that a definition cannot have.
pub(super) fn unsupported(schema: &Map<String, Value>) -> Option<&str> {
    schema.keys().map(String::as_str).find(|key| {
        let known = is_kept(key) || DROPPED.contains(key) || HANDLED.contains(key);
        !known && !key.starts_with(NOTES)
    })
}

/// Whether a keyword is only for readers and restricts nothing.
pub(super) fn is_note(key: &str) -> bool {
    matches!(key, "title" | "description" | "example" | "examples" | "externalDocs")
        || DROPPED.contains(&key)
        || key.starts_with(NOTES)
}

fn is_kept(key: &str) -> bool {
    RESTRICTING.contains(&key) || DESCRIBING.contains(&key) || key.starts_with(EXTENSIONS)
}

/// The keywords of a schema that are kept as they are.
pub(super) fn kept(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut kept: Map<String, Value> = schema
        .iter()
        .filter(|(key, _)| is_kept(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    // Go's markers have a keyword for structs; a definition has one for maps and structs alike.
    if let Some(kind) = kept.remove("x-kubernetes-struct-type") {
        kept.insert("x-kubernetes-map-type".into(), kind);
    }
    if let Some(first) = schema.get("examples").and_then(|examples| examples.get(0)) {
        kept.entry("example").or_insert_with(|| first.clone());
    }
    kept
}

/// Exclusive bounds are numbers in JSON Schema; in a definition they are booleans beside the bound.
pub(super) fn rewrite_exclusive_bounds(schema: &mut Map<String, Value>) {
    for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        if let Some(Value::Number(number)) = schema.get(exclusive).cloned() {
            schema.insert(bound.into(), Value::Number(number));
            schema.insert(exclusive.into(), true.into());
        }
    }
}

/// A list of unique scalars becomes a list of type `set`; a definition cannot have `uniqueItems`.
pub(super) fn mark_set(schema: &Map<String, Value>, rewritten: &mut Map<String, Value>) {
    let is_unique = schema.get("uniqueItems") == Some(&Value::Bool(true));
    let item = |key: &str| rewritten.get("items").and_then(|items| items.get(key));
    let ty = item("type").and_then(Value::as_str);
    let is_plain = matches!(ty, Some("string" | "integer" | "number" | "boolean")) && item("nullable").is_none();
    if is_unique && is_plain {
        rewritten
            .entry("x-kubernetes-list-type")
            .or_insert_with(|| "set".into());
    }
}
