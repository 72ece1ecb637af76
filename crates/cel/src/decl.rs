//! What a structural schema says about data: how rules see its types and how JSON is read by it.
//! Sizes are the assumptions Kubernetes makes about what fits into a request.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::go::value::{Numbers, type_name};
use serde_json::Value as Json;

use crate::error::EvalError;
use crate::library::time;
use crate::names::escape;
use crate::types::{ObjectType, Type};
use crate::value::{List, Map, Outcome, Text, Value};

/// The largest request the server accepts, in bytes.
pub(crate) const MAX_REQUEST_BYTES: i64 = 3 * 1024 * 1024;

/// One node of a schema: what rules see of the data and how large it may be.
///
/// ```
/// use kubewright_cel::{Decl, Type, Value};
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"for": {"type": "string", "format": "duration"}}});
/// let decl = Decl::from_schema(&schema, false);
/// let Some(Type::Object(ty)) = decl.cel_type("self") else { panic!("rules see an object") };
/// // A reserved word is escaped, and the format has a type of its own.
/// assert_eq!(ty.fields.as_ref().unwrap().get("__for__"), Some(&Type::Duration));
///
/// let data = json!({"for": "1h"});
/// assert!(Value::typed(&data, &decl).is_ok());
/// ```
///
/// ```
/// use kubewright_cel::Decl;
/// use serde_json::json;
///
/// let schema = json!({
///     "type": "object",
///     "properties": { "ports": { "type": "array", "maxItems": 8, "items": { "type": "integer" } } },
/// });
/// let decl = Decl::from_schema(&schema, true);
/// let ports = decl.property("ports").unwrap();
/// assert_eq!(ports.cel_type("ports").unwrap().to_string(), "list(int)");
/// assert_eq!(ports.element().unwrap().cel_type("port").unwrap().to_string(), "int");
/// assert!(decl.property("metadata").is_some()); // every object has it
/// ```
#[derive(Debug)]
pub struct Decl {
    /// What the data is.
    pub kind: DeclKind,
    /// Whether `null` is allowed.
    pub nullable: bool,
    /// The largest number of characters, elements or entries.
    pub max_elements: i64,
    /// The smallest number of bytes the data takes in JSON.
    pub min_size: i64,
    /// Whether rules can see it.
    pub visible: bool,
}

/// What the data is.
#[derive(Debug)]
pub enum DeclKind {
    /// `x-kubernetes-int-or-string`
    IntOrString,
    /// An object with properties, by their plain names.
    Object {
        /// The properties.
        properties: BTreeMap<String, Arc<Decl>>,
    },
    /// An object with `additionalProperties`.
    Map(Arc<Decl>),
    /// An object without any properties; rules see no field of it.
    Empty,
    /// An array.
    List {
        /// The elements.
        items: Arc<Decl>,
        /// How lists are compared and added.
        kind: ListKind,
    },
    /// A string without a format that has a type of its own.
    String,
    /// `format: byte`
    Bytes,
    /// `format: duration`
    Duration,
    /// `format: date`
    Date,
    /// `format: date-time`
    DateTime,
    /// `type: boolean`
    Bool,
    /// `type: number`
    Number,
    /// `type: integer`
    Integer,
    /// `x-kubernetes-preserve-unknown-fields` without a type.
    Preserved,
    /// An array without items, or a type that does not exist.
    Invalid(String),
}

/// `x-kubernetes-list-type`
#[derive(Debug, PartialEq, Eq)]
pub enum ListKind {
    /// Lists are equal when they are equal element by element.
    Atomic,
    /// Order does not matter; `+` is the union.
    Set,
    /// Elements are identified by these keys; `+` merges.
    Map(Vec<String>),
}

impl Decl {
    /// Reads a structural schema; `resource_root` adds what every Kubernetes object has.
    pub fn from_schema(schema: &Json, resource_root: bool) -> Arc<Decl> {
        Arc::new(build(schema, resource_root))
    }

