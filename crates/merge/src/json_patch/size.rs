//! How long a value's JSON text is, without writing it.

use serde_json::Value;

/// The length of the compact text with Go's escapes.
pub(super) fn encoded_length(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => quoted_length(text),
        Value::Array(items) => {
            let content: usize = items.iter().map(encoded_length).sum();
            content + items.len().saturating_sub(1) + 2
        }
        Value::Object(fields) => {
            let content: usize = fields
                .iter()
                .map(|(name, value)| quoted_length(name) + 1 + encoded_length(value))
                .sum();
            content + fields.len().saturating_sub(1) + 2
        }
    }
}

fn quoted_length(text: &str) -> usize {
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

/// How deep a value nests: 0 for a scalar.
pub(super) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
