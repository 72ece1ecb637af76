//! Values as upstream's errors show them: its internal structures as Go's JSON, fields in the order of the structure,
//! under the names of the structure, zero values included.

use std::fmt::Write as _;

use kubewright_apimachinery::field::{BadValue, FieldError, PathRef};
use serde_json::Value;

use crate::crd::access::{at, flag, text};
pub(super) use crate::schema::json;

/// `Invalid value: <shown>: <words>`, where the text stands for a value that JSON would sort.
pub(super) fn invalid(path: &PathRef<'_>, shown: &str, words: &str) -> FieldError {
    FieldError::invalid(path, BadValue::verbatim(shown), words)
}

/// `Invalid value: <value>: <words>` of a value inside a schema: texts as `%q`, everything else as Go's JSON.
pub(super) fn invalid_value(path: &PathRef<'_>, value: &Value, words: &str) -> FieldError {
    match value {
        Value::String(text) => FieldError::invalid(path, text, words),
        other => invalid(path, &json(other), words),
    }
}

/// How a field of a structure is read and shown.
#[derive(Clone, Copy)]
pub(super) enum FieldType {
    Text,
    Flag,
    /// A pointer, a list or a map: absent is null.
    Json,
    Schema,
    Schemas,
    SchemaMap,
    SchemaOrArray,
    SchemaOrBool,
    Dependencies,
    Docs,
    Rules,
}

