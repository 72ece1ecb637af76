//! What can be wrong with a strategic merge patch, in upstream's words. The few errors that upstream knows by name have a
//! status of their own; the others reach the client as plain errors.

use kubewright_apimachinery::go::value::{Numbers, type_name};
use serde_json::{Map, Value};

use super::print::printed;
use crate::patch_error::PatchError;

pub(super) fn bad_primitive_list() -> PatchError {
    PatchError::Malformed("invalid patch format of primitive list".to_owned())
}

pub(super) fn bad_retain_keys() -> PatchError {
    PatchError::Malformed("invalid patch format of retainKeys".to_owned())
}

pub(super) fn bad_element_order() -> PatchError {
    PatchError::Malformed("invalid patch format of setElementOrder list".to_owned())
}

pub(super) fn list_of_lists() -> PatchError {
    PatchError::does_not_apply("lists of lists are not supported")
}

pub(super) fn other(message: impl Into<String>) -> PatchError {
    PatchError::Unforeseen(message.into())
}

pub(super) fn no_merge_key(item: &Map<String, Value>, key: &str) -> PatchError {
    let item = printed(&Value::Object(item.clone()));
    other(format!("map: {item} does not contain declared merge key: {key}"))
}

pub(super) fn unknown_directive(directive: &Value, item: &Map<String, Value>) -> PatchError {
    let item = printed(&Value::Object(item.clone()));
    // Go marks what it cannot print as a string.
    let directive = match directive {
        Value::String(text) => text.clone(),
        Value::Null => "%!s(<nil>)".to_owned(),
        directive @ (Value::Array(_) | Value::Object(_)) => printed(directive),
        directive => format!("%!s({}={})", go_type(directive), printed(directive)),
    };
    other(format!("unknown patch type: {directive} in map: {item}"))
}

pub(super) fn expected_list(actual: &Value) -> PatchError {
    other(format!(
        "expected a []interface {{}}, but received a {}",
        go_type(actual)
    ))
}

pub(super) fn expected_object(actual: &Value) -> PatchError {
    other(format!(
        "expected a map[string]interface {{}}, but received a {}",
        go_type(actual)
    ))
}

/// The type of a value as `%s` prints it, which marks the type of nothing as no string.
pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        value => type_name(value, Numbers::Int64),
    }
}
