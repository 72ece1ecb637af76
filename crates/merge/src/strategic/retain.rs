//! `$retainKeys`: a list of all the fields an object has after the patch.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::error::bad_retain_keys;
use super::{DELETE_FROM_PRIMITIVE_LIST, RETAIN_KEYS, SET_ELEMENT_ORDER};
use crate::patch_error::PatchError;

/// Removes the fields that the patch does not list, and the directive from the patch.
pub(super) fn apply(object: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), PatchError> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let Value::Array(retained) = retained else {
        return Err(bad_retain_keys());
    };
    let retained: HashSet<&str> = retained.iter().filter_map(Value::as_str).collect();
    // Whatever the patch sets must be listed.
    let is_unlisted = |(name, value): (&String, &Value)| {
        let is_directive = name.starts_with(DELETE_FROM_PRIMITIVE_LIST) || name.starts_with(SET_ELEMENT_ORDER);
        !value.is_null() && !is_directive && !retained.contains(name.as_str())
    };
    if patch.iter().any(is_unlisted) {
        return Err(bad_retain_keys());
    }
    object.retain(|name, _| retained.contains(name.as_str()));
    Ok(())
}