    fn new(kind: DeclKind, max_elements: i64, min_size: i64, visible: bool) -> Decl {
        Decl {
            kind,
            nullable: false,
            max_elements,
            min_size,
            visible,
        }
    }

    /// The type rules see, objects named after where they stand below `name`; `None` when rules cannot see it.
    pub fn cel_type(&self, name: &str) -> Option<Type> {
        if !self.visible {
            return None;
        }
        Some(match &self.kind {
            DeclKind::IntOrString => Type::Dyn,
            DeclKind::Object { properties } => {
                let fields = properties
                    .iter()
                    .filter_map(|(property, decl)| {
                        let field = escape(property)?;
                        let ty = decl.cel_type(&format!("{name}.{field}"))?;
                        Some((field, ty))
                    })
                    .collect();
                Type::Object(Arc::new(ObjectType {
                    name: name.to_owned(),
                    fields: Some(fields),
                }))
            }
            DeclKind::Empty => Type::Object(Arc::new(ObjectType {
                name: name.to_owned(),
                fields: Some(BTreeMap::new()),
            })),
            DeclKind::Map(values) => Type::map(Type::String, values.cel_type(&format!("{name}.@elem"))?),
            DeclKind::List { items, .. } => Type::list(items.cel_type(&format!("{name}.@idx"))?),
            DeclKind::String => Type::String,
            DeclKind::Bytes => Type::Bytes,
            DeclKind::Duration => Type::Duration,
            DeclKind::Date | DeclKind::DateTime => Type::Timestamp,
            DeclKind::Bool => Type::Bool,
            DeclKind::Number => Type::Double,
            DeclKind::Integer => Type::Int,
            DeclKind::Preserved | DeclKind::Invalid(_) => return None,
        })
    }

    /// The declaration of a property.
    pub fn property(&self, name: &str) -> Option<&Arc<Decl>> {
        match &self.kind {
            DeclKind::Object { properties } => properties.get(name),
            _ => None,
        }
    }

    /// The declaration of the elements of a list or the values of a map.
    pub fn element(&self) -> Option<&Arc<Decl>> {
        match &self.kind {
            DeclKind::Map(values) => Some(values),
            DeclKind::List { items, .. } => Some(items),
            _ => None,
        }
    }

