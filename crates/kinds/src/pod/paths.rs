//! Paths inside volumes: they may not climb out.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};

/// A path that must not step back (`..`).
pub(crate) fn validate_no_backsteps(target: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if has_backsteps(target) {
        errors.push(FieldError::invalid(path, target, "must not contain '..'"));
    }
}

/// Whether a path steps back.
pub(crate) fn has_backsteps(target: &str) -> bool {
    target.split('/').any(|part| part == "..")
}

/// A relative path that stays below where it starts.
pub(crate) fn validate_descending(target: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if target.starts_with('/') {
        errors.push(FieldError::invalid(path, target, "must be a relative path"));
    }
    validate_no_backsteps(target, path, errors);
}

/// A descending path whose first part is not one of the names a volume keeps for itself (`..data`).
pub(crate) fn validate_not_reserved(target: &str, path: &PathRef<'_>, errors: &mut Errors) {
    validate_descending(target, path, errors);
    if target.starts_with("..") && !target.starts_with("../") {
        errors.push(FieldError::invalid(path, target, "must not start with '..'"));
    }
}
