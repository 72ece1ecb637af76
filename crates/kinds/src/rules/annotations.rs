//! Annotations: keys are qualified names whatever their case, and all of them together have a size limit (M5).

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use super::access;

/// The most bytes the keys and values of an object's annotations may have.
pub(crate) const TOTAL_SIZE_LIMIT: usize = 256 * 1024;

/// Everything wrong with the annotations in `map`, the value of an `annotations` field.
pub(crate) fn validate(map: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(Value::Object(annotations)) = map else { return };
    let mut size = 0;
    for (key, value) in annotations {
        size += key.len() + value.as_str().map_or(0, str::len);
        access::complain(path, key.as_str(), names::qualified_name(&key.to_lowercase()), errors);
    }
    if size > TOTAL_SIZE_LIMIT {
        errors.push(FieldError::too_long(path, TOTAL_SIZE_LIMIT));
    }
}
