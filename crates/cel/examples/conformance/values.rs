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

/// One of the messages that are values of the language.
fn known_object(object: &Message) -> Option<Value<'static>> {
    let (name, Field::Message(body)) = object.first()? else {
        return None;
    };
    let name = name.trim_matches(['[', ']']).rsplit('.').next().unwrap_or_default();
    let number = |field: &str| body.text(field).parse::<i64>().unwrap_or(0);
    let (seconds, nanos) = (number("seconds"), number("nanos"));
    let text = body.text("value");
    Some(match name {
        "Timestamp" => Value::Timestamp(Timestamp::new(seconds, u32::try_from(nanos).ok()?)?),
        "Duration" => Value::Duration(seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?),
        "BoolValue" => Value::Bool(text == "true"),
        "BytesValue" => Value::Bytes(body.bytes("value").into()),
        "DoubleValue" | "FloatValue" if text.is_empty() => Value::Double(0.0),
        "DoubleValue" => Value::Double(double(&text)?),
        "FloatValue" => Value::Double(f64::from(text.parse::<f32>().ok()?)),
        "Int32Value" | "Int64Value" => Value::Int(text.parse().unwrap_or(0)),
        "UInt32Value" | "UInt64Value" => Value::Uint(text.parse().unwrap_or(0)),
        "StringValue" => Value::text(text),
        "Any" => known_object(body)?,
        "Struct" | "ListValue" | "Value" => json(name, body)?,
        _ => return None,
    })
}

/// One of the messages that are JSON.
fn json(kind: &str, body: &Message) -> Option<Value<'static>> {
    match kind {
        "Struct" => {
            let mut entries = BTreeMap::new();
            for field in body.all("fields") {
                let key = Value::text(field.text("key"));
                entries.insert(key.key()?, (key, json("Value", field.one("value")?)?));
            }
            Some(Value::Map(Map::Shared(Arc::new(entries))))
        }
        "ListValue" => {
            let items = body.all("values").map(|item| json("Value", item));
            Some(Value::list(items.collect::<Option<Vec<_>>>()?))
        }
        _ => Some(match body.first() {
            None | Some(("null_value", _)) => Value::Null,
            Some(("number_value", _)) => Value::Double(double(&body.text("number_value"))?),
            Some(("string_value", _)) => Value::text(body.text("string_value")),
            Some(("bool_value", _)) => Value::Bool(body.text("bool_value") == "true"),
            Some(("struct_value", Field::Message(body))) => json("Struct", body)?,
            Some(("list_value", Field::Message(body))) => json("ListValue", body)?,
            Some(_) => return None,
        }),
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

fn primitive(name: &str) -> Option<Type> {
    Some(match name {
        "BOOL" => Type::Bool,
        "INT64" => Type::Int,
        "UINT64" => Type::Uint,
        "DOUBLE" => Type::Double,
        "STRING" => Type::String,
        "BYTES" => Type::Bytes,
        _ => return None,
    })
}

fn wrapper(of: Type) -> Type {
    Type::Opaque("wrapper".into(), Arc::new([of]))
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
        "primitive" => primitive(&message.text("primitive"))?,
        "well_known" => match message.text("well_known").as_str() {
            "TIMESTAMP" => Type::Timestamp,
            "DURATION" => Type::Duration,
            _ => Type::Dyn,
        },
        "wrapper" => wrapper(primitive(&message.text("wrapper"))?),
        "message_type" => match message.text("message_type").rsplit('.').next()? {
            "BoolValue" => wrapper(Type::Bool),
            "BytesValue" => wrapper(Type::Bytes),
            "DoubleValue" | "FloatValue" => wrapper(Type::Double),
            "Int32Value" | "Int64Value" => wrapper(Type::Int),
            "UInt32Value" | "UInt64Value" => wrapper(Type::Uint),
            "StringValue" => wrapper(Type::String),
            "Struct" => Type::map(Type::String, Type::Dyn),
            "ListValue" => Type::list(Type::Dyn),
            "Timestamp" => Type::Timestamp,
            "Duration" => Type::Duration,
            _ => Type::Dyn,
        },
        "type_param" => Type::Param(message.text("type_param").into()),
        "list_type" => Type::list(nested?.one("elem_type").and_then(type_of).unwrap_or(Type::Dyn)),
        "map_type" => Type::map(
            nested?.one("key_type").and_then(type_of).unwrap_or(Type::Dyn),
            nested?.one("value_type").and_then(type_of).unwrap_or(Type::Dyn),
        ),
        "type" => Type::Type(nested.and_then(type_of).map(Arc::new)),
        "abstract_type" => {
            let params = nested?
                .all("parameter_types")
                .map(type_of)
                .collect::<Option<Vec<_>>>()?;
            Type::Opaque(nested?.text("name").into(), params.into())
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
