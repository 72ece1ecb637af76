//! Config maps: keys that are file names, a size limit over text and bytes, and immutability.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::behaviour::Behaviour;
use crate::rules::access::{at, bool_at, complain, entries_at, map_at, same};

/// The most bytes the values of a `ConfigMap` or `Secret` may have together.
pub(crate) const SIZE_LIMIT: usize = 1024 * 1024;

pub(crate) struct ConfigMap;

impl Behaviour for ConfigMap {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        let (data, binary) = (PathRef::root("data"), PathRef::root("binaryData"));
        let is_binary = |key: &str| map_at(object, &["binaryData"]).is_some_and(|map| map.contains_key(key));
        let mut size = 0;
        for (key, value) in entries_at(object, &["data"]) {
            complain(&data.key(key), key, names::config_map_key(key), errors);
            if is_binary(key) {
                errors.push(FieldError::invalid(
                    &data.key(key),
                    key,
                    "duplicate of key present in binaryData",
                ));
            }
            size += value.len();
        }
        for (key, value) in entries_at(object, &["binaryData"]) {
            complain(&binary.key(key), key, names::config_map_key(key), errors);
            size += decoded_length(value);
        }
        if size > SIZE_LIMIT {
            // Upstream names no field here.
            errors.push(FieldError::too_long(&PathRef::root("[]"), SIZE_LIMIT));
        }
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        validate_immutable(object, old, &["data", "binaryData"], errors);
        self.validate_create(object, errors);
    }
}

/// Once `immutable` is true, neither it nor `fields` may change.
pub(crate) fn validate_immutable(object: &Value, old: &Value, fields: &[&str], errors: &mut Errors) {
    let words = "field is immutable when `immutable` is set";
    if !bool_at(old, &["immutable"]) {
        return;
    }
    if !bool_at(object, &["immutable"]) {
        errors.push(FieldError::forbidden(&PathRef::root("immutable"), words));
    }
    for field in fields {
        if !same(at(object, &[field]), at(old, &[field])) {
            errors.push(FieldError::forbidden(&PathRef::root(field), words));
        }
    }
}

/// The number of bytes a base64 text stands for.
pub(crate) fn decoded_length(base64: &str) -> usize {
    let text = base64.trim_end_matches('=');
    text.len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_and_bytes_together_have_at_most_a_mebibyte() {
        let mut errors = Errors::new();
        let object = json!({"data": {"a": "x".repeat(SIZE_LIMIT - 3)}, "binaryData": {"b": "AAAA"}});
        ConfigMap.validate_create(&object, &mut errors);
        assert_eq!(errors, []);
        let object = json!({"data": {"a": "x".repeat(SIZE_LIMIT - 2)}, "binaryData": {"b": "AAAA"}});
        ConfigMap.validate_create(&object, &mut errors);
        assert_eq!(
            errors[0].to_string(),
            "[]: Too long: may not be more than 1048576 bytes"
        );
    }
}