    /// Reads data by this declaration, without copying it.
    pub(crate) fn read<'a>(&'a self, json: &'a Json) -> Outcome<'a> {
        let invalid = |expected: &str| {
            Err(EvalError::new(format!(
                "invalid data, expected {expected}, got {}",
                type_name(json, Numbers::Int64)
            )))
        };
        if json.is_null() {
            return if self.nullable {
                Ok(Value::Null)
            } else {
                Err(EvalError::fixed(
                    "invalid data, got null for schema with nullable=false",
                ))
            };
        }
        match (&self.kind, json) {
            (DeclKind::IntOrString | DeclKind::String, Json::String(text)) => Ok(Value::String(Text::Borrowed(text))),
            (DeclKind::IntOrString | DeclKind::Integer, Json::Number(number)) if number.is_i64() => {
                Ok(Value::Int(number.as_i64().unwrap_or_default()))
            }
            (DeclKind::IntOrString, _) => Err(EvalError::fixed(
                "invalid data, expected XIntOrString value to be either a string or integer",
            )),
            (DeclKind::Object { .. } | DeclKind::Map(_) | DeclKind::Empty, Json::Object(fields)) => {
                Ok(Value::Map(Map::Json {
                    fields,
                    decl: Some(self),
                }))
            }
            (DeclKind::Object { .. } | DeclKind::Map(_) | DeclKind::Empty, _) => Err(EvalError::fixed(
                "invalid data, expected a map for the provided schema with type=object",
            )),
            (DeclKind::List { .. }, Json::Array(items)) => Ok(Value::List(List::Json {
                items,
                decl: Some(self),
            })),
            (DeclKind::List { .. }, _) => Err(EvalError::fixed(
                "invalid data, expected an array for the provided schema with type=array",
            )),
            (DeclKind::Duration, Json::String(text)) => kubewright_apimachinery::duration::parse(text)
                .map(Value::Duration)
                .map_err(|_| {
                    EvalError::new(format!(
                        "Invalid duration {text}: time: invalid duration {text}",
                        text = quote(text)
                    ))
                }),
            (DeclKind::Date, Json::String(text)) => time::parse_date(text)
                .map(Value::Timestamp)
                .ok_or_else(|| EvalError::new(format!("Invalid date formatted string {text}"))),
            (DeclKind::DateTime, Json::String(text)) => time::parse_timestamp(text)
                .map(Value::Timestamp)
                .ok_or_else(|| EvalError::new(format!("Invalid date-time formatted string {text}"))),
            (DeclKind::Bytes, Json::String(text)) => base64::engine::general_purpose::STANDARD
                .decode(text)
                .map(|bytes| Value::Bytes(bytes.into()))
                .map_err(|error| EvalError::new(format!("Invalid byte formatted string {text}: {error}"))),
            (DeclKind::String | DeclKind::Duration | DeclKind::Date | DeclKind::DateTime | DeclKind::Bytes, _) => {
                invalid("string")
            }
            (DeclKind::Number, Json::Number(number)) => Ok(Value::Double(number.as_f64().unwrap_or(f64::NAN))),
            (DeclKind::Number, _) => invalid("float"),
            (DeclKind::Integer, _) => invalid("int"),
            (DeclKind::Bool, Json::Bool(value)) => Ok(Value::Bool(*value)),
            (DeclKind::Bool, _) => invalid("bool"),
            (DeclKind::Preserved, _) => Ok(Value::Preserved(json)),
            (DeclKind::Invalid(ty), _) if ty == "array" => Err(EvalError::fixed(
                "invalid array type, expected Items with a non-empty Schema",
            )),
            (DeclKind::Invalid(ty), _) => Err(EvalError::new(format!(
                "invalid type, expected object, array, number, integer, boolean or string, or no type with \
                 x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got {ty}"
            ))),
        }
    }
}

fn flag(schema: &Json, name: &str) -> bool {
    schema.get(name).and_then(Json::as_bool).unwrap_or(false)
}

fn limit(schema: &Json, name: &str) -> Option<i64> {
    schema.get(name).and_then(Json::as_i64).map(|limit| limit.max(0))
}

fn build(schema: &Json, resource_root: bool) -> Decl {
    let mut decl = build_kind(schema, resource_root);
    decl.nullable = flag(schema, "nullable");
    decl
}

fn build_kind(schema: &Json, resource_root: bool) -> Decl {
    if flag(schema, "x-kubernetes-int-or-string") {
        let max = limit(schema, "maxLength").map_or(MAX_REQUEST_BYTES - 2, |length| length.saturating_mul(4));
        return Decl::new(DeclKind::IntOrString, max, 1, true);
    }
    match schema.get("type").and_then(Json::as_str).unwrap_or("") {
        "array" => build_list(schema),
        "object" => build_object(schema, resource_root),
        "string" => build_string(schema),
        "boolean" => Decl::new(DeclKind::Bool, 0, 4, true),
        "number" => Decl::new(DeclKind::Number, 0, 1, true),
        "integer" => Decl::new(DeclKind::Integer, 0, 1, true),
        _ if flag(schema, "x-kubernetes-preserve-unknown-fields") => Decl::new(DeclKind::Preserved, 0, 0, false),
        other => Decl::new(DeclKind::Invalid(other.to_owned()), 0, 0, false),
    }
}

fn build_list(schema: &Json) -> Decl {
    let Some(items) = schema.get("items") else {
        return Decl::new(DeclKind::Invalid("array".to_owned()), 0, 0, false);
    };
    let items = Arc::new(build(items, flag(items, "x-kubernetes-embedded-resource")));
    let visible = items.visible;
    let max = limit(schema, "maxItems").unwrap_or((MAX_REQUEST_BYTES - 2) / (items.min_size + 1));
    let kind = match schema.get("x-kubernetes-list-type").and_then(Json::as_str) {
        Some("set") => ListKind::Set,
        Some("map") => ListKind::Map(
            schema
                .get("x-kubernetes-list-map-keys")
                .and_then(Json::as_array)
                .map(|keys| keys.iter().filter_map(Json::as_str).map(str::to_owned).collect())
                .unwrap_or_default(),
        ),
        _ => ListKind::Atomic,
    };
    Decl::new(DeclKind::List { items, kind }, max, 2, visible)
}

