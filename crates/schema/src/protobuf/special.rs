//! The values that encode themselves: their messages, and what JSON shows of them.

use kubewright_apimachinery::go::float;
use kubewright_quantity::Quantity;
use serde_json::{Map, Value};

use super::{
    decode::message,
    encode::{self, unfit},
    error::ProtobufError,
    reader::Reader,
    writer::Writer,
};
use crate::{
    decode::{time, time::Layout, whole},
    model::Scalar,
    type_ref::TypeRef,
};

const SCHEMA: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

/// A varint as a boolean or an integer of its type, whose upper bits are cut off.
pub(super) fn number(scalar: Scalar, value: u64) -> Value {
    match scalar {
        Scalar::Bool => Value::Bool(value != 0),
        Scalar::Int(32) => Value::from(value as i32),
        _ => Value::from(value as i64),
    }
}

pub(super) fn float(value: f64) -> Result<Value, ProtobufError> {
    let number = serde_json::Number::from_f64(value)
        .ok_or_else(|| ProtobufError::Value(format!("json: unsupported value: {}", float::general(value))))?;
    Ok(Value::Number(whole(&number).unwrap_or(number)))
}

/// A string; each byte that is no UTF-8 becomes a replacement character, as Go's JSON has it.
pub(super) fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

/// Decodes the message of a value that encodes itself.
pub(super) fn decode(scalar: Scalar, ty: TypeRef<'_>, bytes: &[u8], depth: usize) -> Result<Value, ProtobufError> {
    match scalar {
        Scalar::Quantity => quantity(bytes),
        Scalar::Time => timestamp(Layout::Seconds, bytes),
        Scalar::MicroTime => timestamp(Layout::Micros, bytes),
        Scalar::IntOrString => int_or_string(bytes),
        Scalar::Raw => raw(bytes, "RawExtension"),
        Scalar::Any => raw(bytes, "JSON"),
        Scalar::Fields => raw(bytes, "FieldsV1"),
        Scalar::SchemaOrBool | Scalar::SchemaOrArray | Scalar::SchemaOrStrings => schema_or(scalar, ty, bytes, depth),
        Scalar::Bool | Scalar::Int(_) | Scalar::Float | Scalar::String | Scalar::Bytes => {
            Err(ProtobufError::NotAMessage(ty.go_type()))
        }
    }
}

fn quantity(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let mut canonical = "0".to_owned();
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag("Quantity")? {
        if tag.number != 1 {
            reader.skip(tag)?;
            continue;
        }
        let spelled = text(reader.delimited(tag, &"String_")?);
        let quantity = Quantity::parse(&spelled).map_err(|error| ProtobufError::Value(error.to_string()))?;
        canonical = quantity.to_string();
    }
    Ok(Value::String(canonical))
}

fn timestamp(layout: Layout, bytes: &[u8]) -> Result<Value, ProtobufError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0i64, 0i32);
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag("Timestamp")? {
        match tag.number {
            1 => seconds = reader.integer(tag, &"Seconds")? as i64,
            2 => nanos = reader.integer(tag, &"Nanos")? as i32,
            _ => reader.skip(tag)?,
        }
    }
    // JSON has no more than seconds, or microseconds, and neither has what is kept.
    let nanos = match layout {
        Layout::Seconds => 0,
        Layout::Micros => i64::from(nanos / 1000 * 1000),
    };
    let seconds = seconds.saturating_add(nanos.div_euclid(1_000_000_000));
    let nanos = nanos.rem_euclid(1_000_000_000) as u32;
    Ok(time::write(layout, seconds, nanos).map_or(Value::Null, Value::String))
}

fn int_or_string(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let (mut kind, mut integer, mut string) = (0, 0, String::new());
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag("IntOrString")? {
        match tag.number {
            1 => kind = reader.integer(tag, &"Type")?,
            2 => integer = reader.integer(tag, &"IntVal")? as i32,
            3 => string = text(reader.delimited(tag, &"StrVal")?),
            _ => reader.skip(tag)?,
        }
    }
    match kind {
        0 => Ok(integer.into()),
        1 => Ok(string.into()),
        _ => Err(ProtobufError::Value("impossible IntOrString.Type".to_owned())),
    }
}

/// JSON text in field 1.
fn raw(bytes: &[u8], message: &str) -> Result<Value, ProtobufError> {
    let mut json: &[u8] = &[];
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag(message)? {
        if tag.number == 1 {
            json = reader.delimited(tag, &"Raw")?;
        } else {
            reader.skip(tag)?;
        }
    }
    if json.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(json).map_err(|error| ProtobufError::Value(error.to_string()))
}

