//! What checking a definition does to it: defaults of embedded resources lose the metadata that does not exist (C7).

use serde_json::Value;

use crate::schema::object_meta;

/// Takes unknown fields out of the metadata of embedded resources in every default.
pub(super) fn tidy(object: &mut Value) {
    let versions = object.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
            schemas(schema);
        }
    }
}

/// Visits a schema and those below it.
fn schemas(schema: &mut Value) {
    if let Some(mut default) = schema.get_mut("default").map(Value::take) {
        value(schema, &mut default);
        schema["default"] = default;
    }
    for field in ["items", "additionalProperties"] {
        if let Some(below) = schema.get_mut(field).filter(|below| below.is_object()) {
            schemas(below);
        }
    }
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (_, property) in properties.into_iter().flatten() {
        schemas(property);
    }
}

/// Visits a default along its schema.
fn value(schema: &Value, default: &mut Value) {
    match default {
        Value::Array(items) => {
            if let Some(of) = schema.get("items") {
                for item in items {
                    value(of, item);
                }
            }
        }
        Value::Object(fields) => {
            if schema.get("x-kubernetes-embedded-resource").and_then(Value::as_bool) == Some(true)
                && let Some(Value::Object(metadata)) = fields.get_mut("metadata")
            {
                metadata.retain(|name, _| object_meta().field_named(name).is_some());
            }
            for (name, field) in fields {
                let declared = schema.get("properties").and_then(|properties| properties.get(name));
                if let Some(of) = declared.or_else(|| schema.get("additionalProperties").filter(|of| of.is_object())) {
                    value(of, field);
                }
            }
        }
        _ => {}
    }
}
