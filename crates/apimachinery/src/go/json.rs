//! JSON text as `encoding/json` writes it.

use serde_json::{Number, Value};

use super::float;
use super::output::Output;
use super::quote::quote;

/// Appends a value: compact, strings safe inside HTML, floats with the shortest digits.
pub fn write(value: &Value, out: &mut impl Output) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push_str("[");
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(",");
                }
                write(item, out);
            }
            out.push_str("]");
        }
        Value::Object(fields) => {
            out.push_str("{");
            for (index, (name, value)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push_str(",");
                }
                write_string(name, out);
                out.push_str(":");
                write(value, out);
            }
            out.push_str("}");
        }
    }
}

/// A value as a text of its own.
pub fn to_string(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// Appends a number.
pub fn write_number(number: &Number, out: &mut impl Output) {
    if let Some(integer) = number.as_i64() {
        out.push_str(itoa::Buffer::new().format(integer));
    } else if let Some(integer) = number.as_u64() {
        out.push_str(itoa::Buffer::new().format(integer));
    } else if let Some(float) = number.as_f64() {
        float::write_json(float, out);
    }
}

/// Appends a string in quotes.
pub fn write_string(text: &str, out: &mut impl Output) {
    out.push_str("\"");
    let bytes = text.as_bytes();
    let mut written = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let class = CLASSES[usize::from(byte)];
        if class == Class::Plain {
            continue;
        }
        // U+2028 and U+2029 are E2 80 A8 and E2 80 A9.
        let separator = match bytes.get(at + 1..at + 3) {
            Some([0x80, 0xA8]) => Some("\\u2028"),
            Some([0x80, 0xA9]) => Some("\\u2029"),
            _ => None,
        };
        if class == Class::MaybeSeparator && separator.is_none() {
            continue;
        }
        out.push_str(&text[written..at]);
        written = at + 1;
        match (class, separator) {
            (Class::MaybeSeparator, Some(escape)) => {
                out.push_str(escape);
                written = at + 3;
            }
            (Class::Short(escape), _) => out.push_str(escape),
            _ => {
                const HEX: &str = "0123456789abcdef";
                let digit = |nibble: u8| &HEX[usize::from(nibble)..=usize::from(nibble)];
                out.push_str("\\u00");
                out.push_str(digit(byte >> 4));
                out.push_str(digit(byte & 0xF));
            }
        }
    }
    out.push_str(&text[written..]);
    out.push_str("\"");
}

/// How many bytes [`write_string`] appends.
pub fn string_length(text: &str) -> usize {
    let escaped: usize = text
        .chars()
        .map(|c| match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\x08' | '\x0c' => 2,
            '<' | '>' | '&' | '\0'..='\x1f' | '\u{2028}' | '\u{2029}' => 6,
            c => c.len_utf8(),
        })
        .sum();
    escaped + 2
}

/// A byte as the decoder quotes it in `invalid character 'x' …`.
pub fn quote_byte(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        _ => {
            let quoted = quote(char::from(byte).encode_utf8(&mut [0; 2]));
            format!("'{}'", &quoted[1..quoted.len() - 1])
        }
    }
}

/// How a byte of a string is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// As it is.
    Plain,
    /// As this escape of two characters.
    Short(&'static str),
    /// As `\u00XX`.
    Hexadecimal,
    /// The first byte of U+2028 and U+2029, which are escaped, and of many that are not.
    MaybeSeparator,
}

/// Not a constant: code that is not optimised copies all of a constant table wherever one entry of it is read.
static CLASSES: [Class; 256] = {
    let mut classes = [Class::Plain; 256];
    let mut byte = 0;
    while byte < 0x20 {
        classes[byte] = Class::Hexadecimal;
        byte += 1;
    }
    classes[b'\n' as usize] = Class::Short("\\n");
    classes[b'\r' as usize] = Class::Short("\\r");
    classes[b'\t' as usize] = Class::Short("\\t");
    classes[0x08] = Class::Short("\\b");
    classes[0x0c] = Class::Short("\\f");
    classes[b'"' as usize] = Class::Short("\\\"");
    classes[b'\\' as usize] = Class::Short("\\\\");
    classes[b'<' as usize] = Class::Hexadecimal;
    classes[b'>' as usize] = Class::Hexadecimal;
    classes[b'&' as usize] = Class::Hexadecimal;
    classes[0xE2] = Class::MaybeSeparator;
    classes
};
