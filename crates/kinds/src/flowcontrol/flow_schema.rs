//! `FlowSchemas`: which requests belong together, and to which priority level.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::{Value, json};

use super::{mandatory, validate_conditions, validate_update};
use crate::behaviour::Behaviour;
use crate::rules::access::{at, bool_at, complain, int_at, list_at, str_at, strings_at};

const PRECEDENCE_MAX: i64 = 10_000;
const VERBS: [&str; 9] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "proxy",
    "update",
    "watch",
];

/// The rules of `FlowSchemas`.
pub(crate) struct FlowSchema;

impl Behaviour for FlowSchema {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_spec(object, errors);
        mandatory::validate_schema(object, errors);
        validate_conditions(object, errors);
    }

    fn validate_update(&self, object: &Value, _old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        validate_update(self, object, subresource, errors);
    }
}

fn validate_spec(object: &Value, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let precedence = int_at(object, &["spec", "matchingPrecedence"]);
    let path = spec.child("matchingPrecedence");
    if precedence <= 0 {
        errors.push(FieldError::invalid(&path, precedence, "must be a positive value"));
    }
    if precedence > PRECEDENCE_MAX {
        errors.push(FieldError::invalid(
            &path,
            precedence,
            format!("must not be greater than {PRECEDENCE_MAX}"),
        ));
    }
    if precedence == 1 && str_at(object, &["metadata", "name"]) != "exempt" {
        let detail = "only the schema named 'exempt' may have matchingPrecedence 1";
        errors.push(FieldError::invalid(&path, precedence, detail));
    }
    if at(object, &["spec", "distinguisherMethod"]).is_some() {
        let kind = str_at(object, &["spec", "distinguisherMethod", "type"]);
        if !matches!(kind, "ByNamespace" | "ByUser") {
            let method = spec.child("distinguisherMethod");
            let shown = json!({ "Type": kind });
            errors.push(FieldError::not_supported(
                &method.child("type"),
                shown,
                ["ByNamespace", "ByUser"],
            ));
        }
    }
    let level = str_at(object, &["spec", "priorityLevelConfiguration", "name"]);
    let configuration = spec.child("priorityLevelConfiguration");
    if level.is_empty() {
        errors.push(FieldError::required(
            &configuration.child("name"),
            "must reference a priority level",
        ));
    } else {
        complain(
            &configuration.child("name"),
            level,
            names::dns1123_subdomain(level),
            errors,
        );
    }
    let path = spec.child("rules");
    for (index, rule) in list_at(object, &["spec", "rules"]).iter().enumerate() {
        validate_rule(rule, &path.index(index), errors);
    }
}

fn validate_rule(rule: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let subjects = list_at(rule, &["subjects"]);
    let subjects_path = path.child("subjects");
    if subjects.is_empty() {
        errors.push(FieldError::required(
            &subjects_path,
            "subjects must contain at least one value",
        ));
    }
    for (index, subject) in subjects.iter().enumerate() {
        validate_subject(subject, &subjects_path.index(index), errors);
    }
    let (resources, others) = (list_at(rule, &["resourceRules"]), list_at(rule, &["nonResourceRules"]));
    if resources.is_empty() && others.is_empty() {
        errors.push(FieldError::required(
            path,
            "at least one of resourceRules and nonResourceRules has to be non-empty",
        ));
    }
    let rules_path = path.child("resourceRules");
    for (index, rule) in resources.iter().enumerate() {
        validate_resource_rule(rule, &rules_path.index(index), errors);
    }
    let rules_path = path.child("nonResourceRules");
    for (index, rule) in others.iter().enumerate() {
        validate_non_resource_rule(rule, &rules_path.index(index), errors);
    }
}

