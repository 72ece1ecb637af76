//! What version 2 cannot say about a custom kind, or what its clients would misread, is left out.

use serde_json::{Map, Value};

/// Takes out of a published schema what version 2 does not have.
pub(super) fn to_v2(schema: &mut Map<String, Value>) {
    for keyword in ["allOf", "anyOf", "oneOf", "not", "default"] {
        schema.remove(keyword);
    }
    // A value that may be null has no type, and then neither items nor properties.
    let nullable = schema.remove("nullable").is_some();
    if nullable {
        schema.remove("type");
    }
    let open = is_true(schema, "x-kubernetes-preserve-unknown-fields");
    if nullable || open {
        schema.remove("items");
        schema.remove("properties");
    }
    let unreadable = match schema.get("type").and_then(Value::as_str) {
        Some("array") => !schema.contains_key("items"),
        Some("object") => open,
        _ => false,
    };
    if unreadable {
        schema.remove("type");
    }
    allow_null(schema);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().filter_map(Value::as_object_mut).for_each(to_v2);
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(Value::Object(below)) = schema.get_mut(keyword) {
            to_v2(below);
        }
    }
}

/// What may be null is not required.
fn allow_null(schema: &mut Map<String, Value>) {
    let is_nullable = |schema: &Value| schema["nullable"] == true;
    if schema.get("additionalProperties").is_some_and(is_nullable) {
        schema.remove("required");
    }
    let Some(Value::Array(mut required)) = schema.remove("required") else {
        return;
    };
    if let Some(properties) = schema.get("properties") {
        required.retain(|name| {
            let property = name.as_str().and_then(|name| properties.get(name));
            !property.is_some_and(is_nullable)
        });
    }
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::Array(required));
    }
}

fn is_true(schema: &Map<String, Value>, keyword: &str) -> bool {
    schema.get(keyword) == Some(&Value::Bool(true))
}
