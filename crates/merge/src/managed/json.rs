//! JSON the way Go writes it inside path elements and manager identities: HTML-safe strings, floats without `.0`.

use std::fmt::Write as _;

use serde_json::Value;

/// Appends a value as compact JSON.
pub(super) fn write(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(integer), _) => _ = write!(out, "{integer}"),
            (None, Some(integer)) => _ = write!(out, "{integer}"),
            (None, None) => write_float(out, number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (index, (name, value)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(out, name);
                out.push(':');
                write(out, value);
            }
            out.push('}');
        }
    }
}

/// Decimal between 1e-6 and 1e21, with an exponent elsewhere.
fn write_float(out: &mut String, value: f64) {
    let magnitude = value.abs();
    if value == 0.0 || (1e-6..1e21).contains(&magnitude) {
        _ = write!(out, "{value}");
        return;
    }
    let scientific = format!("{value:e}");
    match scientific.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => _ = write!(out, "{digits}e+{exponent}"),
        _ => out.push_str(&scientific),
    }
}

/// Appends a string with Go's escapes.
pub(super) fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\x1f' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                _ = write!(out, "\\u{:04x}", character as u32);
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}
