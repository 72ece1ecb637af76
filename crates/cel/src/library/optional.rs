//! Values that may be absent.

use crate::error::EvalError;
use crate::library::{Implementation, wrong};
use crate::value::{Outcome, Value};

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "optional.of" => |args| match args {
            [value] => Ok(Value::some(value.clone())),
            _ => wrong(),
        },
        "optional.none" => |_| Ok(Value::Optional(None)),
        "optional.ofNonZeroValue" => |args| match args {
            [value] if is_zero(value) => Ok(Value::Optional(None)),
            [value] => Ok(Value::some(value.clone())),
            _ => wrong(),
        },
        "hasValue" => |args| match args {
            [Value::Optional(value)] => Ok(Value::Bool(value.is_some())),
            _ => wrong(),
        },
        "value" => |args| match args {
            [Value::Optional(Some(value))] => Ok((**value).clone()),
            [Value::Optional(None)] => Err(EvalError::fixed("optional.none() dereference")),
            _ => wrong(),
        },
        "optional.unwrap" | "unwrapOpt" => unwrap,
        _ => return None,
    })
}

fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Int(value) => *value == 0,
        Value::Uint(value) => *value == 0,
        Value::Double(value) => *value == 0.0,
        Value::String(text) => text.as_str().is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::Duration(nanos) => *nanos == 0,
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.is_empty(),
        Value::Optional(value) => value.is_none(),
        Value::Object(object) => object.fields.is_empty(),
        Value::Timestamp(_) | Value::Type(_) | Value::Opaque(_) | Value::Preserved(_) | Value::Lazy => false,
    }
}

fn unwrap<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::List(list)] = args else { return wrong() };
    let mut out = Vec::new();
    for item in list.iter() {
        match item? {
            Value::Optional(Some(value)) => out.push((*value).clone()),
            Value::Optional(None) => {}
            other => {
                return Err(EvalError::new(format!(
                    "value {} is not optional",
                    crate::library::display(&other)
                )));
            }
        }
    }
    Ok(Value::list(out))
}
