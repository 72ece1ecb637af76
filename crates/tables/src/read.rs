//! Fields of an object as printers read them: what is absent or of another type is what Go's zero value prints.

use kubewright_quantity::Quantity;
use serde_json::Value;

/// A string field; empty when it is not there.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A string field, or `otherwise` when it is not there or empty.
pub(crate) fn text_or<'a>(value: &'a Value, otherwise: &'a str) -> &'a str {
    value.as_str().filter(|text| !text.is_empty()).unwrap_or(otherwise)
}

/// An optional string field, or `otherwise` when it is not there. An empty string is there.
pub(crate) fn given_or<'a>(value: &'a Value, otherwise: &'a str) -> &'a str {
    value.as_str().unwrap_or(otherwise)
}

/// An integer field; zero when it is not there.
pub(crate) fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

/// A boolean field; false when it is not there.
pub(crate) fn flag(value: &Value) -> bool {
    value.as_bool().unwrap_or_default()
}

/// A list field; empty when it is not there.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// How many entries a list or map field has.
pub(crate) fn count(value: &Value) -> i64 {
    let entries = match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    };
    i64::try_from(entries).unwrap_or(i64::MAX)
}

/// The entries of a map of strings, sorted by key.
pub(crate) fn entries(value: &Value) -> impl Iterator<Item = (&str, &str)> {
    value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), text(value)))
}

/// The string items of a list field.
pub(crate) fn strings(value: &Value) -> impl Iterator<Item = &str> {
    list(value).iter().map(text)
}

/// A quantity in its canonical form; a missing entry of a resource list is zero.
pub(crate) fn quantity(value: &Value) -> String {
    match value {
        Value::String(text) => Quantity::parse(text).map_or_else(|_| text.clone(), |quantity| quantity.to_string()),
        Value::Number(number) => number.to_string(),
        _ => "0".into(),
    }
}

/// An optional quantity, as Go prints a pointer to one.
pub(crate) fn quantity_pointer(value: &Value) -> String {
    if value.is_null() {
        "<nil>".into()
    } else {
        quantity(value)
    }
}

/// A number or a text, as `intstr.IntOrString` prints itself.
pub(crate) fn int_or_string(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => int(other).to_string(),
    }
}

/// The status of the first condition of a type.
pub(crate) fn condition<'a>(conditions: &'a Value, kind: &str) -> Option<&'a Value> {
    list(conditions)
        .iter()
        .find(|condition| text(&condition["type"]) == kind)
}

/// Whether the first condition of a type is true.
pub(crate) fn is_true(conditions: &Value, kind: &str) -> bool {
    condition(conditions, kind).is_some_and(|condition| text(&condition["status"]) == "True")
}