fn validate_subject(subject: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let kinds = [
        ("ServiceAccount", "serviceAccount"),
        ("User", "user"),
        ("Group", "group"),
    ];
    let kind = str_at(subject, &["kind"]);
    let Some((_, field)) = kinds.into_iter().find(|(name, _)| *name == kind) else {
        errors.push(FieldError::not_supported(
            &path.child("kind"),
            kind,
            ["Group", "ServiceAccount", "User"],
        ));
        return;
    };
    let of_kind = path.child(field);
    if at(subject, &[field]).is_none() {
        errors.push(FieldError::required(
            &of_kind,
            format!("{field} is required when subject kind is '{kind}'"),
        ));
    } else {
        let name = str_at(subject, &[field, "name"]);
        if name.is_empty() {
            errors.push(FieldError::required(&of_kind.child("name"), ""));
        } else if kind == "ServiceAccount" && name != "*" {
            complain(&of_kind.child("name"), name, names::dns1123_subdomain(name), errors);
        }
        if kind == "ServiceAccount" {
            let namespace = str_at(subject, &[field, "namespace"]);
            let path = of_kind.child("namespace");
            if namespace.is_empty() {
                errors.push(FieldError::required(
                    &path,
                    "must specify namespace for service account",
                ));
            } else {
                complain(&path, namespace, names::dns1123_label(namespace), errors);
            }
        }
    }
    // The order in which the other kinds are refused depends on the kind.
    let others: [&str; 2] = match kind {
        "ServiceAccount" => ["User", "Group"],
        "User" => ["ServiceAccount", "Group"],
        _ => ["ServiceAccount", "User"],
    };
    for (name, field) in others
        .into_iter()
        .filter_map(|other| kinds.into_iter().find(|(name, _)| *name == other))
    {
        if at(subject, &[field]).is_some() {
            let detail = format!("{field} is forbidden when subject kind is not '{name}'");
            errors.push(FieldError::forbidden(&path.child(field), detail));
        }
    }
}

/// `*` stands alone.
fn validate_wildcard(values: &[&str], what: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if values.len() > 1 && values.contains(&"*") {
        let detail = format!("if '*' is present, must not specify other {what}");
        errors.push(FieldError::invalid(path, values.to_vec(), detail));
    }
}

fn validate_verbs(rule: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let verbs = strings_at(rule, &["verbs"]);
    let path = path.child("verbs");
    if verbs.is_empty() {
        errors.push(FieldError::required(&path, "verbs must contain at least one value"));
    } else if verbs.contains(&"*") {
        validate_wildcard(&verbs, "verbs", &path, errors);
    } else if verbs.iter().any(|verb| !VERBS.contains(verb)) {
        errors.push(FieldError::not_supported(&path, verbs, VERBS));
    }
}

fn validate_resource_rule(rule: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    validate_verbs(rule, path, errors);
    for (field, none, what) in [
        (
            "apiGroups",
            "resource rules must supply at least one api group",
            "api groups",
        ),
        (
            "resources",
            "resource rules must supply at least one resource",
            "resources",
        ),
    ] {
        let values = strings_at(rule, &[field]);
        if values.is_empty() {
            errors.push(FieldError::required(&path.child(field), none));
        }
        validate_wildcard(&values, what, &path.child(field), errors);
    }
    let namespaces = strings_at(rule, &["namespaces"]);
    let path = path.child("namespaces");
    if namespaces.is_empty() && !bool_at(rule, &["clusterScope"]) {
        let detail = "resource rules that are not cluster scoped must supply at least one namespace";
        errors.push(FieldError::required(&path, detail));
    } else if namespaces.contains(&"*") {
        validate_wildcard(&namespaces, "namespaces", &path, errors);
    } else {
        for (index, namespace) in namespaces.into_iter().enumerate() {
            for complaint in names::dns1123_label(namespace) {
                let detail = format!("each member of this list must be '*' or a DNS-1123 label; {complaint}");
                errors.push(FieldError::invalid(&path.index(index), namespace, detail));
            }
        }
    }
}

fn validate_non_resource_rule(rule: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    validate_verbs(rule, path, errors);
    let urls = strings_at(rule, &["nonResourceURLs"]);
    let path = path.child("nonResourceURLs");
    if urls.is_empty() {
        errors.push(FieldError::required(
            &path,
            "nonResourceURLs must contain at least one value",
        ));
    } else if urls.contains(&"*") {
        validate_wildcard(&urls, "non-resource URLs", &path, errors);
    } else {
        for (index, url) in urls.into_iter().enumerate() {
            if let Some(problem) = url_problem(url) {
                errors.push(FieldError::invalid(&path.index(index), url, problem));
            }
        }
    }
}

fn url_problem(url: &str) -> Option<&'static str> {
    match url {
        "" => Some("must not be empty"),
        "/" => None,
        _ if !url.starts_with('/') => Some("must start with slash"),
        _ if url.contains(' ') => Some("must not contain white-space"),
        _ if url.contains("//") => Some("must not contain double slash"),
        _ => match url.matches('*').count() {
            0 => None,
            1 if url.ends_with("/*") => None,
            _ => Some("wildcard can only do suffix matching"),
        },
    }
}
