//! Conversions between types, `size` and `type`.

use std::sync::Arc;

use kubewright_apimachinery::go::float;

use crate::error::EvalError;
use crate::library::{Opaque, net, time, wrong};
use crate::value::{Outcome, Value};

pub(super) fn size<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [value @ (Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_))] => {
            Ok(Value::Int(value.size() as i64))
        }
        _ => wrong(),
    }
}

pub(super) fn type_of<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [value] => Ok(Value::Type(Arc::new(value.type_of()))),
        _ => wrong(),
    }
}

pub(super) fn dynamic<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    args.first().cloned().ok_or_else(EvalError::no_such_overload)
}

fn failed<'a>(value: &Value<'_>, to: &str) -> Outcome<'a> {
    let from = value.type_of();
    Err(EvalError::new(format!("type conversion error from '{from}' to '{to}'")))
}

pub(super) fn bool<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Bool(value)] => Ok(Value::Bool(*value)),
        [value @ Value::String(text)] => match text.as_str() {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Value::Bool(false)),
            _ => failed(value, "bool"),
        },
        _ => wrong(),
    }
}

pub(super) fn int<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    const OVERFLOW: EvalError = EvalError::fixed("integer overflow");
    match args {
        [Value::Int(value)] => Ok(Value::Int(*value)),
        [Value::Uint(value)] => i64::try_from(*value).map(Value::Int).map_err(|_| OVERFLOW),
        // The ends are not exact as doubles; upstream refuses both.
        [Value::Double(value)] if *value > i64::MIN as f64 && *value < i64::MAX as f64 => Ok(Value::Int(*value as i64)),
        [Value::Double(_)] => Err(OVERFLOW),
        [value @ Value::String(text)] => text
            .as_str()
            .parse()
            .map_or_else(|_| failed(value, "int"), |n| Ok(Value::Int(n))),
        [Value::Duration(nanos)] => Ok(Value::Int(*nanos)),
        [Value::Timestamp(at)] => Ok(Value::Int(at.seconds)),
        _ => wrong(),
    }
}

pub(super) fn uint<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    const OVERFLOW: EvalError = EvalError::fixed("unsigned integer overflow");
    match args {
        [Value::Uint(value)] => Ok(Value::Uint(*value)),
        [Value::Int(value)] => u64::try_from(*value).map(Value::Uint).map_err(|_| OVERFLOW),
        [Value::Double(value)] if *value >= 0.0 && *value < u64::MAX as f64 => Ok(Value::Uint(*value as u64)),
        [Value::Double(_)] => Err(OVERFLOW),
        [value @ Value::String(text)] => text
            .as_str()
            .parse()
            .map_or_else(|_| failed(value, "uint"), |n| Ok(Value::Uint(n))),
        _ => wrong(),
    }
}

pub(super) fn double<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Double(value)] => Ok(Value::Double(*value)),
        [Value::Int(value)] => Ok(Value::Double(*value as f64)),
        [Value::Uint(value)] => Ok(Value::Double(*value as f64)),
        [value @ Value::String(text)] => match text.as_str().parse::<f64>() {
            Ok(number) => Ok(Value::Double(number)),
            Err(_) => failed(value, "double"),
        },
        _ => wrong(),
    }
}

pub(super) fn string<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::String(text)] => Ok(Value::String(text.clone())),
        [Value::Bytes(bytes)] => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::text(text)),
            Err(_) => Err(EvalError::fixed("invalid UTF-8 in bytes, cannot convert to string")),
        },
        [value @ (Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_))] => {
            Ok(Value::text(display(value)))
        }
        [value @ (Value::Duration(_) | Value::Timestamp(_))] => Ok(Value::text(display(value))),
        [Value::Opaque(opaque)] if matches!(&**opaque, Opaque::Ip(_) | Opaque::Cidr(..)) => {
            Ok(Value::text(net::text(opaque)))
        }
        _ => wrong(),
    }
}

pub(super) fn bytes<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Bytes(bytes)] => Ok(Value::Bytes(bytes.clone())),
        [Value::String(text)] => Ok(Value::Bytes(text.as_str().as_bytes().into())),
        _ => wrong(),
    }
}

pub(super) fn duration<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Duration(nanos) | Value::Int(nanos)] => Ok(Value::Duration(*nanos)),
        [value @ Value::String(text)] => match kubewright_apimachinery::duration::parse(text.as_str()).ok() {
            Some(nanos) => Ok(Value::Duration(nanos)),
            None => failed(value, "google.protobuf.Duration"),
        },
        _ => wrong(),
    }
}

pub(super) fn timestamp<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Timestamp(at)] => Ok(Value::Timestamp(*at)),
        [Value::Int(seconds)] => time::Timestamp::new(*seconds, 0)
            .map(Value::Timestamp)
            .ok_or(time::OVERFLOW),
        [value @ Value::String(text)] => match time::parse_timestamp(text.as_str()) {
            Some(at) => Ok(Value::Timestamp(at)),
            None => failed(value, "google.protobuf.Timestamp"),
        },
        _ => wrong(),
    }
}

/// A value as messages show it and `string()` converts it.
pub(crate) fn display(value: &Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Double(value) => float::general(*value),
        Value::String(text) => text.as_str().to_owned(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Duration(nanos) => time::duration_text(*nanos),
        Value::Timestamp(at) => at.to_string(),
        Value::List(list) => {
            let items: Vec<String> = list.iter().filter_map(Result::ok).map(|item| display(&item)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let entry = |key: &Value<'_>| {
                let value = map.get(key).ok().flatten();
                format!("{}: {}", display(key), value.as_ref().map(display).unwrap_or_default())
            };
            let entries: Vec<String> = map.keys().iter().map(entry).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Type(ty) => ty.to_string(),
        Value::Optional(None) => "optional.none()".to_owned(),
        Value::Optional(Some(value)) => format!("optional({})", display(value)),
        Value::Opaque(opaque) => match &**opaque {
            Opaque::Ip(_) | Opaque::Cidr(..) => net::text(opaque),
            Opaque::Quantity(quantity) => quantity.to_string(),
            other => format!("{other:?}"),
        },
        Value::Preserved(json) => json.to_string(),
        Value::Lazy => crate::lazy::TYPE_NAME.to_owned(),
        Value::Object(object) => {
            let fields = object.fields.iter();
            let fields: Vec<String> = fields
                .map(|(name, value)| format!("{name}: {}", display(value)))
                .collect();
            format!("{}{{{}}}", object.type_name, fields.join(", "))
        }
    }
}
