//! Which requests a webhook or a policy matches: operations, groups, versions, resources (A6).

use std::collections::HashSet;

use kubewright_admission::CompileError;
use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::rules::access::{complain, list_at, opt_str_at, str_at, strings_at};

const CONDITIONS_MAX: usize = 64;

/// Everything wrong with a rule and its operations.
pub(super) fn validate(rule: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let operations = strings_at(rule, &["operations"]);
    let operations_path = path.child("operations");
    validate_list(&operations, "operations", &operations_path, errors);
    for (index, operation) in operations.into_iter().enumerate() {
        if !matches!(operation, "*" | "CREATE" | "UPDATE" | "DELETE" | "CONNECT") {
            let supported = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
            errors.push(FieldError::not_supported(
                &operations_path.index(index),
                operation,
                supported,
            ));
        }
    }
    validate_list(
        &strings_at(rule, &["apiGroups"]),
        "API groups",
        &path.child("apiGroups"),
        errors,
    );
    let versions = strings_at(rule, &["apiVersions"]);
    let versions_path = path.child("apiVersions");
    validate_list(&versions, "API versions", &versions_path, errors);
    for (index, _) in versions.iter().enumerate().filter(|(_, version)| version.is_empty()) {
        errors.push(FieldError::required(&versions_path.index(index), ""));
    }
    validate_resources(&strings_at(rule, &["resources"]), &path.child("resources"), errors);
    if let Some(scope) = opt_str_at(rule, &["scope"])
        && !matches!(scope, "*" | "Cluster" | "Namespaced")
    {
        errors.push(FieldError::not_supported(
            &path.child("scope"),
            scope,
            ["*", "Cluster", "Namespaced"],
        ));
    }
}

/// As [`check`], for a rule that may also name objects.
pub(super) fn validate_named(rule: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let names_path = path.child("resourceNames");
    let mut seen = HashSet::new();
    for (index, name) in strings_at(rule, &["resourceNames"]).into_iter().enumerate() {
        let path = names_path.index(index);
        complain(&path, name, names::path_segment_name(name), errors);
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(&path, name));
        }
    }
    validate(rule, path, errors);
}

/// The list is not empty, and `*` is its only item if it has one.
fn validate_list(values: &[&str], what: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if values.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    if values.len() > 1 && values.contains(&"*") {
        let detail = format!("if '*' is present, must not specify other {what}");
        errors.push(FieldError::invalid(path, values.to_vec(), detail));
    }
}

fn validate_resources(resources: &[&str], path: &PathRef<'_>, errors: &mut Errors) {
    if resources.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    let (mut any_subresource, mut any_resource) = (HashSet::new(), HashSet::new());
    let mut plain = false;
    for (index, entry) in resources.iter().enumerate() {
        let path = path.index(index);
        if entry.is_empty() {
            errors.push(FieldError::required(&path, ""));
            continue;
        }
        let Some((resource, subresource)) = entry.split_once('/') else {
            plain = *entry != "*";
            continue;
        };
        if any_subresource.contains(resource) {
            let detail = format!("if '{resource}/*' is present, must not specify {entry}");
            errors.push(FieldError::invalid(&path, *entry, detail));
        }
        if any_resource.contains(subresource) {
            let detail = format!("if '*/{subresource}' is present, must not specify {entry}");
            errors.push(FieldError::invalid(&path, *entry, detail));
        }
        if subresource == "*" {
            any_subresource.insert(resource);
        }
        if resource == "*" {
            any_resource.insert(subresource);
        }
    }
    if resources.len() > 1 && resources.contains(&"*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        errors.push(FieldError::invalid(path, resources.to_vec(), detail));
    }
    if resources.contains(&"*") && plain {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.push(FieldError::invalid(path, resources.to_vec(), detail));
    }
}

/// What is wrong with an expression.
pub(super) fn complain_of_expression(
    path: &PathRef<'_>,
    expression: &str,
    checked: Result<(), CompileError>,
    errors: &mut Errors,
) {
    match checked {
        Ok(()) => {}
        Err(CompileError::Invalid(why)) => errors.push(FieldError::invalid(path, expression, why)),
        Err(CompileError::Internal(why)) => errors.push(FieldError::internal(path, why)),
    }
}

/// The match conditions of a webhook or a policy: their names, their number, and their expressions, for which
/// `check` finds errors.
pub(super) fn validate_conditions(
    owner: &Value,
    path: &PathRef<'_>,
    check: impl Fn(&str) -> Result<(), CompileError>,
    errors: &mut Errors,
) {
    let conditions = list_at(owner, &["matchConditions"]);
    let path = path.child("matchConditions");
    if conditions.len() > CONDITIONS_MAX {
        errors.push(FieldError::too_many(&path, conditions.len(), CONDITIONS_MAX));
    }
    let mut seen = HashSet::new();
    for (index, condition) in conditions.iter().enumerate() {
        let path = path.index(index);
        let expression = str_at(condition, &["expression"]).trim();
        if expression.is_empty() {
            errors.push(FieldError::required(&path.child("expression"), ""));
        } else {
            complain_of_expression(&path.child("expression"), expression, check(expression), errors);
        }
        let name = str_at(condition, &["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
            continue;
        }
        complain(&path.child("name"), name, names::qualified_name(name), errors);
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(&path.child("name"), name));
        }
    }
}
