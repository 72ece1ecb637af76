//! Writing JSON as Go does: the fields of a struct in the order of their declaration, the keys of a map sorted.

use kubewright_codec::json;
use serde_json::Value;

use crate::model::{Form, Scalar};
use crate::type_ref::TypeRef;
use crate::types::Types;

/// The type of the schemas in a definition of custom resources.
const JSON_SCHEMA: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

/// Appends a value of this type as compact JSON. What the type does not know comes last.
///
/// ```
/// # use kubewright_schema::{Types, write_json};
/// let config_map = Types::builtin().kind("", "v1", "ConfigMap").unwrap();
/// let value = serde_json::json!({"data": {"b": "2", "a": "1"}, "metadata": {"namespace": "n", "name": "c"}, "apiVersion": "v1", "kind": "ConfigMap"});
/// let mut text = Vec::new();
/// write_json(config_map, &value, &mut text);
/// assert_eq!(
///     String::from_utf8(text).unwrap(),
///     r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c","namespace":"n"},"data":{"a":"1","b":"2"}}"#
/// );
/// ```
pub fn write_json(ty: TypeRef<'_>, value: &Value, out: &mut Vec<u8>) {
    match (value, ty.form()) {
        (Value::Object(object), Form::Struct(_)) => {
            out.push(b'{');
            let mut first = true;
            write_members(ty, object, &mut first, out);
            out.push(b'}');
        }
        (Value::Object(object), Form::Map { .. }) => {
            let Some(element) = ty.element() else {
                return json::write(value, out);
            };
            out.push(b'{');
            let mut first = true;
            for (key, value) in object {
                write_key(key, &mut first, out);
                write_json(element, value, out);
            }
            out.push(b'}');
        }
        (Value::Array(items), Form::List(_)) => match ty.element() {
            Some(element) => write_items(element, items, out),
            None => json::write(value, out),
        },
        (Value::Object(_), Form::Scalar(Scalar::SchemaOrBool | Scalar::SchemaOrArray | Scalar::SchemaOrStrings)) => {
            match ty.types().named(JSON_SCHEMA) {
                Some(schema) => write_json(schema, value, out),
                None => json::write(value, out),
            }
        }
        (Value::Array(items), Form::Scalar(Scalar::SchemaOrArray)) => match ty.types().named(JSON_SCHEMA) {
            Some(schema) => write_items(schema, items, out),
            None => json::write(value, out),
        },
        _ => json::write(value, out),
    }
}

/// Appends an object of the API as compact JSON: by the type of its kind, or with sorted keys where that is none of the built-in ones.
pub fn write_object_json(types: &Types, object: &Value, out: &mut Vec<u8>) {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    match types.kind(group, version, text("kind")) {
        Some(ty) => write_json(ty, object, out),
        None => json::write(object, out),
    }
}

/// Appends the members of a struct, without its braces. `first` is whether no member stands before them.
pub fn write_members<'v>(
    ty: TypeRef<'_>,
    members: impl IntoIterator<Item = (&'v String, &'v Value)>,
    first: &mut bool,
    out: &mut Vec<u8>,
) {
    let Some(structure) = ty.structure() else {
        return;
    };
    let place = |(key, value): (&'v String, &'v Value)| (structure.position(key).unwrap_or(u16::MAX), key, value);
    let mut members: Vec<(u16, &String, &Value)> = members.into_iter().map(place).collect();
    members.sort_by_key(|(position, ..)| *position);
    for (position, key, value) in members {
        write_key(key, first, out);
        match structure.fields.get(usize::from(position)) {
            Some(field) => write_json(ty.of_field(field), value, out),
            None => json::write(value, out),
        }
    }
}

fn write_items(element: TypeRef<'_>, items: &[Value], out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_json(element, item, out);
    }
    out.push(b']');
}

fn write_key(key: &str, first: &mut bool, out: &mut Vec<u8>) {
    if !std::mem::take(first) {
        out.push(b',');
    }
    json::write_string(key, out);
    out.push(b':');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(object: &Value) -> String {
        let mut text = Vec::new();
        write_object_json(Types::builtin(), object, &mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn what_has_no_type_has_sorted_keys() {
        let text = written(&json!({"spec": {"b": 1, "a": 2}, "kind": "Widget", "apiVersion": "example.com/v1"}));
        assert_eq!(
            text,
            r#"{"apiVersion":"example.com/v1","kind":"Widget","spec":{"a":2,"b":1}}"#
        );
    }

    #[test]
    fn schemas_of_a_definition_have_the_order_of_their_type_at_any_depth() {
        let of = json!({"type": "object", "description": "d", "items": {"type": "string", "format": "x"}});
        let text = written(&json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"z": of}, "additionalProperties": of}}, "name": "v1"}]},
        }));
        let of = r#"{"description":"d","type":"object","items":{"type":"string","format":"x"}}"#;
        assert_eq!(
            text,
            format!(
                r#"{{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","spec":{{"versions":[{{"name":"v1","schema":{{"openAPIV3Schema":{{"properties":{{"z":{of}}},"additionalProperties":{of}}}}}}}]}}}}"#
            )
        );
    }

    #[test]
    fn what_a_type_does_not_know_comes_last() {
        let text = written(&json!({"apiVersion": "v1", "kind": "Status", "a": 1, "code": 404, "message": "m"}));
        assert_eq!(
            text,
            r#"{"kind":"Status","apiVersion":"v1","message":"m","code":404,"a":1}"#
        );
    }
}
