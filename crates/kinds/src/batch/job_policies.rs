//! When a job's pods count as failed, and when the job as succeeded.

use std::collections::HashSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::pod::internal;
use crate::rules::access::{at, complain, list_at, opt_int_at, opt_str_at, require_non_negative, str_at};
use crate::rules::printed;

use super::indexes;

const MAX_RULES: usize = 20;
const MAX_PATTERNS: usize = 20;
const MAX_EXIT_CODES: usize = 255;
const MAX_INDEXES_TEXT: usize = 64 * 1024;

/// Everything wrong with the policies of a job's spec.
pub(super) fn validate(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let failure = at(spec, &["podFailurePolicy"]);
    if let Some(policy) = failure {
        validate_failure(spec, policy, &path.child("podFailurePolicy"), errors);
    }
    if let Some(policy) = at(spec, &["successPolicy"]) {
        let path = path.child("successPolicy");
        if str_at(spec, &["completionMode"]) == "Indexed" {
            validate_success(spec, policy, &path, errors);
        } else {
            let shown = internal::print("SuccessPolicy", policy);
            errors.push(internal::invalid(&path, &shown, "requires indexed completion mode"));
        }
    }
    let supported: &[&str] = if failure.is_some() {
        &["Failed"]
    } else {
        &["Failed", "TerminatingOrFailed"]
    };
    if let Some(policy) = opt_str_at(spec, &["podReplacementPolicy"]).filter(|policy| !supported.contains(policy)) {
        errors.push(FieldError::not_supported(
            &path.child("podReplacementPolicy"),
            policy,
            supported,
        ));
    }
}

fn validate_failure(spec: &Value, policy: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let path = path.child("rules");
    let rules = list_at(policy, &["rules"]);
    if rules.len() > MAX_RULES {
        errors.push(FieldError::too_many(&path, rules.len(), MAX_RULES));
    }
    let containers: HashSet<&str> = ["containers", "initContainers"]
        .into_iter()
        .flat_map(|list| list_at(spec, &["template", "spec", list]))
        .map(|container| str_at(container, &["name"]))
        .collect();
    for (index, rule) in rules.iter().enumerate() {
        validate_failure_rule(spec, rule, &containers, &path.index(index), errors);
    }
}