fn build_object(schema: &Json, resource_root: bool) -> Decl {
    let no_properties = serde_json::Map::new();
    let declared = schema.get("properties").and_then(Json::as_object);
    if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
        let values = Arc::new(build(values, flag(values, "x-kubernetes-embedded-resource")));
        let visible = values.visible;
        let max = limit(schema, "maxProperties").unwrap_or((MAX_REQUEST_BYTES - 2) / (values.min_size + 6));
        return Decl::new(DeclKind::Map(values), max, 2, visible);
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Json::as_array)
        .map(|names| names.iter().filter_map(Json::as_str).collect())
        .unwrap_or_default();
    let mut min_size = 2;
    let mut properties = BTreeMap::new();
    for (name, property) in declared.unwrap_or(&no_properties) {
        let decl = build(property, flag(property, "x-kubernetes-embedded-resource"));
        if decl.visible && required.contains(&name.as_str()) && property.get("default").is_none() {
            min_size += name.len() as i64 + decl.min_size + 4;
        }
        properties.insert(name.clone(), Arc::new(decl));
    }
    if resource_root && !has_object_meta(declared) {
        for name in ["kind", "apiVersion"] {
            properties.insert(name.to_owned(), plain_string());
        }
        let metadata = ["name", "generateName"].map(|name| (name.to_owned(), plain_string()));
        let metadata = Decl::new(
            DeclKind::Object {
                properties: metadata.into(),
            },
            0,
            2,
            true,
        );
        properties.insert("metadata".to_owned(), Arc::new(metadata));
    }
    if properties.is_empty() && declared.is_none() {
        return Decl::new(DeclKind::Empty, 0, 2, true);
    }
    Decl::new(DeclKind::Object { properties }, 0, min_size, true)
}

fn plain_string() -> Arc<Decl> {
    Arc::new(Decl::new(DeclKind::String, MAX_REQUEST_BYTES - 2, 2, true))
}

/// Whether a schema already declares what every object has.
fn has_object_meta(properties: Option<&serde_json::Map<String, Json>>) -> bool {
    let Some(properties) = properties else { return false };
    let is = |schema: Option<&Json>, wanted: &str| {
        schema.and_then(|schema| schema.get("type")).and_then(Json::as_str) == Some(wanted)
    };
    let metadata = properties.get("metadata");
    let meta = |name: &str| metadata.and_then(|metadata| metadata.get("properties")?.get(name));
    is(properties.get("kind"), "string")
        && is(properties.get("apiVersion"), "string")
        && is(metadata, "object")
        && is(meta("name"), "string")
        && is(meta("generateName"), "string")
}

fn build_string(schema: &Json) -> Decl {
    let max_length = limit(schema, "maxLength");
    match schema.get("format").and_then(Json::as_str) {
        Some("byte") => Decl::new(DeclKind::Bytes, max_length.unwrap_or(MAX_REQUEST_BYTES - 2), 2, true),
        Some("duration") => Decl::new(DeclKind::Duration, 32, 3, true),
        Some("date") => Decl::new(DeclKind::Date, 12, 12, true),
        Some("date-time") => Decl::new(DeclKind::DateTime, 32, 21, true),
        _ => {
            let values = schema
                .get("enum")
                .and_then(Json::as_array)
                .filter(|values| !values.is_empty());
            let max = match (max_length, values) {
                (Some(length), _) => length.saturating_mul(4),
                (None, Some(values)) => values.iter().filter_map(Json::as_str).map(str::len).max().unwrap_or(0) as i64,
                (None, None) => MAX_REQUEST_BYTES - 2,
            };
            Decl::new(DeclKind::String, max, 2, true)
        }
    }
}
