//! From a message to the JSON form of the object: what upstream's generated decoder followed by its JSON encoder gives.

use std::fmt::{self, Display};

use serde_json::{Map, Value};

use super::{
    MAX_DEPTH, Message,
    error::ProtobufError,
    message::Slot,
    reader::{Reader, Tag},
    special,
};
use crate::{
    decode::{base64, zero},
    model::{Field, Form, Scalar, Struct},
    type_ref::TypeRef,
};

/// Decodes a message of type `ty`. Unknown fields are passed over, zero values appear or vanish as the fields' tags say.
///
/// Kind and apiVersion are not part of an object's message: its [`Envelope`](super::Envelope) has them.
pub fn decode(ty: TypeRef<'_>, bytes: &[u8]) -> Result<Value, ProtobufError> {
    let mut value = Value::Null;
    message(ty, bytes, &mut value, 0)?;
    Ok(value)
}

/// Decodes a struct into what an earlier occurrence of it left in `into`.
pub(super) fn message(ty: TypeRef<'_>, bytes: &[u8], into: &mut Value, depth: usize) -> Result<(), ProtobufError> {
    let not_a_message = || ProtobufError::NotAMessage(ty.go_type());
    let structure = ty.structure().ok_or_else(not_a_message)?;
    let layout = Message::of(structure).ok_or_else(not_a_message)?;
    let mut map = match into.take() {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    let name = ty.short_name().unwrap_or_default();
    fields(ty, structure, layout, name, bytes, &mut map, depth)?;
    settle(ty, structure, &mut map);
    *into = Value::Object(map);
    Ok(())
}

fn fields(
    ty: TypeRef<'_>,
    structure: &Struct,
    layout: &Message,
    name: &str,
    bytes: &[u8],
    into: &mut Map<String, Value>,
    depth: usize,
) -> Result<(), ProtobufError> {
    if depth > MAX_DEPTH {
        return Err(ProtobufError::TooDeep);
    }
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag(name)? {
        match layout.slot(tag.number) {
            None => reader.skip(tag)?,
            Some(Slot::Embedded { name, message }) => {
                let inner = reader.delimited(tag, name)?;
                fields(ty, structure, message, name, inner, into, depth + 1)?;
            }
            Some(Slot::Field(at)) => {
                let of = &structure.fields[usize::from(*at)];
                let slot = into.entry(&*of.name).or_insert(Value::Null);
                let of_type = ty.of_field(of);
                let name = GoName { ty: of_type, field: of };
                field(of_type, &name, tag, &mut reader, slot, depth)?;
            }
        }
    }
    Ok(())
}

/// Leaves out and adds what an encoder leaves out and adds.
fn settle(ty: TypeRef<'_>, structure: &Struct, map: &mut Map<String, Value>) {
    map.retain(|key, value| {
        structure
            .field(key)
            .is_some_and(|field| !zero::is_left_out(ty.of_field(field), field.omit, value))
    });
    for at in &structure.always {
        let field = &structure.fields[usize::from(*at)];
        if !map.contains_key(&*field.name) {
            map.insert(field.name.to_string(), zero::of(ty.of_field(field)));
        }
    }
}

/// The name that an error has for a field.
struct GoName<'t> {
    ty: TypeRef<'t>,
    field: &'t Field,
}

impl fmt::Display for GoName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &*self.field.name;
        match &self.field.go_name {
            Some(go_name) => f.write_str(go_name),
            // An embedded struct is called as its type is.
            None if name == "metadata" => f.write_str(self.ty.short_name().unwrap_or(name)),
            None => {
                let (first, rest) = name.split_at_checked(1).unwrap_or((name, ""));
                write!(f, "{}{rest}", first.to_ascii_uppercase())
            }
        }
    }
}