fn validate_failure_rule(
    spec: &Value,
    rule: &Value,
    containers: &HashSet<&str>,
    path: &PathRef<'_>,
    errors: &mut Errors,
) {
    let action_path = path.child("action");
    match str_at(rule, &["action"]) {
        "" => errors.push(FieldError::required(
            &action_path,
            r#"valid values: ["Count" "FailIndex" "FailJob" "Ignore"]"#,
        )),
        "FailIndex" => {
            if at(spec, &["backoffLimitPerIndex"]).is_none() {
                let words = "requires the backoffLimitPerIndex to be set";
                errors.push(FieldError::invalid(&action_path, "FailIndex", words));
            }
        }
        "Count" | "FailJob" | "Ignore" => {}
        other => {
            let supported = ["Count", "FailIndex", "FailJob", "Ignore"];
            errors.push(FieldError::not_supported(&action_path, other, supported));
        }
    }
    let codes = at(rule, &["onExitCodes"]);
    if let Some(codes) = codes {
        validate_exit_codes(codes, containers, &path.child("onExitCodes"), errors);
    }
    let patterns = list_at(rule, &["onPodConditions"]);
    if !patterns.is_empty() {
        validate_patterns(patterns, &path.child("onPodConditions"), errors);
    }
    let words = match (codes.is_some(), !patterns.is_empty()) {
        (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
        (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
        _ => return,
    };
    errors.push(printed::invalid_without_value(path, words));
}

fn validate_exit_codes(codes: &Value, containers: &HashSet<&str>, path: &PathRef<'_>, errors: &mut Errors) {
    let operator = str_at(codes, &["operator"]);
    match operator {
        "In" | "NotIn" => {}
        "" => errors.push(FieldError::required(
            &path.child("operator"),
            r#"valid values: ["In" "NotIn"]"#,
        )),
        other => errors.push(FieldError::not_supported(
            &path.child("operator"),
            other,
            ["In", "NotIn"],
        )),
    }
    if let Some(name) = opt_str_at(codes, &["containerName"]).filter(|name| !containers.contains(name)) {
        let words = "must be one of the container or initContainer names in the pod template";
        errors.push(FieldError::invalid(&path.child("containerName"), name, words));
    }
    let values_path = path.child("values");
    let values: Vec<i64> = list_at(codes, &["values"])
        .iter()
        .map(|value| value.as_i64().unwrap_or_default())
        .collect();
    if values.is_empty() {
        let shown = at(codes, &["values"]).cloned().unwrap_or_default();
        errors.push(FieldError::invalid(
            &values_path,
            shown,
            "at least one value is required",
        ));
    } else if values.len() > MAX_EXIT_CODES {
        errors.push(FieldError::too_many(&values_path, values.len(), MAX_EXIT_CODES));
    }
    let mut seen = HashSet::new();
    for (index, value) in values.iter().enumerate() {
        let path = values_path.index(index);
        if operator == "In" && *value == 0 {
            errors.push(FieldError::invalid(&path, 0, "must not be 0 for the In operator"));
        }
        if !seen.insert(*value) {
            errors.push(FieldError::duplicate(&path, *value));
        }
    }
    if !values.is_sorted() {
        errors.push(FieldError::invalid(&values_path, values, "must be ordered"));
    }
}

fn validate_patterns(patterns: &[Value], path: &PathRef<'_>, errors: &mut Errors) {
    if patterns.len() > MAX_PATTERNS {
        errors.push(FieldError::too_many(path, patterns.len(), MAX_PATTERNS));
    }
    for (index, pattern) in patterns.iter().enumerate() {
        let path = path.index(index);
        let kind = str_at(pattern, &["type"]);
        complain(&path.child("type"), kind, names::qualified_name(kind), errors);
        match str_at(pattern, &["status"]) {
            "False" | "True" | "Unknown" => {}
            "" => errors.push(FieldError::required(
                &path.child("status"),
                r#"valid values: ["False" "True" "Unknown"]"#,
            )),
            other => {
                errors.push(FieldError::not_supported(
                    &path.child("status"),
                    other,
                    ["False", "True", "Unknown"],
                ));
            }
        }
    }
}

fn validate_success(spec: &Value, policy: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let path = path.child("rules");
    let rules = list_at(policy, &["rules"]);
    if rules.is_empty() {
        let words = "at least one rules must be specified when the successPolicy is specified";
        errors.push(FieldError::required(&path, words));
    }
    if rules.len() > MAX_RULES {
        errors.push(FieldError::too_many(&path, rules.len(), MAX_RULES));
    }
    let completions = opt_int_at(spec, &["completions"]).unwrap_or_default();
    for (index, rule) in rules.iter().enumerate() {
        let path = path.index(index);
        let listed = opt_str_at(rule, &["succeededIndexes"]);
        let count = opt_int_at(rule, &["succeededCount"]);
        if listed.is_none() && count.is_none() {
            let words = "at least one of succeededCount or succeededIndexes must be specified";
            errors.push(FieldError::required(&path, words));
        }
        let mut total = 0;
        if let Some(text) = listed {
            let path = path.child("succeededIndexes");
            if text.len() > MAX_INDEXES_TEXT {
                errors.push(FieldError::too_long(&path, MAX_INDEXES_TEXT));
            }
            match indexes::count(text, completions) {
                Ok(listed) => total = listed,
                Err(problem) => {
                    let words = format!("error parsing succeededIndexes: {problem}");
                    errors.push(FieldError::invalid(&path, text, words));
                }
            }
        }
        let Some(count) = count else { continue };
        let path = path.child("succeededCount");
        require_non_negative(count, &path, errors);
        if count > completions {
            let words = format!("must be less than or equal to {completions} (the number of specified completions)");
            errors.push(FieldError::invalid(&path, count, words));
        }
        if listed.is_some() && count > total {
            let words = format!(
                "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
            );
            errors.push(FieldError::invalid(&path, count, words));
        }
    }
}
