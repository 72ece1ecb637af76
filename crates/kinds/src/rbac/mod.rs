//! Roles and their bindings. Authorization, not these rules, decides whether a writer may grant what it grants.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::{Value, json};

use crate::behaviour::Behaviour;
use crate::rules::access::{at, complain, list_at, set_default_str, str_at, strings_at};
use crate::rules::labels::{SelectorOptions, has_invalid_values, validate_selector};

const GROUP: &str = "rbac.authorization.k8s.io";

/// The rules of Roles.
pub(crate) struct Role;

/// The rules of `ClusterRoles`.
pub(crate) struct ClusterRole;

/// The rules of `RoleBindings`.
pub(crate) struct RoleBinding;

/// The rules of `ClusterRoleBindings`.
pub(crate) struct ClusterRoleBinding;

impl Behaviour for Role {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_rules(object, true, errors);
    }

    fn validate_update(&self, object: &Value, _old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        validate_rules(object, true, errors);
    }
}

impl Behaviour for ClusterRole {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_rules(object, false, errors);
        validate_aggregation(object, SelectorOptions::default(), errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        validate_rules(object, false, errors);
        let before = list_at(old, &["aggregationRule", "clusterRoleSelectors"]);
        let allow_invalid_values = before.iter().any(|selector| has_invalid_values(Some(selector)));
        validate_aggregation(object, SelectorOptions { allow_invalid_values }, errors);
    }
}

impl Behaviour for RoleBinding {
    fn default(&self, object: &mut Value) {
        default_binding(object);
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_binding(object, true, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        validate_binding(object, true, errors);
        validate_role_change(object, old, errors);
    }
}

impl Behaviour for ClusterRoleBinding {
    fn default(&self, object: &mut Value) {
        default_binding(object);
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_binding(object, false, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        validate_binding(object, false, errors);
        validate_role_change(object, old, errors);
    }
}

fn default_binding(object: &mut Value) {
    set_default_str(object, &["roleRef"], "apiGroup", GROUP);
    for subject in object
        .get_mut("subjects")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if matches!(str_at(subject, &["kind"]), "User" | "Group") {
            set_default_str(subject, &[], "apiGroup", GROUP);
        }
    }
}

fn validate_rules(object: &Value, namespaced: bool, errors: &mut Errors) {
    let rules = PathRef::root("rules");
    for (index, rule) in list_at(object, &["rules"]).iter().enumerate() {
        let path = rules.index(index);
        let some = |field: &str| !list_at(rule, &[field]).is_empty();
        if !some("verbs") {
            errors.push(FieldError::required(
                &path.child("verbs"),
                "verbs must contain at least one value",
            ));
        }
        if some("nonResourceURLs") {
            let urls = strings_at(rule, &["nonResourceURLs"]);
            let path = path.child("nonResourceURLs");
            if namespaced {
                let detail = "namespaced rules cannot apply to non-resource URLs";
                errors.push(FieldError::invalid(&path, urls.clone(), detail));
            }
            if some("apiGroups") || some("resources") || some("resourceNames") {
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                errors.push(FieldError::invalid(&path, urls, detail));
            }
            continue;
        }
        if !some("apiGroups") {
            errors.push(FieldError::required(
                &path.child("apiGroups"),
                "resource rules must supply at least one api group",
            ));
        }
        if !some("resources") {
            errors.push(FieldError::required(
                &path.child("resources"),
                "resource rules must supply at least one resource",
            ));
        }
    }
}

fn validate_aggregation(object: &Value, options: SelectorOptions, errors: &mut Errors) {
    let Some(rule) = at(object, &["aggregationRule"]) else {
        return;
    };
    let aggregation = PathRef::root("aggregationRule");
    let path = aggregation.child("clusterRoleSelectors");
    let selectors = list_at(rule, &["clusterRoleSelectors"]);
    if selectors.is_empty() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required(&path, detail));
    }
    for (index, selector) in selectors.iter().enumerate() {
        let path = path.index(index);
        let before = errors.len();
        validate_selector(Some(selector), options, &path, errors);
        let unusable = errors.len() > before || has_invalid_values(Some(selector));
        if unusable {
            // Upstream shows the selector that it could not build, which is nil.
            errors.push(FieldError::invalid(&path, Value::Null, "invalid label selector."));
        }
    }
}

fn validate_binding(object: &Value, namespaced: bool, errors: &mut Errors) {
    let role = PathRef::root("roleRef");
    let group = str_at(object, &["roleRef", "apiGroup"]);
    if group != GROUP {
        errors.push(FieldError::not_supported(&role.child("apiGroup"), group, [GROUP]));
    }
    let kind = str_at(object, &["roleRef", "kind"]);
    let kinds: &[&str] = if namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    if !kinds.contains(&kind) {
        errors.push(FieldError::not_supported(&role.child("kind"), kind, kinds));
    }
    let name = str_at(object, &["roleRef", "name"]);
    if name.is_empty() {
        errors.push(FieldError::required(&role.child("name"), ""));
    } else {
        complain(&role.child("name"), name, names::path_segment_name(name), errors);
    }
    let subjects = PathRef::root("subjects");
    for (index, subject) in list_at(object, &["subjects"]).iter().enumerate() {
        validate_subject(subject, namespaced, &subjects.index(index), errors);
    }
}

fn validate_subject(subject: &Value, namespaced: bool, path: &PathRef<'_>, errors: &mut Errors) {
    let (name, group) = (str_at(subject, &["name"]), str_at(subject, &["apiGroup"]));
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    }
    match str_at(subject, &["kind"]) {
        "ServiceAccount" => {
            if !name.is_empty() {
                complain(&path.child("name"), name, names::dns1123_subdomain(name), errors);
            }
            if !group.is_empty() {
                errors.push(FieldError::not_supported(&path.child("apiGroup"), group, [""]));
            }
            if !namespaced && str_at(subject, &["namespace"]).is_empty() {
                errors.push(FieldError::required(&path.child("namespace"), ""));
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                errors.push(FieldError::not_supported(&path.child("apiGroup"), group, [GROUP]));
            }
        }
        kind => {
            errors.push(FieldError::not_supported(
                &path.child("kind"),
                kind,
                ["ServiceAccount", "User", "Group"],
            ));
        }
    }
}

/// The role of a binding may not change.
fn validate_role_change(object: &Value, old: &Value, errors: &mut Errors) {
    let role = |object| ["apiGroup", "kind", "name"].map(|field| str_at(object, &["roleRef", field]).to_owned());
    let [group, kind, name] = role(object);
    if role(old) != [group.as_str(), kind.as_str(), name.as_str()] {
        let shown = json!({ "APIGroup": group, "Kind": kind, "Name": name });
        errors.push(FieldError::invalid(
            &PathRef::root("roleRef"),
            shown,
            "cannot change roleRef",
        ));
    }
}