/// The fields of `JSONSchemaProps`: their Go name, their JSON name, how they are shown. In the order of the structure.
pub(super) const SCHEMA: [(&str, &str, FieldType); 44] = [
    ("ID", "id", FieldType::Text),
    ("Schema", "$schema", FieldType::Text),
    ("Ref", "$ref", FieldType::Json),
    ("Description", "description", FieldType::Text),
    ("Type", "type", FieldType::Text),
    ("Nullable", "nullable", FieldType::Flag),
    ("Format", "format", FieldType::Text),
    ("Title", "title", FieldType::Text),
    ("Default", "default", FieldType::Json),
    ("Maximum", "maximum", FieldType::Json),
    ("ExclusiveMaximum", "exclusiveMaximum", FieldType::Flag),
    ("Minimum", "minimum", FieldType::Json),
    ("ExclusiveMinimum", "exclusiveMinimum", FieldType::Flag),
    ("MaxLength", "maxLength", FieldType::Json),
    ("MinLength", "minLength", FieldType::Json),
    ("Pattern", "pattern", FieldType::Text),
    ("MaxItems", "maxItems", FieldType::Json),
    ("MinItems", "minItems", FieldType::Json),
    ("UniqueItems", "uniqueItems", FieldType::Flag),
    ("MultipleOf", "multipleOf", FieldType::Json),
    ("Enum", "enum", FieldType::Json),
    ("MaxProperties", "maxProperties", FieldType::Json),
    ("MinProperties", "minProperties", FieldType::Json),
    ("Required", "required", FieldType::Json),
    ("Items", "items", FieldType::SchemaOrArray),
    ("AllOf", "allOf", FieldType::Schemas),
    ("OneOf", "oneOf", FieldType::Schemas),
    ("AnyOf", "anyOf", FieldType::Schemas),
    ("Not", "not", FieldType::Schema),
    ("Properties", "properties", FieldType::SchemaMap),
    ("AdditionalProperties", "additionalProperties", FieldType::SchemaOrBool),
    ("PatternProperties", "patternProperties", FieldType::SchemaMap),
    ("Dependencies", "dependencies", FieldType::Dependencies),
    ("AdditionalItems", "additionalItems", FieldType::SchemaOrBool),
    ("Definitions", "definitions", FieldType::SchemaMap),
    ("ExternalDocs", "externalDocs", FieldType::Docs),
    ("Example", "example", FieldType::Json),
    (
        "XPreserveUnknownFields",
        "x-kubernetes-preserve-unknown-fields",
        FieldType::Json,
    ),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", FieldType::Flag),
    ("XIntOrString", "x-kubernetes-int-or-string", FieldType::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", FieldType::Json),
    ("XListType", "x-kubernetes-list-type", FieldType::Json),
    ("XMapType", "x-kubernetes-map-type", FieldType::Json),
    ("XValidations", "x-kubernetes-validations", FieldType::Rules),
];

/// Whether a field has the zero value of its Go type.
pub(super) fn is_zero(schema: &Value, field: &str, kind: FieldType) -> bool {
    match kind {
        FieldType::Text => text(schema, &[field]).is_empty(),
        FieldType::Flag => !flag(schema, &[field]),
        _ => at(schema, &[field]).is_none(),
    }
}

/// A schema as an error shows it.
pub(super) fn schema(node: &Value) -> String {
    structure(node, &SCHEMA)
}

/// The content of `items` as an error shows it.
pub(super) fn items(items: &Value) -> String {
    match items {
        Value::Array(many) if !many.is_empty() => {
            format!(r#"{{"Schema":null,"JSONSchemas":{}}}"#, schemas(many))
        }
        one @ Value::Object(_) => format!(r#"{{"Schema":{},"JSONSchemas":null}}"#, schema(one)),
        Value::Array(_) => r#"{"Schema":null,"JSONSchemas":[]}"#.to_owned(),
        _ => r#"{"Schema":null,"JSONSchemas":null}"#.to_owned(),
    }
}

/// A validation rule as an error shows it.
pub(super) fn rule(rule: &Value) -> String {
    structure(
        rule,
        &[
            ("Rule", "rule", FieldType::Text),
            ("Message", "message", FieldType::Text),
            ("MessageExpression", "messageExpression", FieldType::Text),
            ("Reason", "reason", FieldType::Json),
            ("FieldPath", "fieldPath", FieldType::Text),
            ("OptionalOldSelf", "optionalOldSelf", FieldType::Json),
        ],
    )
}

fn structure(object: &Value, fields: &[(&str, &str, FieldType)]) -> String {
    let mut out = String::from("{");
    for (index, (name, field, kind)) in fields.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        let _ = write!(out, "\"{name}\":{}", shown(object, field, *kind));
    }
    out.push('}');
    out
}

fn shown(object: &Value, field: &str, kind: FieldType) -> String {
    let value = at(object, &[field]);
    let map_of = |entry: &dyn Fn(&Value) -> String| {
        value.and_then(Value::as_object).map_or_else(null, |entries| {
            let entries = entries
                .iter()
                .map(|(name, value)| format!("{}:{}", json_text(name), entry(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        })
    };
    match kind {
        FieldType::Text => json_text(text(object, &[field])),
        FieldType::Flag => flag(object, &[field]).to_string(),
        FieldType::Json => value.map_or_else(null, json),
        FieldType::Schema => value.map_or_else(null, schema),
        FieldType::Schemas => value.and_then(Value::as_array).map_or_else(null, |all| schemas(all)),
        FieldType::SchemaMap => map_of(&schema),
        FieldType::SchemaOrArray => value.map_or_else(null, items),
        FieldType::SchemaOrBool => value.map_or_else(null, |value| match value {
            Value::Bool(allows) => format!(r#"{{"Allows":{allows},"Schema":null}}"#),
            node => format!(r#"{{"Allows":true,"Schema":{}}}"#, schema(node)),
        }),
        FieldType::Dependencies => map_of(&|value| match value {
            Value::Array(_) => format!(r#"{{"Schema":null,"Property":{}}}"#, json(value)),
            Value::Object(_) => format!(r#"{{"Schema":{},"Property":null}}"#, schema(value)),
            _ => r#"{"Schema":null,"Property":null}"#.to_owned(),
        }),
        FieldType::Docs => value.map_or_else(null, |docs| {
            structure(
                docs,
                &[
                    ("Description", "description", FieldType::Text),
                    ("URL", "url", FieldType::Text),
                ],
            )
        }),
        FieldType::Rules => value.and_then(Value::as_array).map_or_else(null, |rules| {
            format!("[{}]", rules.iter().map(rule).collect::<Vec<_>>().join(","))
        }),
    }
}

fn null() -> String {
    "null".to_owned()
}

fn schemas(all: &[Value]) -> String {
    format!("[{}]", all.iter().map(schema).collect::<Vec<_>>().join(","))
}

/// A text as Go's `encoding/json` writes it.
pub(super) fn json_text(text: &str) -> String {
    json(&Value::from(text))
}