/// Decodes one occurrence of a field: lists and maps grow by it, a struct takes it in, everything else is replaced.
fn field(
    ty: TypeRef<'_>,
    name: &dyn Display,
    tag: Tag,
    reader: &mut Reader<'_>,
    into: &mut Value,
    depth: usize,
) -> Result<(), ProtobufError> {
    match (ty.form(), ty.element()) {
        (Form::List(_), Some(element)) if !ty.is_wrapped() => {
            let mut items = items_of(into);
            match element.scalar() {
                Some(scalar @ (Scalar::Bool | Scalar::Int(_))) if tag.is_packed() => {
                    let mut packed = Reader::new(reader.delimited(tag, name)?);
                    while !packed.is_empty() {
                        items.push(special::number(scalar, packed.varint()?));
                    }
                }
                _ => {
                    let mut item = Value::Null;
                    value(element, name, tag, reader, &mut item, depth)?;
                    items.push(item);
                }
            }
            *into = Value::Array(items);
            Ok(())
        }
        (Form::Map { .. }, Some(element)) => {
            let bytes = reader.delimited(tag, name)?;
            let (key, item) = entry(element, bytes, depth)?;
            if !into.is_object() {
                *into = Value::Object(Map::new());
            }
            if let Value::Object(map) = into {
                map.insert(key, item);
            }
            Ok(())
        }
        _ => value(ty, name, tag, reader, into, depth),
    }
}

/// An entry of a map is a message of key and value; either may be missing, and upstream does not check their wire types.
fn entry(ty: TypeRef<'_>, bytes: &[u8], depth: usize) -> Result<(String, Value), ProtobufError> {
    let mut key = String::new();
    let mut item = None;
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag("entry")? {
        match tag.number {
            1 => key = special::text(reader.any_delimited()?),
            2 => {
                let mut value = Value::Null;
                self::value(ty, &"value", tag, &mut reader, &mut value, depth)?;
                item = Some(value);
            }
            _ => reader.skip(tag)?,
        }
    }
    let item = match item {
        Some(item) => item,
        // A value that is missing is empty, not nil.
        None => match ty.form() {
            Form::Scalar(Scalar::Bytes) => Value::String(String::new()),
            Form::List(_) => Value::Array(Vec::new()),
            _ => zero::of(ty),
        },
    };
    Ok((key, item))
}

/// Decodes a value that is one field.
fn value(
    ty: TypeRef<'_>,
    name: &dyn Display,
    tag: Tag,
    reader: &mut Reader<'_>,
    into: &mut Value,
    depth: usize,
) -> Result<(), ProtobufError> {
    match ty.form() {
        Form::Struct(_) => return message(ty, reader.delimited(tag, name)?, into, depth + 1),
        Form::List(_) => {
            let Some(element) = ty.element() else { return Ok(()) };
            let mut items = items_of(into);
            wrapped(ty, element, reader.delimited(tag, name)?, &mut items, depth)?;
            *into = Value::Array(items);
            return Ok(());
        }
        Form::Map { .. } | Form::Named(_) => return Err(ProtobufError::NotAMessage(ty.go_type())),
        Form::Scalar(_) => {}
    }
    let Some(scalar) = ty.scalar() else { return Ok(()) };
    *into = match scalar {
        Scalar::Bool | Scalar::Int(_) => special::number(scalar, reader.integer(tag, name)?),
        Scalar::Float => special::float(reader.double(tag, name)?)?,
        Scalar::String => Value::String(special::text(reader.delimited(tag, name)?)),
        Scalar::Bytes => Value::String(base64::encode(reader.delimited(tag, name)?)),
        _ => special::decode(scalar, ty, reader.delimited(tag, name)?, depth + 1)?,
    };
    Ok(())
}

/// A list with a name of its own is a message with the items in field 1.
fn wrapped(
    ty: TypeRef<'_>,
    element: TypeRef<'_>,
    bytes: &[u8],
    items: &mut Vec<Value>,
    depth: usize,
) -> Result<(), ProtobufError> {
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag(ty.short_name().unwrap_or_default())? {
        if tag.number != 1 {
            reader.skip(tag)?;
            continue;
        }
        let mut item = Value::Null;
        value(element, &"Items", tag, &mut reader, &mut item, depth)?;
        items.push(item);
    }
    Ok(())
}

/// Takes out the items that earlier occurrences left.
fn items_of(slot: &mut Value) -> Vec<Value> {
    match slot.take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}
