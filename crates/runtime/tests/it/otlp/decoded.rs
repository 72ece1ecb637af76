//! Requests in protobuf, read by what the protocol's own files say of their messages, and shown as the JSON of the same protocol. Whatever the
//! files do not have is a mistake.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

/// A message: its fields by number.
type Message = &'static [(u64, &'static str, Type)];

#[derive(Clone, Copy)]
enum Type {
    Text,
    /// Bytes that are an id, of so many bytes.
    Id(usize),
    Number,
    /// 64 bits, which are a text in JSON.
    Integer,
    Fixed64,
    Bool,
    Double,
    One(fn() -> Message),
    Many(fn() -> Message),
}

const REQUEST: Message = &[(1, "resourceSpans", Type::Many(|| RESOURCE_SPANS))];
const RESOURCE_SPANS: Message = &[
    (1, "resource", Type::One(|| RESOURCE)),
    (2, "scopeSpans", Type::Many(|| SCOPE_SPANS)),
];
const RESOURCE: Message = &[(1, "attributes", Type::Many(|| KEY_VALUE))];
const SCOPE_SPANS: Message = &[(1, "scope", Type::One(|| SCOPE)), (2, "spans", Type::Many(|| SPAN))];
const SCOPE: Message = &[(1, "name", Type::Text), (2, "version", Type::Text)];
const SPAN: Message = &[
    (1, "traceId", Type::Id(16)),
    (2, "spanId", Type::Id(8)),
    (4, "parentSpanId", Type::Id(8)),
    (5, "name", Type::Text),
    (6, "kind", Type::Number),
    (7, "startTimeUnixNano", Type::Fixed64),
    (8, "endTimeUnixNano", Type::Fixed64),
    (9, "attributes", Type::Many(|| KEY_VALUE)),
    (11, "events", Type::Many(|| EVENT)),
    (12, "droppedEventsCount", Type::Number),
    (13, "links", Type::Many(|| LINK)),
    (15, "status", Type::One(|| STATUS)),
];
const EVENT: Message = &[
    (1, "timeUnixNano", Type::Fixed64),
    (2, "name", Type::Text),
    (3, "attributes", Type::Many(|| KEY_VALUE)),
];
const LINK: Message = &[
    (1, "traceId", Type::Id(16)),
    (2, "spanId", Type::Id(8)),
    (4, "attributes", Type::Many(|| KEY_VALUE)),
];
const STATUS: Message = &[(2, "message", Type::Text), (3, "code", Type::Number)];
const KEY_VALUE: Message = &[(1, "key", Type::Text), (2, "value", Type::One(|| ANY_VALUE))];
const ANY_VALUE: Message = &[
    (1, "stringValue", Type::Text),
    (2, "boolValue", Type::Bool),
    (3, "intValue", Type::Integer),
    (4, "doubleValue", Type::Double),
    (5, "arrayValue", Type::One(|| ARRAY_VALUE)),
];
const ARRAY_VALUE: Message = &[(1, "values", Type::Many(|| ANY_VALUE))];

/// An `ExportTraceServiceRequest` as JSON.
pub(super) fn request(bytes: &[u8]) -> Value {
    message(REQUEST, bytes)
}

fn message(fields: Message, mut bytes: &[u8]) -> Value {
    let mut object = Map::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = fields.iter().find(|(number, ..)| *number == tag >> 3);
        let (_, name, of) = field.unwrap_or_else(|| panic!("no field {} in {object:?}", tag >> 3));
        let wire_type = match of {
            Type::Number | Type::Integer | Type::Bool => 0,
            Type::Fixed64 | Type::Double => 1,
            Type::Text | Type::Id(_) | Type::One(_) | Type::Many(_) => 2,
        };
        assert_eq!(tag & 7, wire_type, "the wire type of {name}");
        let value = match of {
            Type::Number => varint(&mut bytes).into(),
            Type::Integer => varint(&mut bytes).to_string().into(),
            Type::Bool => (varint(&mut bytes) == 1).into(),
            Type::Fixed64 => u64::from_le_bytes(taken(&mut bytes, 8).try_into().unwrap())
                .to_string()
                .into(),
            Type::Double => json!(f64::from_le_bytes(taken(&mut bytes, 8).try_into().unwrap())),
            Type::Text => std::str::from_utf8(delimited(&mut bytes)).unwrap().into(),
            Type::Id(length) => {
                let id = delimited(&mut bytes);
                assert_eq!(id.len(), *length, "{name}");
                id.iter()
                    .fold(String::new(), |mut digits, byte| {
                        write!(digits, "{byte:02x}").unwrap();
                        digits
                    })
                    .into()
            }
            Type::One(of) | Type::Many(of) => message(of(), delimited(&mut bytes)),
        };
        if matches!(of, Type::Many(_)) {
            let list = object.entry(*name).or_insert_with(|| json!([]));
            list.as_array_mut().unwrap().push(value);
        } else {
            assert!(object.insert((*name).to_owned(), value).is_none(), "{name} twice");
        }
    }
    object.into()
}

fn delimited<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    let length = varint(bytes);
    taken(bytes, usize::try_from(length).unwrap())
}

fn taken<'a>(bytes: &mut &'a [u8], count: usize) -> &'a [u8] {
    bytes.split_off(..count).expect("the message goes on")
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = taken(bytes, 1)[0];
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}
