//! Resource quotas: what can be limited, and which scopes fit it.

use std::collections::BTreeSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use crate::behaviour::Behaviour;
use crate::rules::access::{IMMUTABLE, at, list_at, map_at, str_at, strings_at};
use crate::rules::printed;
use crate::rules::resource_names::{amount, amounts, is_standard_quota_resource, validate_amount, validate_quota_name};

pub(crate) struct ResourceQuota;

impl Behaviour for ResourceQuota {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_spec(object, errors);
        validate_status(object, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource == Some("status") {
            validate_status(object, errors);
            return;
        }
        validate_spec(object, errors);
        let scopes = |object| {
            strings_at(object, &["spec", "scopes"])
                .into_iter()
                .collect::<BTreeSet<&str>>()
        };
        if scopes(object) != scopes(old) {
            let shown = at(object, &["spec", "scopes"]).cloned().unwrap_or(Value::Null);
            let path = PathRef::root("spec");
            errors.push(FieldError::invalid(&path.child("scopes"), shown, IMMUTABLE));
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() {
            return Vec::new();
        }
        ["cpu", "memory", "storage", "ephemeral-storage"]
            .into_iter()
            .filter_map(|name| requests_exceed_limits(object, name))
            .collect()
    }
}

fn requests_exceed_limits(object: &Value, name: &str) -> Option<String> {
    let hard = map_at(object, &["spec", "hard"])?;
    let mut request_name = format!("requests.{name}");
    let request = hard.get(&request_name).or_else(|| {
        name.clone_into(&mut request_name);
        hard.get(name).filter(|_| matches!(name, "cpu" | "memory"))
    })?;
    let limit_name = format!("limits.{name}");
    let (request, limit) = (amount(request), amount(hard.get(&limit_name)?));
    (request > limit)
        .then(|| format!("ResourceQuota {request_name} ({request}) should be less than {limit_name} ({limit})"))
}

fn validate_amounts(object: &Value, section: &str, field: &str, errors: &mut Errors) {
    let path = PathRef::root(section);
    let path = path.child(field);
    for (name, amount) in amounts(map_at(object, &[section, field])) {
        validate_quota_name(name, &path.key(name), errors);
        validate_amount(name, &amount, &path.key(name), errors);
    }
}

fn validate_status(object: &Value, errors: &mut Errors) {
    validate_amounts(object, "status", "hard", errors);
    validate_amounts(object, "status", "used", errors);
}

fn validate_spec(object: &Value, errors: &mut Errors) {
    validate_amounts(object, "spec", "hard", errors);
    let path = PathRef::root("spec");
    validate_scopes(object, &path.child("scopes"), errors);
    let selector = path.child("scopeSelector");
    validate_scope_selector(object, &selector.child("matchExpressions"), errors);
}

fn is_scope(scope: &str) -> bool {
    matches!(
        scope,
        "Terminating"
            | "NotTerminating"
            | "BestEffort"
            | "NotBestEffort"
            | "PriorityClass"
            | "VolumeAttributesClass"
            | "CrossNamespacePodAffinity"
    )
}

/// Whether a quota of `resource` can be narrowed to `scope`.
fn scope_fits(scope: &str, resource: &str) -> bool {
    let is_compute = matches!(
        resource,
        "cpu" | "memory" | "limits.cpu" | "limits.memory" | "requests.cpu" | "requests.memory"
    );
    match scope {
        "Terminating" | "NotTerminating" | "NotBestEffort" | "PriorityClass" | "CrossNamespacePodAffinity" => {
            resource == "pods" || is_compute
        }
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        _ => true,
    }
}

/// The limited resources that `scope` does not fit.
fn unfit_resources(object: &Value, scope: &str) -> usize {
    let hard = map_at(object, &["spec", "hard"]);
    let names = hard.into_iter().flat_map(|hard| hard.keys());
    names
        .filter(|name| is_standard_quota_resource(name) && !scope_fits(scope, name))
        .count()
}

/// How many of the two pairs of contradicting scopes are present.
fn conflicts(scopes: &[&str]) -> usize {
    [("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")]
        .into_iter()
        .filter(|(one, other)| scopes.contains(one) && scopes.contains(other))
        .count()
}

/// Upstream shows all scopes for each one it refuses; this many sentences of that length are enough.
const MAX_REFUSED_SCOPES: usize = 100;

fn validate_scopes(object: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let scopes = strings_at(object, &["spec", "scopes"]);
    let mut refuse = |words: &str, times: usize| {
        for _ in 0..times {
            errors.push(FieldError::invalid(path, scopes.clone(), words));
        }
    };
    for scope in scopes.iter().take(MAX_REFUSED_SCOPES) {
        refuse("unsupported scope", usize::from(!is_scope(scope)));
        refuse("unsupported scope applied to resource", unfit_resources(object, scope));
    }
    refuse("conflicting scopes", conflicts(&scopes));
}

fn validate_scope_selector(object: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let requirements = list_at(object, &["spec", "scopeSelector", "matchExpressions"]);
    for requirement in requirements {
        let scope = str_at(requirement, &["scopeName"]);
        if !is_scope(scope) {
            errors.push(FieldError::invalid(
                &path.child("scopeName"),
                scope,
                "unsupported scope",
            ));
        }
        for _ in 0..unfit_resources(object, scope) {
            let words = "unsupported scope applied to resource";
            errors.push(printed::invalid(path, &render_selector(requirements), words));
        }
        validate_requirement(requirement, scope, path, errors);
    }
    let scopes: Vec<&str> = requirements
        .iter()
        .map(|requirement| str_at(requirement, &["scopeName"]))
        .collect();
    for _ in 0..conflicts(&scopes) {
        let shown = at(object, &["spec", "scopes"]).cloned().unwrap_or(Value::Null);
        errors.push(FieldError::invalid(path, shown, "conflicting scopes"));
    }
}

fn validate_requirement(requirement: &Value, scope: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let operator = str_at(requirement, &["operator"]);
    let values = strings_at(requirement, &["values"]);
    let only_exists = is_scope(scope) && !matches!(scope, "PriorityClass" | "VolumeAttributesClass");
    if only_exists && operator != "Exists" {
        let words = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
        errors.push(FieldError::invalid(&path.child("operator"), operator, words));
    }
    match operator {
        "In" | "NotIn" => {
            if values.is_empty() {
                let words = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                errors.push(FieldError::required(&path.child("values"), words));
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                let words = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                errors.push(FieldError::invalid(&path.child("values"), values, words));
            }
        }
        _ => errors.push(FieldError::invalid(
            &path.child("operator"),
            operator,
            "not a valid selector operator",
        )),
    }
}

/// The selector as upstream prints its internal type.
fn render_selector(requirements: &[Value]) -> String {
    let rendered: Vec<String> = requirements
        .iter()
        .map(|requirement| {
            let text = |field| Value::from(str_at(requirement, &[field]));
            let values = at(requirement, &["values"]).cloned().unwrap_or(Value::Null);
            format!(
                "{{\"ScopeName\":{},\"Operator\":{},\"Values\":{values}}}",
                text("scopeName"),
                text("operator")
            )
        })
        .collect();
    format!("{{\"MatchExpressions\":[{}]}}", rendered.join(","))
}
