//! Decoded JSON as Go's messages name and print it: its kind, its type (`%T`), `%v` and `%#v`.

use std::fmt::Write as _;

use serde_json::{Number, Value};

use super::float;
use super::json;
use super::quote::write_quote;

/// How the decoder that read a document holds its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// `encoding/json`: every number is a `float64`.
    Float64,
    /// The API machinery: a number that is written as an integer and fits is an `int64`, any other a `float64`.
    Int64,
    /// Go's YAML: an integer that no signed type holds is a `uint64`, which `%#v` prints in hexadecimal.
    Yaml,
}

/// The kind of a JSON value in `json: cannot unmarshal … into Go value of type …`.
pub fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The type of a value that an `interface{}` holds: `%T`.
pub fn type_name(value: &Value, numbers: Numbers) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if is_integer(number, numbers) => match numbers {
            Numbers::Yaml if !number.is_i64() => "uint64",
            Numbers::Yaml => "int",
            _ => "int64",
        },
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as `%v` prints it: `map[a:1 b:[x y]]`.
pub fn plain(value: &Value, numbers: Numbers) -> String {
    let mut out = String::new();
    write_plain(value, numbers, &mut out);
    out
}

fn write_plain(value: &Value, numbers: Numbers, out: &mut String) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => write_number(number, numbers, out),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { " " });
                write_plain(item, numbers, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push_str("map[");
            for (index, (name, value)) in fields.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { " " });
                out.push_str(name);
                out.push(':');
                write_plain(value, numbers, out);
            }
            out.push(']');
        }
    }
}

/// A value as `%#v` prints it: `map[string]interface {}{"a":1}`. The maps of YAML have keys of any type.
pub fn syntax(value: &Value, numbers: Numbers) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        value => {
            let mut out = String::new();
            write_syntax(value, numbers, &mut out);
            out
        }
    }
}

/// A value that another one holds, as `%#v` prints it: unlike [`syntax`], nothing is `interface {}(nil)`.
pub fn element_syntax(value: &Value, numbers: Numbers) -> String {
    let mut out = String::new();
    write_syntax(value, numbers, &mut out);
    out
}

fn write_syntax(value: &Value, numbers: Numbers, out: &mut String) {
    match value {
        Value::Null => out.push_str("interface {}(nil)"),
        Value::String(text) => write_quote(text, out),
        Value::Array(items) => {
            out.push_str("[]interface {}{");
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_syntax(item, numbers, out);
            }
            out.push('}');
        }
        Value::Object(fields) => {
            out.push_str(match numbers {
                Numbers::Yaml => "map[interface {}]interface {}{",
                Numbers::Float64 | Numbers::Int64 => "map[string]interface {}{",
            });
            for (index, (name, value)) in fields.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_quote(name, out);
                out.push(':');
                write_syntax(value, numbers, out);
            }
            out.push('}');
        }
        Value::Number(number) if numbers == Numbers::Yaml && number.is_u64() && !number.is_i64() => {
            // Writing to a string cannot fail.
            let _ = write!(out, "{:#x}", number.as_u64().unwrap_or_default());
        }
        scalar => write_plain(scalar, numbers, out),
    }
}

fn write_number(number: &Number, numbers: Numbers, out: &mut String) {
    if is_integer(number, numbers) {
        json::write_number(number, out);
    } else {
        float::write_general(number.as_f64().unwrap_or_default(), out);
    }
}

fn is_integer(number: &Number, numbers: Numbers) -> bool {
    match numbers {
        Numbers::Float64 => false,
        Numbers::Int64 => number.is_i64(),
        Numbers::Yaml => number.is_i64() || number.is_u64(),
    }
}
