//! Labels, and the two kinds of selector that objects hold: `LabelSelector` objects and plain maps.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::labels::selects;
use serde_json::{Map, Value};

use super::access::{self, list_at, str_at, strings_at};
use kubewright_apimachinery::names;

/// Everything wrong with the labels in `map`, the value of a `labels` or `matchLabels` field.
pub(crate) fn validate_labels(map: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(Value::Object(labels)) = map else { return };
    for (key, value) in labels {
        validate_label_name(key, path, errors);
        let value = value.as_str().unwrap_or_default();
        access::complain(path, value, names::label_value(value), errors);
    }
}

/// Everything wrong with a label's key.
pub(crate) fn validate_label_name(name: &str, path: &PathRef<'_>, errors: &mut Errors) {
    access::complain(path, name, names::qualified_name(name), errors);
}

/// What a selector may hold beyond the rules, because the stored object already does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SelectorOptions {
    /// Values that no label could have are tolerated.
    pub allow_invalid_values: bool,
}

/// Everything wrong with a `LabelSelector` object; an absent one is fine.
pub(crate) fn validate_selector(
    selector: Option<&Value>,
    options: SelectorOptions,
    path: &PathRef<'_>,
    errors: &mut Errors,
) {
    let Some(selector) = selector else { return };
    validate_labels(selector.get("matchLabels"), &path.child("matchLabels"), errors);
    let expressions = path.child("matchExpressions");
    for (index, requirement) in list_at(selector, &["matchExpressions"]).iter().enumerate() {
        validate_requirement(requirement, options, &expressions.index(index), errors);
    }
}

/// Everything wrong with one requirement of `matchExpressions`.
pub(crate) fn validate_requirement(
    requirement: &Value,
    options: SelectorOptions,
    path: &PathRef<'_>,
    errors: &mut Errors,
) {
    let values = strings_at(requirement, &["values"]);
    let values_path = path.child("values");
    match str_at(requirement, &["operator"]) {
        "In" | "NotIn" => {
            if values.is_empty() {
                let words = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(&values_path, words));
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                let words = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(&values_path, words));
            }
        }
        operator => errors.push(FieldError::invalid(
            &path.child("operator"),
            operator,
            "not a valid selector operator",
        )),
    }
    validate_label_name(str_at(requirement, &["key"]), &path.child("key"), errors);
    if !options.allow_invalid_values {
        for (index, value) in values.into_iter().enumerate() {
            access::complain(&values_path.index(index), value, names::label_value(value), errors);
        }
    }
}

/// Whether a stored selector already has values that no label could have.
pub(crate) fn has_invalid_values(selector: Option<&Value>) -> bool {
    selector.is_some_and(|selector| {
        list_at(selector, &["matchExpressions"])
            .iter()
            .flat_map(|requirement| strings_at(requirement, &["values"]))
            .any(|value| !names::label_value(value).is_empty())
    })
}

/// Whether a `LabelSelector` object selects labels: absent selects nothing, empty selects everything. An operator that
/// does not exist selects nothing.
pub(crate) fn selector_matches(selector: Option<&Value>, labels: Option<&Map<String, Value>>) -> bool {
    selector.is_some_and(|selector| !selector.is_null() && selects(selector, &labels))
}

/// Whether a plain map of labels (the selector of a `Service` or `ReplicationController`) selects labels: every entry must be
/// there.
pub(crate) fn map_matches(selector: Option<&Map<String, Value>>, labels: Option<&Map<String, Value>>) -> bool {
    selector
        .into_iter()
        .flatten()
        .all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
}

/// Whether a `LabelSelector` object has no requirement at all.
pub(crate) fn is_empty_selector(selector: &Value) -> bool {
    access::is_unset(selector, &["matchLabels"]) && access::is_unset(selector, &["matchExpressions"])
}

#[cfg(test)]
#[path = "labels_tests.rs"]
mod tests;