fn schema_or(scalar: Scalar, ty: TypeRef<'_>, bytes: &[u8], depth: usize) -> Result<Value, ProtobufError> {
    let name = ty.short_name().unwrap_or_default();
    let schema_type = schema_type(ty)?;
    let schema_number = if scalar == Scalar::SchemaOrBool { 2 } else { 1 };
    let (mut allows, mut schema, mut items) = (false, None::<Value>, Vec::new());
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag(name)? {
        match (scalar, tag.number) {
            (_, number) if number == schema_number => {
                let bytes = reader.delimited(tag, &"Schema")?;
                message(schema_type, bytes, schema.get_or_insert_default(), depth + 1)?;
            }
            (Scalar::SchemaOrBool, 1) => allows = reader.integer(tag, &"Allows")? != 0,
            (Scalar::SchemaOrArray, 2) => {
                let mut item = Value::Null;
                message(
                    schema_type,
                    reader.delimited(tag, &"JSONSchemas")?,
                    &mut item,
                    depth + 1,
                )?;
                items.push(item);
            }
            (Scalar::SchemaOrStrings, 2) => items.push(Value::String(text(reader.delimited(tag, &"Property")?))),
            _ => reader.skip(tag)?,
        }
    }
    Ok(match (scalar, schema) {
        (Scalar::SchemaOrBool, Some(schema)) => schema,
        (Scalar::SchemaOrBool, None) => Value::Bool(allows),
        _ if !items.is_empty() => Value::Array(items),
        (_, schema) => schema.unwrap_or_default(),
    })
}

fn schema_type(ty: TypeRef<'_>) -> Result<TypeRef<'_>, ProtobufError> {
    ty.types()
        .named(SCHEMA)
        .ok_or_else(|| ProtobufError::NotAMessage(ty.go_type()))
}

/// Writes the message of a value that encodes itself; null is its zero value.
pub(super) fn encode(
    scalar: Scalar,
    ty: TypeRef<'_>,
    value: &Value,
    out: &mut Writer,
    depth: usize,
) -> Result<(), ProtobufError> {
    match (scalar, value) {
        (Scalar::Quantity, Value::Null) => out.bytes(1, b"0"),
        (Scalar::SchemaOrBool, Value::Null) => out.integer(1, 0),
        (Scalar::IntOrString, _) => write_int_or_string(ty, value, out)?,
        // The others are empty messages then.
        (_, Value::Null) => {}
        (Scalar::Quantity, Value::String(text)) => out.bytes(1, text.as_bytes()),
        (Scalar::Time, Value::String(text)) => write_time(Layout::Seconds, text, out)?,
        (Scalar::MicroTime, Value::String(text)) => write_time(Layout::Micros, text, out)?,
        (Scalar::Raw | Scalar::Any | Scalar::Fields, json) => out.bytes(1, json.to_string().as_bytes()),
        (Scalar::SchemaOrBool, Value::Bool(allows)) => out.integer(1, (*allows).into()),
        (Scalar::SchemaOrBool, Value::Object(_)) => {
            write_schema(2, ty, value, out, depth)?;
            out.integer(1, 1);
        }
        (Scalar::SchemaOrArray | Scalar::SchemaOrStrings, Value::Object(_)) => write_schema(1, ty, value, out, depth)?,
        (Scalar::SchemaOrArray, Value::Array(schemas)) => {
            for schema in schemas.iter().rev() {
                write_schema(2, ty, schema, out, depth)?;
            }
        }
        (Scalar::SchemaOrStrings, Value::Array(properties)) => {
            for property in properties.iter().rev() {
                out.bytes(2, property.as_str().ok_or_else(|| unfit(ty, property))?.as_bytes());
            }
        }
        _ => return Err(unfit(ty, value)),
    }
    Ok(())
}

fn write_time(layout: Layout, text: &str, out: &mut Writer) -> Result<(), ProtobufError> {
    let (seconds, nanos) = time::parse(layout, text).map_err(ProtobufError::Value)?;
    let nanos = match layout {
        Layout::Seconds => 0,
        Layout::Micros => nanos,
    };
    out.integer(2, nanos.into());
    out.integer(1, seconds);
    Ok(())
}

fn write_int_or_string(ty: TypeRef<'_>, value: &Value, out: &mut Writer) -> Result<(), ProtobufError> {
    let (kind, integer, string) = match value {
        Value::Null => (0, 0, ""),
        Value::String(string) => (1, 0, string.as_str()),
        other => (0, other.as_i64().ok_or_else(|| unfit(ty, other))?, ""),
    };
    out.bytes(3, string.as_bytes());
    out.integer(2, integer);
    out.integer(1, kind);
    Ok(())
}

fn write_schema(
    number: u16,
    ty: TypeRef<'_>,
    value: &Value,
    out: &mut Writer,
    depth: usize,
) -> Result<(), ProtobufError> {
    let end = out.end();
    match value {
        Value::Null => encode::message(schema_type(ty)?, &Value::Object(Map::new()), out, depth + 1)?,
        value => encode::message(schema_type(ty)?, value, out, depth + 1)?,
    }
    out.delimit(number, end);
    Ok(())
}
