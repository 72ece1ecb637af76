//! Objects that expressions build: what a `MutatingAdmissionPolicy` returns, and how it becomes JSON.

use base64::Engine as _;
use kubewright_apimachinery::go::quote;
use serde_json::Value as Json;

use crate::env::JSON_PATCH;
use crate::error::EvalError;
use crate::eval::ops;
use crate::library::display;
use crate::value::{Map, Object, Outcome, Value};

impl<'a> Object<'a> {
    /// A field of a `JSONPatch`, which alone shows its fields; `None` for other objects.
    pub(crate) fn patch_field(&self, name: &str) -> Option<Outcome<'a>> {
        if &*self.type_name != JSON_PATCH {
            return None;
        }
        Some(match (self.fields.get(name), name) {
            (Some(value), _) => Ok(value.clone()),
            (None, "op" | "path" | "from") => Ok(Value::text("")),
            (None, _) => Err(EvalError::new(format!("unsupported indexer: {name}"))),
        })
    }

    /// Objects are equal when their types and all their fields are.
    pub(crate) fn equals(&self, other: &Object<'_>) -> Result<bool, EvalError> {
        if self.type_name != other.type_name || self.fields.len() != other.fields.len() {
            return Ok(false);
        }
        for (name, value) in &self.fields {
            match other.fields.get(name) {
                Some(other) if ops::equal(value, other)? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// The objects below this one whose type is not named after the fields that lead to them, as the messages
    /// upstream gives; maps and lists between them have no name.
    ///
    /// `Object{spec: Object.status{}}` has one: its `spec` must be an `Object.spec`.
    pub fn misnamed(&self) -> Vec<String> {
        let mut found = Vec::new();
        misnamed(self, &self.type_name, &mut found);
        found
    }
}

fn misnamed(object: &Object<'_>, expected: &str, found: &mut Vec<String>) {
    if &*object.type_name != expected {
        found.push(format!(
            "unexpected type name {}, expected {}, which matches field name path from root Object type",
            quote(&object.type_name),
            quote(expected)
        ));
    }
    for (name, value) in &object.fields {
        misnamed_below(value, &format!("{expected}.{name}"), found);
    }
}

fn misnamed_below(value: &Value<'_>, expected: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => misnamed(object, expected, found),
        Value::List(list) => {
            for item in list.iter().flatten() {
                misnamed_below(&item, expected, found);
            }
        }
        Value::Map(map @ Map::Shared(_)) => {
            for key in map.keys() {
                if let Ok(Some(value)) = map.get(&key) {
                    misnamed_below(&value, expected, found);
                }
            }
        }
        _ => {}
    }
}

impl Value<'_> {
    /// The value as JSON: bytes in base64, times and durations as strings write them, an absent optional as `null`.
    /// Types and map keys that are no strings have no JSON.
    pub fn to_json(&self) -> Result<Json, EvalError> {
        Ok(match self {
            Value::Null | Value::Optional(None) => Json::Null,
            Value::Bool(value) => Json::from(*value),
            Value::Int(value) => Json::from(*value),
            Value::Uint(value) => Json::from(*value),
            Value::Double(value) => Json::from(*value),
            Value::String(text) => Json::from(text.as_str()),
            Value::Bytes(bytes) => Json::from(base64::engine::general_purpose::STANDARD.encode(bytes)),
            Value::Duration(_) | Value::Timestamp(_) => Json::from(display(self)),
            Value::List(list) => Json::Array(list.iter().map(|item| item?.to_json()).collect::<Result<_, _>>()?),
            Value::Map(Map::Json { fields, .. }) => Json::Object((*fields).clone()),
            Value::Map(map) => {
                let mut fields = serde_json::Map::new();
                for key in map.keys() {
                    let Some(name) = key.as_str() else {
                        let (shown, ty) = (display(&key), key.type_of());
                        return Err(EvalError::new(format!(
                            "map key \"{shown}\" is of type {ty}, not string"
                        )));
                    };
                    if let Some(value) = map.get(&key)? {
                        fields.insert(name.to_owned(), value.to_json()?);
                    }
                }
                Json::Object(fields)
            }
            Value::Object(object) => {
                let mut fields = serde_json::Map::new();
                for (name, value) in &object.fields {
                    fields.insert(name.as_ref().to_owned(), value.to_json()?);
                }
                Json::Object(fields)
            }
            Value::Optional(Some(value)) => value.to_json()?,
            Value::Preserved(json) => (*json).clone(),
            Value::Opaque(_) | Value::Type(_) | Value::Lazy => {
                return Err(EvalError::new(format!(
                    "a value of type {} has no JSON",
                    self.type_of()
                )));
            }
        })
    }

    /// How Go names the type upstream holds such a value in; messages show it.
    pub(crate) fn go_type(&self) -> &'static str {
        match self {
            Value::Null => "types.Null",
            Value::Bool(_) => "types.Bool",
            Value::Int(_) => "types.Int",
            Value::Uint(_) => "types.Uint",
            Value::Double(_) => "types.Double",
            Value::String(_) => "types.String",
            Value::Bytes(_) => "types.Bytes",
            Value::Duration(_) => "types.Duration",
            Value::Timestamp(_) => "types.Timestamp",
            Value::List(_) => "*types.baseList",
            Value::Map(_) => "*types.baseMap",
            Value::Type(_) => "*types.Type",
            Value::Optional(_) => "*types.Optional",
            Value::Opaque(_) | Value::Preserved(_) | Value::Object(_) | Value::Lazy => "ref.Val",
        }
    }

    /// How Go names the type of what such a value holds.
    pub(crate) fn go_native(&self) -> &'static str {
        match self {
            Value::Null => "structpb.NullValue",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int64",
            Value::Uint(_) => "uint64",
            Value::Double(_) => "float64",
            Value::String(_) => "string",
            Value::Bytes(_) => "[]uint8",
            Value::Duration(_) => "time.Duration",
            Value::Timestamp(_) => "time.Time",
            Value::List(_) => "[]ref.Val",
            Value::Map(_) => "map[ref.Val]ref.Val",
            _ => "ref.Val",
        }
    }
}
