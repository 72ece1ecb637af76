//! From the JSON form of an object to its message, byte for byte as upstream's generated encoder writes it: fields by
//! number, map entries by key, values that are not behind a pointer even when zero.

use kubewright_apimachinery::go::value::json_kind;
use serde_json::{Map, Value};

use super::{MAX_DEPTH, Message, error::ProtobufError, message::Slot, special, writer::Writer};
use crate::{
    decode::base64,
    model::{Form, Scalar, Struct},
    type_ref::TypeRef,
};

/// Encodes `value`, which has the form that [`decode`](crate::decode) gives, as a message of type `ty`.
pub fn encode(ty: TypeRef<'_>, value: &Value) -> Result<Vec<u8>, ProtobufError> {
    let mut out = Writer::default();
    message(ty, value, &mut out, 0)?;
    Ok(out.finish())
}

/// Writes the content of a struct's message. Everything is written from the end to the beginning.
pub(super) fn message(ty: TypeRef<'_>, value: &Value, out: &mut Writer, depth: usize) -> Result<(), ProtobufError> {
    let not_a_message = || ProtobufError::NotAMessage(ty.go_type());
    let structure = ty.structure().ok_or_else(not_a_message)?;
    let layout = Message::of(structure).ok_or_else(not_a_message)?;
    if depth > MAX_DEPTH {
        return Err(ProtobufError::TooDeep);
    }
    match value {
        Value::Object(map) => fields(ty, structure, layout, map, out, depth),
        Value::Null => fields(ty, structure, layout, &Map::new(), out, depth),
        other => Err(unfit(ty, other)),
    }
}

fn fields(
    ty: TypeRef<'_>,
    structure: &Struct,
    layout: &Message,
    map: &Map<String, Value>,
    out: &mut Writer,
    depth: usize,
) -> Result<(), ProtobufError> {
    for (number, slot) in layout.slots().rev() {
        match slot {
            Slot::Embedded { message, .. } => {
                let end = out.end();
                fields(ty, structure, message, map, out, depth)?;
                out.delimit(number, end);
            }
            Slot::Field(at) => {
                let field = &structure.fields[usize::from(*at)];
                self::field(ty.of_field(field), number, map.get(&*field.name), out, depth)?;
            }
        }
    }
    Ok(())
}

fn field(
    ty: TypeRef<'_>,
    number: u16,
    value: Option<&Value>,
    out: &mut Writer,
    depth: usize,
) -> Result<(), ProtobufError> {
    let value = value.unwrap_or(&Value::Null);
    let can_be_nil = ty.is_pointer()
        || matches!(
            ty.form(),
            Form::List(_) | Form::Map { .. } | Form::Scalar(Scalar::Bytes)
        );
    if value.is_null() && can_be_nil {
        return Ok(());
    }
    match (ty.form(), value, ty.element()) {
        (Form::List(_), Value::Array(items), Some(element)) if !ty.is_wrapped() => items
            .iter()
            .rev()
            .try_for_each(|item| one(element, number, item, out, depth)),
        (Form::Map { .. }, Value::Object(map), Some(element)) => map.iter().rev().try_for_each(|(key, value)| {
            let end = out.end();
            // An entry leaves out bytes that are nil.
            if element.scalar() != Some(Scalar::Bytes) || !value.is_null() {
                one(element, 2, value, out, depth)?;
            }
            out.bytes(1, key.as_bytes());
            out.delimit(number, end);
            Ok(())
        }),
        _ => one(ty, number, value, out, depth),
    }
}

/// Writes one value; null is the zero value.
fn one(ty: TypeRef<'_>, number: u16, value: &Value, out: &mut Writer, depth: usize) -> Result<(), ProtobufError> {
    let end = out.end();
    match (ty.form(), value) {
        (Form::Struct(_), _) => {
            message(ty, value, out, depth + 1)?;
            out.delimit(number, end);
        }
        (Form::List(_), Value::Array(items)) => {
            let element = ty.element().ok_or_else(|| unfit(ty, value))?;
            for item in items.iter().rev() {
                one(element, 1, item, out, depth)?;
            }
            out.delimit(number, end);
        }
        (Form::List(_), Value::Null) => out.delimit(number, end),
        (Form::Scalar(scalar), _) => match (scalar, value) {
            (Scalar::Bool | Scalar::Int(_), Value::Null) => out.integer(number, 0),
            (Scalar::Bool, Value::Bool(value)) => out.integer(number, (*value).into()),
            (Scalar::Int(_), Value::Number(integer)) => {
                out.integer(number, integer.as_i64().ok_or_else(|| unfit(ty, value))?);
            }
            (Scalar::Float, Value::Null) => out.double(number, 0.0),
            (Scalar::Float, Value::Number(double)) => {
                out.double(number, double.as_f64().ok_or_else(|| unfit(ty, value))?);
            }
            (Scalar::String | Scalar::Bytes, Value::Null) => out.bytes(number, b""),
            (Scalar::String, Value::String(text)) => out.bytes(number, text.as_bytes()),
            (Scalar::Bytes, Value::String(text)) => {
                out.bytes(number, &base64::decode(text).map_err(|_| unfit(ty, value))?);
            }
            (Scalar::Bool | Scalar::Int(_) | Scalar::Float | Scalar::String | Scalar::Bytes, _) => {
                return Err(unfit(ty, value));
            }
            (scalar, _) => {
                special::encode(*scalar, ty, value, out, depth)?;
                out.delimit(number, end);
            }
        },
        (Form::List(_) | Form::Map { .. } | Form::Named(_), _) => return Err(unfit(ty, value)),
    }
    Ok(())
}

pub(super) fn unfit(ty: TypeRef<'_>, value: &Value) -> ProtobufError {
    ProtobufError::Unfit {
        found: json_kind(value),
        expected: ty.go_type(),
    }
}
