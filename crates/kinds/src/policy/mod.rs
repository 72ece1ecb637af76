//! `PodDisruptionBudgets`: how many pods an eviction must leave.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::behaviour::Behaviour;
use crate::pod::internal;
use crate::rules::access::{at, complain, int_at, list_at, opt_str_at, require_non_negative};
use crate::rules::conditions;
use crate::rules::labels::{SelectorOptions, has_invalid_values, validate_selector};
use crate::rules::printed;

/// The rules of `PodDisruptionBudgets`.
pub(crate) struct PodDisruptionBudget;

impl Behaviour for PodDisruptionBudget {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate(object, SelectorOptions::default(), errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource == Some("status") {
            validate_status(object, errors);
        } else {
            let allow_invalid_values = has_invalid_values(at(old, &["spec", "selector"]));
            validate(object, SelectorOptions { allow_invalid_values }, errors);
        }
    }
}

fn validate(object: &Value, selectors: SelectorOptions, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let field = |name| at(object, &["spec", name]);
    let (min, max) = (field("minAvailable"), field("maxUnavailable"));
    if min.is_some() && max.is_some() {
        let shown = format!(
            r#"{{"MinAvailable":{},"Selector":{},"MaxUnavailable":{},"UnhealthyPodEvictionPolicy":{}}}"#,
            printed::pointer(min),
            internal::print_selector(field("selector").unwrap_or(&Value::Null)).compact(),
            printed::pointer(max),
            printed::pointer(field("unhealthyPodEvictionPolicy")),
        );
        errors.push(printed::invalid(
            &spec,
            &shown,
            "minAvailable and maxUnavailable cannot be both set",
        ));
    }
    for (name, value) in [("minAvailable", min), ("maxUnavailable", max)] {
        if let Some(value) = value {
            validate_amount(value, &spec.child(name), errors);
        }
    }
    validate_selector(field("selector"), selectors, &spec.child("selector"), errors);
    if let Some(policy) = opt_str_at(object, &["spec", "unhealthyPodEvictionPolicy"])
        && !matches!(policy, "AlwaysAllow" | "IfHealthyBudget")
    {
        let supported = ["AlwaysAllow", "IfHealthyBudget"];
        errors.push(FieldError::not_supported(
            &spec.child("unhealthyPodEvictionPolicy"),
            policy,
            supported,
        ));
    }
}

/// A number of pods, or a percentage up to 100.
fn validate_amount(value: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(text) = value.as_str() else {
        require_non_negative(value.as_i64().unwrap_or_default(), path, errors);
        return;
    };
    let complaints = names::percent(text);
    if complaints.is_empty() {
        // A number too large to read is too large to allow.
        let percent = text.trim_end_matches('%').parse::<i64>().unwrap_or(i64::MAX);
        if percent > 100 {
            errors.push(FieldError::invalid(path, text, "must not be greater than 100%"));
        }
    } else {
        complain(path, text, complaints, errors);
    }
}

fn validate_status(object: &Value, errors: &mut Errors) {
    let status = PathRef::root("status");
    conditions::validate(
        list_at(object, &["status", "conditions"]),
        &status.child("conditions"),
        errors,
    );
    for name in ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] {
        require_non_negative(int_at(object, &["status", name]), &status.child(name), errors);
    }
}
