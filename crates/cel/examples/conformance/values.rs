//! Values and types as the conformance files write them.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_cel::{List, Map, Timestamp, Type, Value};

use crate::textproto::{Field, Message};

/// A value of the files.
pub(crate) fn value(message: &Message) -> Option<Value<'static>> {
    let Some((kind, field)) = message.first() else {
        return Some(Value::Null);
    };
    let text = match field {
        Field::Scalar(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Field::Message(_) => String::new(),
    };
    Some(match (kind, field) {
        ("null_value", _) => Value::Null,
        ("bool_value", _) => Value::Bool(text == "true"),
        ("int64_value", _) => Value::Int(text.parse().ok()?),
        ("uint64_value", _) => Value::Uint(text.parse().ok()?),
        ("double_value", _) => Value::Double(double(&text)?),
        ("string_value", _) => Value::text(text),
        ("bytes_value", Field::Scalar(bytes)) => Value::Bytes(bytes.as_slice().into()),
        ("type_value", _) => Value::Type(Arc::new(named_type(&text)?)),
        ("list_value", Field::Message(list)) => Value::list(list.all("values").map(value).collect::<Option<Vec<_>>>()?),
        ("map_value", Field::Message(map)) => {
            let mut entries = BTreeMap::new();
            for entry in map.all("entries") {
                let key = value(entry.one("key")?)?;
                entries.insert(key.key()?, (key, value(entry.one("value")?)?));
            }
            Value::Map(Map::Shared(Arc::new(entries)))
        }
        ("object_value", Field::Message(object)) => known_object(object)?,
        _ => return None,
    })
}

fn known_object(object: &Message) -> Option<Value<'static>> {
    let (name, Field::Message(body)) = object.first()? else {
        return None;
    };
    let number = |field: &str| body.text(field).parse::<i64>().unwrap_or(0);
    let (seconds, nanos) = (number("seconds"), number("nanos"));
    if name.contains("Timestamp") {
        Timestamp::new(seconds, u32::try_from(nanos).ok()?).map(Value::Timestamp)
    } else if name.contains("Duration") {
        Some(Value::Duration(seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?))
    } else {
        None
    }
}

fn double(text: &str) -> Option<f64> {
    match text.to_lowercase().as_str() {
        "inf" | "infinity" => Some(f64::INFINITY),
        "-inf" | "-infinity" => Some(f64::NEG_INFINITY),
        "nan" => Some(f64::NAN),
        other => other.parse().ok(),
    }
}

fn named_type(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "null_type" => Type::Null,
        "type" => Type::Type(None),
        "google.protobuf.Timestamp" => Type::Timestamp,
        "google.protobuf.Duration" => Type::Duration,
        "optional_type" => Type::optional(Type::Dyn),
        _ => return None,
    })
}

/// A type of the files.
pub(crate) fn type_of(message: &Message) -> Option<Type> {
    let (kind, field) = message.first()?;
    let nested = match field {
        Field::Message(message) => Some(message),
        Field::Scalar(_) => None,
    };
    Some(match kind {
        "dyn" => Type::Dyn,
        "null" => Type::Null,
        "primitive" => match message.text("primitive").as_str() {
            "BOOL" => Type::Bool,
            "INT64" => Type::Int,
            "UINT64" => Type::Uint,
            "DOUBLE" => Type::Double,
            "STRING" => Type::String,
            "BYTES" => Type::Bytes,
            _ => return None,
        },
        "well_known" => match message.text("well_known").as_str() {
            "TIMESTAMP" => Type::Timestamp,
            "DURATION" => Type::Duration,
            _ => Type::Dyn,
        },
        "list_type" => Type::list(nested?.one("elem_type").and_then(type_of).unwrap_or(Type::Dyn)),
        "map_type" => Type::map(
            nested?.one("key_type").and_then(type_of).unwrap_or(Type::Dyn),
            nested?.one("value_type").and_then(type_of).unwrap_or(Type::Dyn),
        ),
        "type" => Type::Type(nested.and_then(type_of).map(Arc::new)),
        "abstract_type" => {
            let inner = nested?.one("parameter_types").and_then(type_of).unwrap_or(Type::Dyn);
            Type::optional(inner)
        }
        _ => return None,
    })
}

/// Whether two values are the same, kinds of numbers told apart.
pub(crate) fn same(left: &Value<'_>, right: &Value<'_>) -> bool {
    let lists = |left: &List<'_>, right: &List<'_>| {
        left.len() == right.len()
            && left
                .iter()
                .zip(right.iter())
                .all(|pair| matches!(&pair, (Ok(left), Ok(right)) if same(left, right)))
    };
    match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Int(left), Value::Int(right)) | (Value::Duration(left), Value::Duration(right)) => left == right,
        (Value::Uint(left), Value::Uint(right)) => left == right,
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(right).is_none_or(std::cmp::Ordering::is_eq),
        (Value::String(left), Value::String(right)) => left.as_str() == right.as_str(),
        (Value::Bytes(left), Value::Bytes(right)) => left == right,
        (Value::Timestamp(left), Value::Timestamp(right)) => left == right,
        (Value::Type(left), Value::Type(right)) => {
            left == right || std::mem::discriminant(&**left) == std::mem::discriminant(&**right)
        }
        (Value::List(left), Value::List(right)) => lists(left, right),
        (Value::Map(left), Value::Map(right)) => {
            left.len() == right.len()
                && left.keys().iter().all(|key| match (left.get(key), right.get(key)) {
                    (Ok(Some(left)), Ok(Some(right))) => same(&left, &right),
                    _ => false,
                })
        }
        _ => false,
    }
}
