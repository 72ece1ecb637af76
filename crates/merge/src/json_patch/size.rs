//! How long a value's JSON text is, without writing it.

use kubewright_apimachinery::go::json::string_length;
use serde_json::Value;

/// The length of the compact text with Go's escapes.
pub(super) fn encoded_length(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => string_length(text),
        Value::Array(items) => {
            let content: usize = items.iter().map(encoded_length).sum();
            content + items.len().saturating_sub(1) + 2
        }
        Value::Object(fields) => {
            let content: usize = fields
                .iter()
                .map(|(name, value)| string_length(name) + 1 + encoded_length(value))
                .sum();
            content + fields.len().saturating_sub(1) + 2
        }
    }
}

/// How deep a value nests: 0 for a scalar.
pub(super) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
