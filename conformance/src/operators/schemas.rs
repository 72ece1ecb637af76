//! Schemas of built-in types in the form that definitions allow: without references, and without unions by `oneOf`.

use serde_json::{Map, Value, json};

/// The limit of depth, greater than that of any built-in type that does not contain itself.
const DEPTH: usize = 40;

/// The pattern that generators write for a resource quantity.
const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// The keywords that are kept because definitions have them, too.
const KEPT: [&str; 9] = [
    "type",
    "format",
    "description",
    "required",
    "default",
    "enum",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
];

/// The named schema with every reference replaced by the schema it refers to. `None` if there is no such schema.
pub(super) fn inlined(components: &Value, name: &str) -> Option<Value> {
    Some(inline(components.get(name)?, components, DEPTH))
}

fn inline(schema: &Value, components: &Value, depth: usize) -> Value {
    let Value::Object(fields) = schema else {
        return schema.clone();
    };
    if depth == 0 {
        return json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    }
    if let Some(target) = reference(fields) {
        let mut inner = special(target).unwrap_or_else(|| inline(&components[target], components, depth - 1));
        if let (Some(description), Some(inner)) = (fields.get("description"), inner.as_object_mut()) {
            inner.insert("description".to_owned(), description.clone());
        }
        return inner;
    }
    let mut kept = Map::new();
    for (key, value) in fields {
        let value = match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => properties
                .iter()
                .map(|(name, property)| (name.clone(), inline(property, components, depth - 1)))
                .collect(),
            ("items" | "additionalProperties", value) => inline(value, components, depth - 1),
            ("default", value) if is_zero(value) => continue,
            (key, value) if KEPT.contains(&key) => value.clone(),
            _ => continue,
        };
        kept.insert(key.clone(), value);
    }
    require_keys(&mut kept);
    Value::Object(kept)
}

/// Whether a default is only the zero value of a Go type.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Object(_) | Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(on) => !on,
        Value::Array(items) => items.is_empty(),
    }
}

/// The name in `{"$ref": …}`, or in `{"allOf": [{"$ref": …}]}`, which is written where the reference has a description.
fn reference(fields: &Map<String, Value>) -> Option<&str> {
    let direct = fields.get("$ref");
    let inside = fields
        .get("allOf")
        .and_then(|all| all.get(0))
        .and_then(|one| one.get("$ref"));
    direct.or(inside)?.as_str()?.strip_prefix("#/components/schemas/")
}

/// The schemas of types whose published schema does not describe their JSON.
fn special(name: &str) -> Option<Value> {
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    match name.rsplit('.').next()? {
        "IntOrString" => Some(json!({"x-kubernetes-int-or-string": true, "anyOf": either})),
        "Quantity" => Some(json!({"x-kubernetes-int-or-string": true, "anyOf": either, "pattern": QUANTITY})),
        "ObjectMeta" => Some(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
        _ => None,
    }
}

/// Makes the keys of a list required, since definitions want keys to be required or to have a default.
fn require_keys(list: &mut Map<String, Value>) {
    let keys = list
        .get("x-kubernetes-list-map-keys")
        .and_then(Value::as_array)
        .cloned();
    let Some(items) = list.get_mut("items").and_then(Value::as_object_mut) else {
        return;
    };
    for key in keys.into_iter().flatten() {
        let name = key.as_str().unwrap_or_default();
        let defaulted = items["properties"][name].get("default").is_some();
        let required = items.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(required) = required
            && !defaulted
            && !required.contains(&key)
        {
            required.push(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_become_what_they_lead_to() {
        let components = json!({
            "a.Outer": {"type": "object", "properties": {
                "inner": {"allOf": [{"$ref": "#/components/schemas/a.Inner"}], "default": {}, "description": "here"},
                "port": {"$ref": "#/components/schemas/util.IntOrString"},
            }},
            "a.Inner": {"type": "object", "x-kubernetes-unions": [], "properties": {"s": {"type": "string", "default": ""}, "t": {"type": "string", "default": "x"}}},
        });
        let outer = inlined(&components, "a.Outer").unwrap();
        assert_eq!(
            outer["properties"]["inner"],
            json!({"type": "object", "description": "here", "properties": {"s": {"type": "string"}, "t": {"type": "string", "default": "x"}}})
        );
        assert_eq!(outer["properties"]["port"]["x-kubernetes-int-or-string"], true);
    }

    #[test]
    fn keys_of_lists_are_required() {
        let components = json!({"a.List": {"type": "array", "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name", "kind"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "kind": {"type": "string", "default": "x"}}}}});
        assert_eq!(
            inlined(&components, "a.List").unwrap()["items"]["required"],
            json!(["name"])
        );
    }
}
