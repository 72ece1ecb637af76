//! The writer: compact JSON with Go's escapes, and Go's indentation.

use serde_json::{Number, Value};

use crate::go::float;

/// Appends a value as JSON, as upstream's answers print it: compact, with `<`, `>` and `&` escaped.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        Value::Object(fields) => {
            out.push(b'{');
            for (index, (name, value)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_string(name, out);
                out.push(b':');
                write(value, out);
            }
            out.push(b'}');
        }
    }
}

fn write_number(number: &Number, out: &mut Vec<u8>) {
    if let Some(integer) = number.as_i64() {
        out.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes());
    } else if let Some(integer) = number.as_u64() {
        out.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes());
    } else if let Some(float) = number.as_f64() {
        float::write_json(float, out);
    }
}

/// Appends a string in quotes, with Go's escapes.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut written = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let class = CLASSES[usize::from(byte)];
        if class == Class::Plain {
            continue;
        }
        // U+2028 and U+2029 are E2 80 A8 and E2 80 A9.
        let separator = match bytes.get(at + 1..at + 3) {
            Some([0x80, 0xA8]) => Some(b"\\u2028"),
            Some([0x80, 0xA9]) => Some(b"\\u2029"),
            _ => None,
        };
        if class == Class::MaybeSeparator && separator.is_none() {
            continue;
        }
        out.extend_from_slice(&bytes[written..at]);
        written = at + 1;
        match (class, separator) {
            (Class::MaybeSeparator, Some(escape)) => {
                out.extend_from_slice(escape);
                written = at + 3;
            }
            (Class::Short(letter), _) => out.extend_from_slice(&[b'\\', letter]),
            _ => {
                let hex = b"0123456789abcdef";
                let (high, low) = (hex[usize::from(byte >> 4)], hex[usize::from(byte & 0xF)]);
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            }
        }
    }
    out.extend_from_slice(&bytes[written..]);
    out.push(b'"');
}

/// How Go writes a byte of a string.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// As it is.
    Plain,
    /// As a backslash and this letter.
    Short(u8),
    /// As `\u00XX`.
    Hexadecimal,
    /// The first byte of U+2028 and U+2029, which are escaped, and of many that are not.
    MaybeSeparator,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Plain; 256];
    let mut byte = 0;
    while byte < 0x20 {
        classes[byte] = Class::Hexadecimal;
        byte += 1;
    }
    classes[b'\n' as usize] = Class::Short(b'n');
    classes[b'\r' as usize] = Class::Short(b'r');
    classes[b'\t' as usize] = Class::Short(b't');
    classes[0x08] = Class::Short(b'b');
    classes[0x0c] = Class::Short(b'f');
    classes[b'"' as usize] = Class::Short(b'"');
    classes[b'\\' as usize] = Class::Short(b'\\');
    classes[b'<' as usize] = Class::Hexadecimal;
    classes[b'>' as usize] = Class::Hexadecimal;
    classes[b'&' as usize] = Class::Hexadecimal;
    classes[0xE2] = Class::MaybeSeparator;
    classes
};

/// Appends compact JSON indented by two spaces, as upstream answers `?pretty=true`, curl and browsers.
///
/// The text is not parsed: nothing but the space between tokens changes.
pub fn indent(compact: &[u8], out: &mut Vec<u8>) {
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    let mut opened = false;
    for &byte in compact {
        if in_string {
            out.push(byte);
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        if opened && !matches!(byte, b']' | b'}') {
            depth += 1;
            new_line(depth, out);
        }
        let was_opened = std::mem::take(&mut opened);
        match byte {
            b'{' | b'[' => {
                out.push(byte);
                opened = true;
            }
            b'}' | b']' => {
                if !was_opened {
                    depth = depth.saturating_sub(1);
                    new_line(depth, out);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                new_line(depth, out);
            }
            b':' => out.extend_from_slice(b": "),
            byte => {
                in_string = byte == b'"';
                out.push(byte);
            }
        }
    }
}

fn new_line(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.resize(out.len() + 2 * depth, b' ');
}
