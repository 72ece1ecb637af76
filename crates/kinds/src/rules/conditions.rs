//! Conditions of the common type (`metav1.Condition`).

use std::collections::HashSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use super::access::{complain, int_at, is_unset, str_at};
use super::labels;

const REASON_MAX: usize = 1024;
const MESSAGE_MAX: usize = 32 * 1024;

/// Everything wrong with a list of conditions: each by itself, and types that appear twice.
pub(crate) fn validate(conditions: &[Value], path: &PathRef<'_>, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for (index, condition) in conditions.iter().enumerate() {
        let path = path.index(index);
        let kind = str_at(condition, &["type"]);
        if !seen.insert(kind) {
            errors.push(FieldError::duplicate(&path.child("type"), kind));
        }
        validate_one(condition, &path, errors);
    }
}

/// Everything wrong with one condition.
pub(crate) fn validate_one(condition: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    labels::validate_label_name(str_at(condition, &["type"]), &path.child("type"), errors);
    let status = str_at(condition, &["status"]);
    if !matches!(status, "True" | "False" | "Unknown") {
        errors.push(FieldError::not_supported(
            &path.child("status"),
            status,
            ["False", "True", "Unknown"],
        ));
    }
    let observed = int_at(condition, &["observedGeneration"]);
    if observed < 0 {
        let words = "must be greater than or equal to zero";
        errors.push(FieldError::invalid(&path.child("observedGeneration"), observed, words));
    }
    if is_unset(condition, &["lastTransitionTime"]) {
        errors.push(FieldError::required(&path.child("lastTransitionTime"), ""));
    }
    let (reason, reason_path) = (str_at(condition, &["reason"]), path.child("reason"));
    if reason.is_empty() {
        errors.push(FieldError::required(&reason_path, ""));
    } else {
        complain(&reason_path, reason, names::condition_reason(reason), errors);
        if reason.len() > REASON_MAX {
            errors.push(FieldError::too_long(&reason_path, REASON_MAX));
        }
    }
    if str_at(condition, &["message"]).len() > MESSAGE_MAX {
        errors.push(FieldError::too_long(&path.child("message"), MESSAGE_MAX));
    }
}
