//! A value that a path leads to, or that the template itself contains.

use std::borrow::Cow;

use kubewright_apimachinery::go::float;
use kubewright_codec::json;
use serde_json::Value;

use crate::custom::Number;

/// A value that a path leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JsonPathValue<'a> {
    /// A part of the object.
    Json(&'a Value),
    /// Text of the template.
    Text(&'a str),
    /// A number of the template.
    Integer(i64),
    /// A number with a point of the template.
    Float(f64),
    /// `true` or `false` in the template.
    Boolean(bool),
    /// A byte of a string that a wildcard took apart.
    Byte(u8),
    /// What a loop over nothing runs on.
    Nothing,
}

impl<'a> JsonPathValue<'a> {
    /// The value as a template prints it: strings as they are, lists and maps as JSON, numbers in Go's `%v`.
    pub fn print(&self) -> Cow<'a, str> {
        match self {
            JsonPathValue::Json(Value::String(text)) => text.into(),
            JsonPathValue::Json(Value::Null) | JsonPathValue::Nothing => "<no value>".into(),
            JsonPathValue::Json(Value::Number(number)) => match number.as_i64() {
                Some(integer) => integer.to_string().into(),
                None => float::general(number.as_f64().unwrap_or_default()).into(),
            },
            JsonPathValue::Json(Value::Bool(value)) | JsonPathValue::Boolean(value) => value.to_string().into(),
            JsonPathValue::Json(value) => {
                let mut out = Vec::new();
                json::write(value, &mut out);
                String::from_utf8_lossy(&out).into_owned().into()
            }
            JsonPathValue::Text(text) => (*text).into(),
            JsonPathValue::Integer(integer) => integer.to_string().into(),
            JsonPathValue::Float(number) => float::general(*number).into(),
            JsonPathValue::Byte(byte) => byte.to_string().into(),
        }
    }

    /// The number in it. An integer of the template is none: its Go type is not one that cells take.
    pub(crate) fn number(&self) -> Option<Number> {
        match self {
            JsonPathValue::Json(Value::Number(number)) => Some(match number.as_i64() {
                Some(integer) => Number::Integer(integer),
                None => Number::Float(number.as_f64()?),
            }),
            JsonPathValue::Float(number) => Some(Number::Float(*number)),
            _ => None,
        }
    }

    pub(crate) fn boolean(&self) -> Option<bool> {
        match self {
            JsonPathValue::Json(Value::Bool(value)) | JsonPathValue::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&'a str> {
        match self {
            JsonPathValue::Json(Value::String(text)) => Some(text),
            JsonPathValue::Text(text) => Some(text),
            _ => None,
        }
    }
}
