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
pub(super) enum Kind {
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
pub(super) const SCHEMA: [(&str, &str, Kind); 44] = [
    ("ID", "id", Kind::Text),
    ("Schema", "$schema", Kind::Text),
    ("Ref", "$ref", Kind::Json),
    ("Description", "description", Kind::Text),
    ("Type", "type", Kind::Text),
    ("Nullable", "nullable", Kind::Flag),
    ("Format", "format", Kind::Text),
    ("Title", "title", Kind::Text),
    ("Default", "default", Kind::Json),
    ("Maximum", "maximum", Kind::Json),
    ("ExclusiveMaximum", "exclusiveMaximum", Kind::Flag),
    ("Minimum", "minimum", Kind::Json),
    ("ExclusiveMinimum", "exclusiveMinimum", Kind::Flag),
    ("MaxLength", "maxLength", Kind::Json),
    ("MinLength", "minLength", Kind::Json),
    ("Pattern", "pattern", Kind::Text),
    ("MaxItems", "maxItems", Kind::Json),
    ("MinItems", "minItems", Kind::Json),
    ("UniqueItems", "uniqueItems", Kind::Flag),
    ("MultipleOf", "multipleOf", Kind::Json),
    ("Enum", "enum", Kind::Json),
    ("MaxProperties", "maxProperties", Kind::Json),
    ("MinProperties", "minProperties", Kind::Json),
    ("Required", "required", Kind::Json),
    ("Items", "items", Kind::SchemaOrArray),
    ("AllOf", "allOf", Kind::Schemas),
    ("OneOf", "oneOf", Kind::Schemas),
    ("AnyOf", "anyOf", Kind::Schemas),
    ("Not", "not", Kind::Schema),
    ("Properties", "properties", Kind::SchemaMap),
    ("AdditionalProperties", "additionalProperties", Kind::SchemaOrBool),
    ("PatternProperties", "patternProperties", Kind::SchemaMap),
    ("Dependencies", "dependencies", Kind::Dependencies),
    ("AdditionalItems", "additionalItems", Kind::SchemaOrBool),
    ("Definitions", "definitions", Kind::SchemaMap),
    ("ExternalDocs", "externalDocs", Kind::Docs),
    ("Example", "example", Kind::Json),
    (
        "XPreserveUnknownFields",
        "x-kubernetes-preserve-unknown-fields",
        Kind::Json,
    ),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Kind::Flag),
    ("XIntOrString", "x-kubernetes-int-or-string", Kind::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Kind::Json),
    ("XListType", "x-kubernetes-list-type", Kind::Json),
    ("XMapType", "x-kubernetes-map-type", Kind::Json),
    ("XValidations", "x-kubernetes-validations", Kind::Rules),
];

/// Whether a field has the zero value of its Go type.
pub(super) fn is_zero(schema: &Value, field: &str, kind: Kind) -> bool {
    match kind {
        Kind::Text => text(schema, &[field]).is_empty(),
        Kind::Flag => !flag(schema, &[field]),
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
            ("Rule", "rule", Kind::Text),
            ("Message", "message", Kind::Text),
            ("MessageExpression", "messageExpression", Kind::Text),
            ("Reason", "reason", Kind::Json),
            ("FieldPath", "fieldPath", Kind::Text),
            ("OptionalOldSelf", "optionalOldSelf", Kind::Json),
        ],
    )
}

fn structure(object: &Value, fields: &[(&str, &str, Kind)]) -> String {
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

fn shown(object: &Value, field: &str, kind: Kind) -> String {
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
        Kind::Text => json_text(text(object, &[field])),
        Kind::Flag => flag(object, &[field]).to_string(),
        Kind::Json => value.map_or_else(null, json),
        Kind::Schema => value.map_or_else(null, schema),
        Kind::Schemas => value.and_then(Value::as_array).map_or_else(null, |all| schemas(all)),
        Kind::SchemaMap => map_of(&schema),
        Kind::SchemaOrArray => value.map_or_else(null, items),
        Kind::SchemaOrBool => value.map_or_else(null, |value| match value {
            Value::Bool(allows) => format!(r#"{{"Allows":{allows},"Schema":null}}"#),
            node => format!(r#"{{"Allows":true,"Schema":{}}}"#, schema(node)),
        }),
        Kind::Dependencies => map_of(&|value| match value {
            Value::Array(_) => format!(r#"{{"Schema":null,"Property":{}}}"#, json(value)),
            Value::Object(_) => format!(r#"{{"Schema":{},"Property":null}}"#, schema(value)),
            _ => r#"{"Schema":null,"Property":null}"#.to_owned(),
        }),
        Kind::Docs => value.map_or_else(null, |docs| {
            structure(
                docs,
                &[("Description", "description", Kind::Text), ("URL", "url", Kind::Text)],
            )
        }),
        Kind::Rules => value.and_then(Value::as_array).map_or_else(null, |rules| {
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
