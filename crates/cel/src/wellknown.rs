//! The messages of protobuf that every environment of cel-go knows, Kubernetes' too, and what they become.
//! None of them stays a message, except the empty one: a wrapper is its value, a `Struct` is a map.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;

use crate::error::EvalError;
use crate::library::time::{self, Timestamp};
use crate::types::{ObjectType, Type};
use crate::value::{Key, Map, Object, Outcome, Value};

/// One such message: its name, the type of its value and its fields with their types.
pub(crate) struct WellKnownType {
    pub(crate) name: &'static str,
    result: &'static str,
    fields: &'static [(&'static str, &'static str)],
}

const NUMBERED: &[(&str, &str)] = &[("seconds", "int"), ("nanos", "int")];

const WELL_KNOWN_TYPES: [WellKnownType; 16] = [
    wrapper("google.protobuf.BoolValue", "wrapper(bool)", &[("value", "bool")]),
    wrapper("google.protobuf.BytesValue", "wrapper(bytes)", &[("value", "bytes")]),
    wrapper("google.protobuf.DoubleValue", "wrapper(double)", &[("value", "double")]),
    wrapper("google.protobuf.FloatValue", "wrapper(double)", &[("value", "double")]),
    wrapper("google.protobuf.Int32Value", "wrapper(int)", &[("value", "int")]),
    wrapper("google.protobuf.Int64Value", "wrapper(int)", &[("value", "int")]),
    wrapper("google.protobuf.StringValue", "wrapper(string)", &[("value", "string")]),
    wrapper("google.protobuf.UInt32Value", "wrapper(uint)", &[("value", "uint")]),
    wrapper("google.protobuf.UInt64Value", "wrapper(uint)", &[("value", "uint")]),
    wrapper(
        "google.protobuf.Any",
        "any",
        &[("type_url", "string"), ("value", "bytes")],
    ),
    wrapper("google.protobuf.Duration", "duration", NUMBERED),
    wrapper("google.protobuf.Timestamp", "timestamp", NUMBERED),
    wrapper("google.protobuf.Empty", "google.protobuf.Empty", &[]),
    wrapper("google.protobuf.ListValue", "list(dyn)", &[("values", "list(dyn)")]),
    wrapper(
        "google.protobuf.Struct",
        "map(string, dyn)",
        &[("fields", "map(string, dyn)")],
    ),
    wrapper(
        "google.protobuf.Value",
        "dyn",
        &[
            ("null_value", "int"),
            ("number_value", "double"),
            ("string_value", "string"),
            ("bool_value", "bool"),
            ("struct_value", "map(string, dyn)"),
            ("list_value", "list(dyn)"),
        ],
    ),
];

const fn wrapper(
    name: &'static str,
    result: &'static str,
    fields: &'static [(&'static str, &'static str)],
) -> WellKnownType {
    WellKnownType { name, result, fields }
}

/// The constant of the only enumeration among them.
pub(crate) const NULL_VALUE: &str = "google.protobuf.NullValue.NULL_VALUE";

/// The type of this name.
pub(crate) fn well_known_type(name: &str) -> Option<&'static WellKnownType> {
    name.strip_prefix("google.protobuf.")?;
    WELL_KNOWN_TYPES.iter().find(|known| known.name == name)
}

impl WellKnownType {
    /// The type of what it becomes.
    pub(crate) fn value_type(&self) -> Type {
        match Type::parse(self.result) {
            Some(Type::Object(object)) => Type::Object(Arc::new(ObjectType {
                name: object.name.clone(),
                fields: Some(BTreeMap::new()),
            })),
            Some(ty) => ty,
            None => Type::Dyn,
        }
    }

    /// The type of a field.
    pub(crate) fn field(&self, name: &str) -> Option<Type> {
        let (_, ty) = self.fields.iter().find(|(field, _)| *field == name)?;
        Type::parse(ty)
    }

    /// Whether its name is also the name of a type at run time. The types of the others are what they become, and
    /// upstream refuses to build a program that names them.
    pub(crate) fn is_runtime_type(&self) -> bool {
        matches!(
            self.name,
            "google.protobuf.Any" | "google.protobuf.Duration" | "google.protobuf.Empty" | "google.protobuf.Timestamp"
        )
    }

