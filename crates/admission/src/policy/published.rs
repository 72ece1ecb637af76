//! The types of kinds by the `OpenAPI` v3 documents that a server publishes.

use kubewright_cel::{Decl, Type};
use serde_json::{Map, Value, json};

use crate::attributes::GroupVersionKind;

const PREFIX: &str = "#/components/schemas/";

/// The type that expressions see of a kind, by the document of its group and version; `None` if the document does not have the kind. What
/// expressions cannot see by its schema is of any type. `name` is that of the type in messages.
///
/// ```
/// use kubewright_admission::GroupVersionKind;
/// use kubewright_admission::policy::published_type;
/// use serde_json::json;
///
/// let document = json!({ "components": { "schemas": {
///     "Foo": {
///         "type": "object",
///         "properties": { "next": { "allOf": [{ "$ref": "#/components/schemas/Next" }] } },
///         "x-kubernetes-group-version-kind": [{ "group": "example.com", "version": "v1", "kind": "Foo" }],
///     },
///     "Next": { "type": "string" },
/// } } });
/// let foo = GroupVersionKind::new("example.com", "v1", "Foo");
/// assert_eq!(published_type(&document, &foo, "Foo1").unwrap().to_string(), "Foo1");
/// assert_eq!(published_type(&document, &GroupVersionKind::new("", "v1", "Foo"), "Foo1"), None);
/// ```
pub fn published_type(document: &Value, kind: &GroupVersionKind, name: &str) -> Option<Type> {
    let schemas = document.pointer("/components/schemas")?.as_object()?;
    let is_kind = |schema: &Value| {
        let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
        let wanted = kind.to_value();
        kinds.is_some_and(|kinds| kinds.contains(&wanted))
    };
    let (root, schema) = schemas.iter().find(|(_, schema)| is_kind(schema))?;
    let schema = resolved(schemas, &mut vec![root], schema);
    Some(Decl::from_schema(&schema, true).cel_type(name).unwrap_or(Type::Dyn))
}

/// The schema with what it refers to put in its place; what contains itself is an object without fields.
fn resolved<'s>(schemas: &'s Map<String, Value>, inside: &mut Vec<&'s str>, schema: &'s Value) -> Value {
    let reference = reference_of(schema);
    let schema = match reference {
        Some(name) if inside.contains(&name) => return json!({ "type": "object" }),
        Some(name) => schemas.get(name).unwrap_or(&Value::Null),
        None => schema,
    };
    inside.extend(reference);
    let mut result = Map::new();
    for (key, value) in schema.as_object().into_iter().flatten() {
        let value = match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                let properties = properties.iter();
                let properties = properties.map(|(name, own)| (name.clone(), resolved(schemas, inside, own)));
                Value::Object(properties.collect())
            }
            ("items" | "additionalProperties", Value::Object(_)) => resolved(schemas, inside, value),
            ("type" | "format" | "required" | "additionalProperties", _) => value.clone(),
            (extension, _) if extension.starts_with("x-kubernetes-") => value.clone(),
            _ => continue,
        };
        result.insert(key.clone(), value);
    }
    // Built-in kinds say so by the format.
    if result.get("format").is_some_and(|format| format == "int-or-string") {
        result.insert("x-kubernetes-int-or-string".into(), true.into());
    }
    if reference.is_some() {
        inside.pop();
    }
    Value::Object(result)
}

/// The name of the schema that another one stands for, which may be inside an `allOf`.
fn reference_of(schema: &Value) -> Option<&str> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return reference.strip_prefix(PREFIX);
    }
    let all = schema.get("allOf").and_then(Value::as_array)?;
    all.iter().find_map(reference_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_contains_itself_ends_with_an_object_without_fields() {
        let document = json!({"components": {"schemas": {"Tree": {
            "type": "object",
            "properties": {
                "branches": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
                "port": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
                "free": {},
            },
            "x-kubernetes-group-version-kind": [{"group": "g", "version": "v1", "kind": "Tree"}],
        }}}});
        let ty = published_type(&document, &GroupVersionKind::new("g", "v1", "Tree"), "Tree1");
        let Some(Type::Object(tree)) = ty else {
            panic!("an object, not {ty:?}")
        };
        let fields = tree.fields.as_ref().unwrap();
        assert_eq!(fields["port"], Type::Dyn);
        assert!(!fields.contains_key("free"), "what has no type is not seen");
        assert_eq!(fields["branches"].to_string(), "list(Tree1.branches.@idx)");
    }
}
