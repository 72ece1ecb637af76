//! `OpenAPI` documents as protobuf, in the messages that Go clients ask for (gnostic's, O3).
//! Values without a message of their own (extensions, examples, enumerations) are YAML there.

mod v2;
mod v3;
mod yaml;

use serde_json::{Map, Value, json};

pub use v2::swagger_protobuf;
pub use v3::document_protobuf;

/// How a member of a JSON object is written into a field of a message.
enum FieldEncoding {
    Text,
    Flag,
    Integer,
    Double,
    /// A repeated string.
    Texts,
    /// Any value, as text.
    Any,
    /// The kind of an operation, as text: in the order of Go's type, and not sorted, if this holds for its group.
    Kind(fn(&str) -> bool),
    /// A repeated value.
    Each(&'static FieldEncoding),
    /// A message for an object.
    One(&'static Message),
    /// A message that holds the value in that field.
    In(u32, &'static FieldEncoding),
    /// A message with that repeated field: an entry per member, with its name and value.
    Entries(u32, &'static FieldEncoding),
    /// A message whose first field is the value, or whose second is a boolean.
    OrFlag(&'static FieldEncoding),
    /// A message whose first field is the value, or whose second is a reference to one.
    OrReference(&'static FieldEncoding),
    /// One of several messages, by the member `in`, inside the messages of these fields.
    ByPlace(&'static [(&'static str, &'static [u32], &'static Message)]),
    /// A number, a boolean or a text; of anything else nothing is left.
    Scalar,
    /// A message with a field for the member `default`, and then a repeated one for all others.
    DefaultAndEntries(&'static FieldEncoding),
}

/// The fields of a message in the order of their numbers, and the field of its extensions; 0 if it has none. An extension that is not just
/// any value stands behind the fields.
struct Message {
    fields: &'static [(u32, &'static str, FieldEncoding)],
    extensions: u32,
}

/// What stands for a value that is elsewhere in the document.
static REFERENCE: Message = Message {
    fields: &[
        (1, "$ref", FieldEncoding::Text),
        (2, "summary", FieldEncoding::Text),
        (3, "description", FieldEncoding::Text),
    ],
    extensions: 0,
};

fn document(message: &Message, document: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    if let Value::Object(document) = document {
        put_message(&mut out, message, document);
    }
    out
}

fn put_message(out: &mut Vec<u8>, message: &Message, object: &Map<String, Value>) {
    let is_extension = |name: &str| message.extensions != 0 && name.starts_with("x-");
    for (number, name, kind) in message.fields.iter().filter(|(_, name, _)| !is_extension(name)) {
        if let Some(value) = object.get(*name) {
            put(out, *number, kind, value);
        }
    }
    for (name, value) in object.iter().filter(|(name, _)| is_extension(name)) {
        let known = message.fields.iter().find(|(_, known, _)| known == name);
        let encoding = known.map_or(&FieldEncoding::Any, |(_, _, encoding)| encoding);
        put_entry(out, message.extensions, name, encoding, value);
    }
}

/// Values that say nothing are left out, as protobuf has it; messages are not.
fn put(out: &mut Vec<u8>, number: u32, kind: &FieldEncoding, value: &Value) {
    match kind {
        FieldEncoding::Text => {
            if let Some(text) = value.as_str().filter(|text| !text.is_empty()) {
                put_bytes(out, number, text.as_bytes());
            }
        }
        FieldEncoding::Flag => {
            if *value == true {
                put_varint(out, u64::from(number) << 3);
                put_varint(out, 1);
            }
        }
        FieldEncoding::Integer => {
            if let Some(integer) = value.as_i64().filter(|integer| *integer != 0) {
                put_varint(out, u64::from(number) << 3);
                put_varint(out, integer as u64);
            }
        }
        FieldEncoding::Double => {
            if let Some(double) = value.as_f64().filter(|double| *double != 0.0) {
                put_varint(out, u64::from(number) << 3 | 1);
                out.extend(double.to_le_bytes());
            }
        }
        FieldEncoding::Texts => {
            for text in value.as_array().into_iter().flatten().filter_map(Value::as_str) {
                put_bytes(out, number, text.as_bytes());
            }
        }
        FieldEncoding::Any => within(out, number, |out| {
            put_bytes(out, 2, yaml::encode(value).as_bytes());
        }),
        FieldEncoding::Kind(is_ordered) => match value["group"].as_str() {
            Some(group) if is_ordered(group) => within(out, number, |out| {
                let lines = ["group", "version", "kind"].map(|name| yaml::encode(&json!({ name: value[name] })));
                put_bytes(out, 2, lines.concat().as_bytes());
            }),
            _ => put(out, number, &FieldEncoding::Any, value),
        },
        FieldEncoding::Each(kind) => {
            for item in value.as_array().into_iter().flatten() {
                put(out, number, kind, item);
            }
        }
        FieldEncoding::One(message) => {
            if let Value::Object(object) = value {
                within(out, number, |out| put_message(out, message, object));
            }
        }
        FieldEncoding::In(field, kind) => within(out, number, |out| put(out, *field, kind, value)),
        FieldEncoding::Entries(field, kind) => within(out, number, |out| {
            for (name, value) in value.as_object().into_iter().flatten() {
                put_entry(out, *field, name, kind, value);
            }
        }),
        FieldEncoding::OrFlag(kind) => within(out, number, |out| match value {
            // A member of a `oneof` is written even when false.
            Value::Bool(flag) => out.extend([2 << 3, u8::from(*flag)]),
            value => put(out, 1, kind, value),
        }),
        FieldEncoding::OrReference(kind) => within(out, number, |out| match value {
            Value::Object(object) if object.contains_key("$ref") => {
                within(out, 2, |out| put_message(out, &REFERENCE, object));
            }
            value => put(out, 1, kind, value),
        }),
        FieldEncoding::ByPlace(places) => within(out, number, |out| {
            let place = places.iter().find(|(place, ..)| value["in"] == *place);
            if let (Some((_, fields, message)), Value::Object(object)) = (place, value) {
                nested(out, fields, |out| put_message(out, message, object));
            }
        }),
        FieldEncoding::Scalar => within(out, number, |out| match value {
            Value::Number(number) => {
                out.push(1 << 3 | 1);
                out.extend(number.as_f64().unwrap_or_default().to_le_bytes());
            }
            Value::Bool(flag) => out.extend([2 << 3, u8::from(*flag)]),
            Value::String(text) => put_bytes(out, 3, text.as_bytes()),
            Value::Null | Value::Array(_) | Value::Object(_) => {}
        }),
        FieldEncoding::DefaultAndEntries(kind) => within(out, number, |out| {
            let members = value.as_object().into_iter().flatten();
            let (default, others): (Vec<_>, Vec<_>) = members.partition(|(name, _)| *name == "default");
            for (_, value) in default {
                put(out, 1, kind, value);
            }
            for (name, value) in others {
                put_entry(out, 2, name, kind, value);
            }
        }),
    }
}

fn put_entry(out: &mut Vec<u8>, number: u32, name: &str, kind: &FieldEncoding, value: &Value) {
    within(out, number, |out| {
        put_bytes(out, 1, name.as_bytes());
        put(out, 2, kind, value);
    });
}

/// Writes a message of its own into a field.
fn within(out: &mut Vec<u8>, number: u32, write: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    write(&mut inner);
    put_bytes(out, number, &inner);
}

/// Writes a message into the last of these fields, each of which is in the message of the one before.
fn nested(out: &mut Vec<u8>, fields: &[u32], write: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    write(&mut inner);
    for field in fields.iter().rev() {
        let mut outer = Vec::new();
        put_bytes(&mut outer, *field, &inner);
        inner = outer;
    }
    out.extend(inner);
}

fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_varint(out, u64::from(number) << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