    /// What the message becomes with these fields.
    pub(crate) fn build<'a>(&self, fields: &[(&str, Value<'a>)]) -> Outcome<'a> {
        let short = self.name.rsplit('.').next().unwrap_or_default();
        let field = |name: &str| {
            fields
                .iter()
                .rev()
                .find(|(field, _)| *field == name)
                .map(|(_, value)| value)
        };
        let failed = |field: &str, why: &str| {
            let name = self.name;
            EvalError::new(format!(
                "field type conversion error for {name}.{field} value type: {why}"
            ))
        };
        let wrong = |field: &str, value: &Value<'_>, native: &str| {
            let from = value.type_of();
            failed(
                field,
                &format!("unsupported native conversion from {from} to '{native}'"),
            )
        };
        let whole = |name: &str| match field(name) {
            None => Ok(0),
            Some(Value::Int(value)) => Ok(*value),
            Some(other) => Err(wrong(name, other, "int64")),
        };
        Ok(match (short, field("value")) {
            ("BoolValue", None) => Value::Bool(false),
            ("BytesValue", None) => Value::Bytes(Arc::new([])),
            ("DoubleValue" | "FloatValue", None) => Value::Double(0.0),
            ("Int32Value" | "Int64Value", None) => Value::Int(0),
            ("UInt32Value" | "UInt64Value", None) => Value::Uint(0),
            ("StringValue", None) => Value::text(""),
            ("BoolValue", Some(value @ Value::Bool(_)))
            | ("BytesValue", Some(value @ Value::Bytes(_)))
            | ("DoubleValue", Some(value @ Value::Double(_)))
            | ("Int64Value", Some(value @ Value::Int(_)))
            | ("UInt64Value", Some(value @ Value::Uint(_)))
            | ("StringValue", Some(value @ Value::String(_))) => value.clone(),
            ("FloatValue", Some(Value::Double(value))) => Value::Double(f64::from(*value as f32)),
            ("Int32Value", Some(Value::Int(value))) => i32::try_from(*value)
                .map(|value| Value::Int(i64::from(value)))
                .map_err(|_| failed("value", "integer overflow"))?,
            ("UInt32Value", Some(Value::Uint(value))) => u32::try_from(*value)
                .map(|value| Value::Uint(u64::from(value)))
                .map_err(|_| failed("value", "unsigned integer overflow"))?,
            ("Any", _) => {
                return Err(EvalError::fixed(
                    "unsupported conversion to ref.Val: (*dynamicpb.Message)",
                ));
            }
            ("Duration", _) => {
                let nanos = i128::from(whole("seconds")?) * 1_000_000_000 + i128::from(whole("nanos")?);
                Value::Duration(nanos.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
            }
            ("Timestamp", _) => {
                let nanos = whole("nanos")?;
                let seconds = whole("seconds")?.checked_add(nanos.div_euclid(1_000_000_000));
                seconds
                    .and_then(|seconds| Timestamp::new(seconds, nanos.rem_euclid(1_000_000_000) as u32))
                    .map(Value::Timestamp)
                    .ok_or(time::OVERFLOW)?
            }
            ("Empty", _) => Value::Object(Arc::new(Object {
                type_name: self.name.into(),
                fields: BTreeMap::new(),
            })),
            ("ListValue", _) => match field("values") {
                None => Value::list(Vec::new()),
                Some(list @ Value::List(_)) => as_json(list)?,
                Some(other) => return Err(wrong("values", other, "[]*structpb.Value")),
            },
            ("Struct", _) => match field("fields") {
                None => Value::Map(Map::Shared(Arc::default())),
                Some(map @ Value::Map(_)) => as_json(map)?,
                Some(other) => return Err(wrong("fields", other, "map[string]*structpb.Value")),
            },
            ("Value", _) => match fields.last() {
                None | Some(("null_value", _)) => Value::Null,
                Some((_, value)) => as_json(value)?,
            },
            (_, Some(value)) => return Err(wrong("value", value, native(short))),
            _ => return Err(EvalError::new(format!("unknown type '{}'", self.name))),
        })
    }
}

/// How Go names the type of a wrapper's field.
fn native(wrapper: &str) -> &'static str {
    match wrapper {
        "BoolValue" => "bool",
        "BytesValue" => "[]uint8",
        "DoubleValue" => "float64",
        "FloatValue" => "float32",
        "Int32Value" => "int32",
        "Int64Value" => "int64",
        "UInt32Value" => "uint32",
        "UInt64Value" => "uint64",
        _ => "string",
    }
}

/// Beyond this, JSON writes integers as strings, since a double would not hold them.
const EXACT: i64 = 1 << 53;

/// A value as protobuf's JSON types hold it: every number is a double, everything else a string.
fn as_json<'a>(value: &Value<'a>) -> Outcome<'a> {
    Ok(match value {
        Value::Int(number) if number.unsigned_abs() < EXACT as u64 => Value::Double(*number as f64),
        Value::Uint(number) if *number < EXACT as u64 => Value::Double(*number as f64),
        Value::Null | Value::Bool(_) | Value::Double(_) | Value::String(_) => value.clone(),
        Value::Int(_) | Value::Uint(_) | Value::Duration(_) | Value::Timestamp(_) => {
            Value::text(crate::library::display(value))
        }
        Value::Bytes(bytes) => Value::text(base64::engine::general_purpose::STANDARD.encode(bytes)),
        Value::List(list) => {
            let items = list.iter().map(|item| as_json(&item?)).collect::<Result<Vec<_>, _>>()?;
            Value::list(items)
        }
        Value::Map(map) => {
            let mut fields = BTreeMap::new();
            for key in map.keys() {
                let Value::String(name) = &key else {
                    return Err(EvalError::new(format!("bad key type: {}", key.type_of())));
                };
                let normal = Key::String(name.as_str().into());
                if let Some(value) = map.get(&key)? {
                    fields.insert(normal, (key.clone(), as_json(&value)?));
                }
            }
            Value::Map(Map::Shared(Arc::new(fields)))
        }
        other => {
            let from = other.type_of();
            return Err(EvalError::new(format!(
                "unsupported native conversion from {from} to '*structpb.Value'"
            )));
        }
    })
}
