//! Collections without content in the schemas of a definition. Go tells them from none until the definition is stored, and
//! some of upstream's rules do too, while a decoded object leaves them out.

use serde_json::Value;

/// The fields of a schema that are lists or maps.
const COLLECTIONS: [&str; 11] = [
    "allOf",
    "anyOf",
    "definitions",
    "dependencies",
    "enum",
    "oneOf",
    "patternProperties",
    "properties",
    "required",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-validations",
];

/// Gives the schemas of a decoded definition the empty collections back that it was sent with.
pub(crate) fn restore(given: &Value, definition: &mut Value) {
    let versions = |pointer: &Value| {
        pointer
            .pointer("/spec/versions")
            .and_then(Value::as_array)
            .map_or(0, Vec::len)
    };
    for at in 0..versions(given).min(versions(definition)) {
        let schema = format!("/spec/versions/{at}/schema/openAPIV3Schema");
        if let (Some(given), Some(schema)) = (given.pointer(&schema), definition.pointer_mut(&schema)) {
            restore_in(given, schema);
        }
    }
}

fn restore_in(given: &Value, schema: &mut Value) {
    let (Value::Object(given), Value::Object(fields)) = (given, &mut *schema) else {
        return;
    };
    for name in COLLECTIONS {
        if let Some(empty) = given.get(name).filter(|value| is_empty(value)) {
            fields.entry(name).or_insert_with(|| empty.clone());
        }
    }
    for name in ["items", "additionalItems", "additionalProperties", "not"] {
        if let (Some(given), Some(schema)) = (given.get(name), fields.get_mut(name)) {
            restore_in(given, schema);
            if given.is_array() {
                restore_each(given, schema);
            }
        }
    }
    for name in [
        "allOf",
        "anyOf",
        "oneOf",
        "definitions",
        "dependencies",
        "patternProperties",
        "properties",
    ] {
        if let (Some(given), Some(schemas)) = (given.get(name), fields.get_mut(name)) {
            restore_each(given, schemas);
        }
    }
}

/// The schemas of a list or of a map.
fn restore_each(given: &Value, schemas: &mut Value) {
    match (given, schemas) {
        (Value::Array(given), Value::Array(schemas)) => {
            given
                .iter()
                .zip(schemas)
                .for_each(|(given, schema)| restore_in(given, schema));
        }
        (Value::Object(given), Value::Object(schemas)) => {
            for (name, schema) in schemas {
                if let Some(given) = given.get(name) {
                    restore_in(given, schema);
                }
            }
        }
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn empty_collections_come_back_where_a_schema_has_them() {
        let definition = |schema: Value| json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}});
        let given = definition(json!({
            "type": "object", "enum": [], "unknown": {},
            "properties": {"a": {"dependencies": {}, "anyOf": [{"required": []}], "items": {"properties": {}}}},
        }));
        let mut decoded = definition(json!({
            "type": "object", "properties": {"a": {"anyOf": [{}], "items": {}}},
        }));
        restore(&given, &mut decoded);
        assert_eq!(
            decoded,
            definition(json!({
                "type": "object", "enum": [],
                "properties": {"a": {"dependencies": {}, "anyOf": [{"required": []}], "items": {"properties": {}}}},
            }))
        );
    }
}
