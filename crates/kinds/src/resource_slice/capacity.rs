//! The capacities of a device, and which parts of them may be asked for where several claims share it.

use std::collections::HashSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_quantity::Quantity;
use serde_json::{Map, Value};

use super::attributes::KEY_MAX;
use super::shown_key;
use crate::device_claims::{fits, validate_qualified_name};
use crate::rules::access::{at, list_at};
use crate::rules::resource_names::{amount, quantity};

const VALID_VALUES_MAX: usize = 10;

pub(super) fn validate(
    capacities: Option<&Map<String, Value>>,
    is_shared: bool,
    path: &PathRef<'_>,
    errors: &mut Errors,
) {
    for (name, capacity) in capacities.into_iter().flatten() {
        validate_qualified_name(name, path, errors);
        let Some(policy) = at(capacity, &["requestPolicy"]) else {
            continue;
        };
        let key = shown_key(name, KEY_MAX);
        let path = path.key(&key);
        let path = path.child("requestPolicy");
        if is_shared {
            let whole = at(capacity, &["value"]).map_or_else(|| Quantity::from_int(0), amount);
            validate_policy(policy, &whole, &path, errors);
        } else {
            errors.push(FieldError::forbidden(&path, "allowMultipleAllocations must be true"));
        }
    }
}

fn validate_policy(policy: &Value, whole: &Quantity, path: &PathRef<'_>, errors: &mut Errors) {
    let values = list_at(policy, &["validValues"]);
    let range = at(policy, &["validRange"]);
    let default = at(policy, &["default"]).and_then(quantity);
    let (field, checked) = match (values.is_empty(), range) {
        (false, Some(_)) => {
            let words = "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the \
                         same time";
            errors.push(FieldError::forbidden(path, words));
            return;
        }
        (true, None) => return,
        (false, None) => ("validValues", None),
        (true, Some(range)) => ("validRange", Some(range)),
    };
    let Some(default) = default else {
        let words = format!("required when {field} is defined");
        errors.push(FieldError::required(&path.child("default"), words));
        return;
    };
    let path = path.child(field);
    if let Some(range) = checked {
        validate_range(range, &default, whole, &path, errors);
    } else {
        let values: Vec<Quantity> = values.iter().map(amount).collect();
        validate_values(&values, &default, whole, &path, errors);
    }
}

fn validate_values(values: &[Quantity], default: &Quantity, whole: &Quantity, path: &PathRef<'_>, errors: &mut Errors) {
    for (index, pair) in values.windows(2).enumerate() {
        if pair[0] > pair[1] {
            let words = "values must be sorted in ascending order";
            errors.push(FieldError::invalid(&path.index(index + 1), pair[1].to_string(), words));
        }
    }
    let mut has_default = false;
    if fits(values.len(), VALID_VALUES_MAX, path, errors) {
        for (index, value) in values.iter().enumerate() {
            if value > whole {
                let words = format!("option is larger than capacity value: {whole}");
                errors.push(FieldError::invalid(&path.index(index), value.to_string(), words));
            }
            has_default |= value == default;
        }
        let mut seen = HashSet::new();
        for (index, value) in values.iter().enumerate() {
            if !seen.insert(value.value()) {
                errors.push(FieldError::duplicate(&path.index(index), value.value().to_string()));
            }
        }
    }
    if !has_default {
        let words = "default value is not valid according to the requestPolicy";
        errors.push(FieldError::invalid(path, default.to_string(), words));
    }
}

fn validate_range(range: &Value, default: &Quantity, whole: &Quantity, path: &PathRef<'_>, errors: &mut Errors) {
    let [min, max, step] = ["min", "max", "step"].map(|field| at(range, &[field]).and_then(quantity));
    let [min_path, max_path, step_path] = ["min", "max", "step"].map(|field| path.child(field));
    let Some(min) = min else {
        errors.push(FieldError::required(&min_path, "required when validRange is defined"));
        return;
    };
    let mut refuse = |path: &PathRef<'_>, value: &Quantity, words: String| {
        errors.push(FieldError::invalid(path, value.to_string(), words));
    };
    if min > *whole {
        refuse(&min_path, &min, format!("min is larger than capacity value: {whole}"));
    }
    if *default < min {
        refuse(&min_path, default, format!("default is less than min: {min}"));
    }
    if let Some(max) = &max {
        if min > *max {
            refuse(&max_path, &min, format!("min is larger than max: {max}"));
        }
        if max > whole {
            refuse(&max_path, max, format!("max is larger than capacity value: {whole}"));
        }
        if default > max {
            refuse(&max_path, default, format!("default is more than max: {max}"));
        }
    }
    let Some(step) = step else { return };
    let mut next = min.clone();
    next.add(&step);
    if next > *whole {
        let words = format!("one step {next} is larger than capacity value: {whole}");
        refuse(&step_path, &step, words);
    }
    for value in [Some(default), max.as_ref()].into_iter().flatten() {
        let distance = value.value().wrapping_sub(min.value());
        if distance.checked_rem(step.value()).is_none_or(|rest| rest != 0) {
            let words = format!("value is not a multiple of a given step ({step}) from ({min})");
            refuse(&step_path, value, words);
        }
    }
}
