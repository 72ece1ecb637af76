//! What becomes of each keyword of JSON Schema: kept, said otherwise, or dropped because a definition may not hold it.

use serde_json::{Map, Value};

/// Keywords that mean the same in a structural schema.
const KEPT: [&str; 20] = [
    "description",
    "type",
    "format",
    "default",
    "enum",
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
    "nullable",
    "externalDocs",
];

/// Keywords that say nothing an API server could use.
const DROPPED: [&str; 10] = [
    "$schema",
    "$id",
    "$defs",
    "definitions",
    "$comment",
    "title",
    "examples",
    "readOnly",
    "writeOnly",
    "deprecated",
];

/// Keywords that `rewrite` turns into others, or looks at itself.
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
    "example",
];

/// The keyword that an API server would not understand and that carries meaning, if the schema has one.
pub(super) fn foreign(schema: &Map<String, Value>) -> Option<&str> {
    schema.keys().map(String::as_str).find(|key| {
        let known = KEPT.contains(key) || DROPPED.contains(key) || HANDLED.contains(key);
        !known && !key.starts_with("x-kubernetes-")
    })
}

/// What a schema says that needs no rewriting.
pub(super) fn kept(schema: &Map<String, Value>) -> Map<String, Value> {
    let stays = |key: &str| KEPT.contains(&key) || key.starts_with("x-kubernetes-");
    let kept = schema.iter().filter(|(key, _)| stays(key));
    kept.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Exclusive bounds are numbers in JSON Schema and switches beside the bound in a definition.
pub(super) fn settle_bounds(schema: &mut Map<String, Value>) {
    for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        if let Some(Value::Number(number)) = schema.get(exclusive).cloned() {
            schema.insert(bound.into(), Value::Number(number));
            schema.insert(exclusive.into(), true.into());
        }
    }
}
