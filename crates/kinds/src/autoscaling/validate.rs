//! Everything that can be wrong with an autoscaler, in upstream's order; metrics have a file of their own.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use kubewright_quantity::Quantity;
use serde_json::Value;

use super::metrics;
use crate::rules::access::{at, int_at, list_at, opt_int_at, opt_str_at, require_name, require_non_negative, str_at};

const PERIOD_MAX: i64 = 1800;
const STABILIZATION_MAX: i64 = 3600;

/// How an `apiVersion` of a reference is read.
#[derive(Clone, Copy, Default)]
pub(super) struct Reference {
    /// The core group is allowed.
    pub(super) allow_core_group: bool,
    /// Anything is allowed: the stored object already has it.
    pub(super) allow_any: bool,
}

pub(super) fn validate(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let min = opt_int_at(object, &["spec", "minReplicas"]);
    let max = int_at(object, &["spec", "maxReplicas"]);
    let old_min = old.and_then(|old| opt_int_at(old, &["spec", "minReplicas"]));
    let lowest = i64::from(old_min != Some(0));
    if let Some(min) = min
        && min < lowest
    {
        let detail = format!("must be greater than or equal to {lowest}");
        errors.push(FieldError::invalid(&spec.child("minReplicas"), min, detail));
    }
    let max_path = spec.child("maxReplicas");
    if max == 0 {
        errors.push(FieldError::required(&max_path, "must be set and greater than 0"));
    } else if max < 0 {
        errors.push(FieldError::invalid(
            &max_path,
            max,
            "must be greater than or equal to 1",
        ));
    }
    if min.is_some_and(|min| max < min) {
        errors.push(FieldError::invalid(
            &max_path,
            max,
            "must be greater than or equal to `minReplicas`",
        ));
    }
    let target = |object, field| str_at(object, &["spec", "scaleTargetRef", field]);
    let unchanged = old.is_some_and(|old| {
        ["apiVersion", "kind"]
            .into_iter()
            .all(|field| target(old, field) == target(object, field))
    });
    let rule = Reference {
        allow_core_group: target(object, "kind") == "ReplicationController",
        allow_any: unchanged,
    };
    validate_reference(
        at(object, &["spec", "scaleTargetRef"]),
        rule,
        &spec.child("scaleTargetRef"),
        errors,
    );
    metrics::validate(object, old, &spec.child("metrics"), errors);
    let behavior = spec.child("behavior");
    for direction in ["scaleUp", "scaleDown"] {
        if let Some(rules) = at(object, &["spec", "behavior", direction]) {
            validate_rules(rules, &behavior.child(direction), errors);
        }
    }
}

pub(super) fn validate_reference(reference: Option<&Value>, rule: Reference, path: &PathRef<'_>, errors: &mut Errors) {
    let nothing = Value::Null;
    let reference = reference.unwrap_or(&nothing);
    for field in ["kind", "name"] {
        require_name(reference, field, names::path_segment_name, path, errors);
    }
    let version = str_at(reference, &["apiVersion"]);
    if let Some(problem) = api_version_problem(version, rule) {
        errors.push(FieldError::invalid(&path.child("apiVersion"), version, problem));
    }
}

/// Why an `apiVersion` cannot be accepted.
pub(super) fn api_version_problem(version: &str, rule: Reference) -> Option<String> {
    if rule.allow_any {
        return None;
    }
    let mut parts = version.split('/');
    let group = match (parts.next(), parts.next(), parts.next()) {
        (Some(group), Some(_), None) => group,
        (_, _, Some(_)) => return Some(format!("unexpected GroupVersion string: {version}")),
        _ => "",
    };
    (group.is_empty() && !rule.allow_core_group).then(|| "apiVersion must specify API group".to_owned())
}

fn validate_rules(rules: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let window_path = path.child("stabilizationWindowSeconds");
    if let Some(window) = opt_int_at(rules, &["stabilizationWindowSeconds"]) {
        if window < 0 {
            errors.push(FieldError::invalid(
                &window_path,
                window,
                "must be greater than or equal to zero",
            ));
        }
        if window > STABILIZATION_MAX {
            let detail = format!("must be less than or equal to {STABILIZATION_MAX}");
            errors.push(FieldError::invalid(&window_path, window, detail));
        }
    }
    if let Some(policy) = opt_str_at(rules, &["selectPolicy"])
        && !matches!(policy, "Max" | "Min" | "Disabled")
    {
        errors.push(FieldError::not_supported(
            &path.child("selectPolicy"),
            policy,
            ["Disabled", "Max", "Min"],
        ));
    }
    let policies_path = path.child("policies");
    let policies = list_at(rules, &["policies"]);
    if policies.is_empty() {
        errors.push(FieldError::required(&policies_path, "must specify at least one Policy"));
    }
    for (index, policy) in policies.iter().enumerate() {
        let path = policies_path.index(index);
        let kind = str_at(policy, &["type"]);
        if !matches!(kind, "Pods" | "Percent") {
            errors.push(FieldError::not_supported(
                &path.child("type"),
                kind,
                ["Percent", "Pods"],
            ));
        }
        for field in ["value", "periodSeconds"] {
            let number = int_at(policy, &[field]);
            if number <= 0 {
                errors.push(FieldError::invalid(
                    &path.child(field),
                    number,
                    "must be greater than zero",
                ));
            }
        }
        let period = int_at(policy, &["periodSeconds"]);
        if period > PERIOD_MAX {
            let detail = format!("must be less than or equal to {PERIOD_MAX}");
            errors.push(FieldError::invalid(&path.child("periodSeconds"), period, detail));
        }
    }
    if let Some(tolerance) = opt_str_at(rules, &["tolerance"])
        && Quantity::parse(tolerance).is_ok_and(|quantity| quantity.is_negative())
    {
        errors.push(FieldError::invalid(
            &path.child("tolerance"),
            tolerance,
            "must be greater than or equal to 0",
        ));
    }
}

pub(super) fn validate_status(object: &Value, errors: &mut Errors) {
    let status = PathRef::root("status");
    for field in ["currentReplicas", "desiredReplicas"] {
        require_non_negative(int_at(object, &["status", field]), &status.child(field), errors);
    }
}
