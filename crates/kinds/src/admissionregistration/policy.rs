//! `ValidatingAdmissionPolicies`, `MutatingAdmissionPolicies` and their bindings (A13, A14).

use std::collections::HashSet;

use kubewright_admission::policy::PolicyExpressions;
use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use kubewright_cel::RESERVED_WORDS;
use serde_json::Value;

use super::rule::{self, complain_of_expression};
use crate::behaviour::Behaviour;
use crate::rules::access::{at, complain, list_at, opt_str_at, same, str_at, strings_at};
use crate::rules::conditions;
use crate::rules::labels::{SelectorOptions, validate_selector};

const AUDIT_ANNOTATIONS_MAX: usize = 20;
const VALUE_EXPRESSION_MAX: usize = 5 * 1024;
const MUTATED: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];

/// The rules of `ValidatingAdmissionPolicies`.
pub(crate) struct ValidatingAdmissionPolicy;

/// The rules of `ValidatingAdmissionPolicyBindings`.
pub(crate) struct ValidatingAdmissionPolicyBinding;

/// The rules of `MutatingAdmissionPolicies`.
pub(crate) struct MutatingAdmissionPolicy;

/// The rules of `MutatingAdmissionPolicyBindings`.
pub(crate) struct MutatingAdmissionPolicyBinding;

impl Behaviour for ValidatingAdmissionPolicy {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_validating(object, None, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource == Some("status") {
            validate_status(object, errors);
        } else {
            validate_validating(object, Some(old), errors);
        }
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        super::reserved_name_warning(object)
    }
}

impl Behaviour for MutatingAdmissionPolicy {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_mutating(object, None, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        validate_mutating(object, Some(old), errors);
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        super::reserved_name_warning(object)
    }
}

impl Behaviour for ValidatingAdmissionPolicyBinding {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_binding(object, errors);
        validate_actions(object, errors);
    }

    fn validate_update(&self, object: &Value, _old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        self.validate_create(object, errors);
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        super::reserved_name_warning(object)
    }
}

impl Behaviour for MutatingAdmissionPolicyBinding {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_binding(object, errors);
        let spec = PathRef::root("spec");
        validate_mutated(object, "matchResources", &spec.child("matchResources"), errors);
    }

    fn validate_update(&self, object: &Value, _old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        self.validate_create(object, errors);
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        super::reserved_name_warning(object)
    }
}

/// What both kinds of policy have in common, up to the match conditions.
fn validate_scope(object: &Value, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let policy = spec.child("failurePolicy");
    match opt_str_at(object, &["spec", "failurePolicy"]) {
        None => errors.push(FieldError::required(&policy, "")),
        Some("Fail" | "Ignore") => {}
        Some(other) => errors.push(FieldError::not_supported(&policy, other, ["Fail", "Ignore"])),
    }
    if let Some(kind) = at(object, &["spec", "paramKind"]) {
        validate_param_kind(kind, &spec.child("paramKind"), errors);
    }
    let path = spec.child("matchConstraints");
    match at(object, &["spec", "matchConstraints"]) {
        None => errors.push(FieldError::required(&path, "")),
        Some(constraints) => {
            validate_match(constraints, &path, errors);
            if list_at(constraints, &["resourceRules"]).is_empty() {
                errors.push(FieldError::required(&path.child("resourceRules"), ""));
            }
        }
    }
}

/// Conditions that an update does not change are not validated again.
fn validate_policy_conditions(
    object: &Value,
    old: Option<&Value>,
    expressions: &PolicyExpressions,
    errors: &mut Errors,
) {
    let field = |object, name| at(object, &["spec", name]);
    let unchanged = old.is_some_and(|old| {
        ["paramKind", "matchConditions"]
            .into_iter()
            .all(|name| same(field(object, name), field(old, name)))
    });
    if !unchanged && let Some(spec) = at(object, &["spec"]) {
        let check = |expression: &str| expressions.condition(expression);
        rule::validate_conditions(spec, &PathRef::root("spec"), check, errors);
    }
}

fn validate_variables(object: &Value, expressions: &mut PolicyExpressions, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let path = spec.child("variables");
    for (index, variable) in list_at(object, &["spec", "variables"]).iter().enumerate() {
        let path = path.index(index);
        let name = str_at(variable, &["name"]);
        if name.trim().is_empty() {
            errors.push(FieldError::required(&path.child("name"), "name is not specified"));
        } else if !names::c_identifier(name).is_empty() || RESERVED_WORDS.contains(&name) {
            errors.push(FieldError::invalid(
                &path.child("name"),
                name,
                "must be a valid CEL identifier",
            ));
        }
        let expression = str_at(variable, &["expression"]);
        if expression.trim().is_empty() {
            errors.push(FieldError::required(
                &path.child("expression"),
                "expression is not specified",
            ));
        } else {
            let checked = expressions.variable(name, expression);
            complain_of_expression(&path.child("expression"), expression, checked, errors);
        }
    }
}

fn validate_validating(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let mut expressions = PolicyExpressions::new(at(object, &["spec", "paramKind"]).is_some());
    validate_scope(object, errors);
    validate_policy_conditions(object, old, &expressions, errors);
    validate_variables(object, &mut expressions, errors);
    validate_validations(object, &expressions, errors);
}

fn validate_validations(object: &Value, expressions: &PolicyExpressions, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let validations = list_at(object, &["spec", "validations"]);
    let annotations = list_at(object, &["spec", "auditAnnotations"]);
    if validations.is_empty() && annotations.is_empty() {
        for field in ["validations", "auditAnnotations"] {
            let detail = "validations or auditAnnotations must contain at least one item";
            errors.push(FieldError::required(&spec.child(field), detail));
        }
        return;
    }
    let path = spec.child("validations");
    for (index, validation) in validations.iter().enumerate() {
        validate_validation(validation, &path.index(index), expressions, errors);
    }
    let path = spec.child("auditAnnotations");
    if annotations.len() > AUDIT_ANNOTATIONS_MAX {
        let detail = format!("must not have more than {AUDIT_ANNOTATIONS_MAX} auditAnnotations");
        let shown: Vec<String> = annotations
            .iter()
            .map(|annotation| {
                let field = |name| Value::from(str_at(annotation, &[name]));
                format!(
                    r#"{{"Key":{},"ValueExpression":{}}}"#,
                    field("key"),
                    field("valueExpression")
                )
            })
            .collect();
        errors.push(crate::rules::printed::invalid(
            &path,
            &format!("[{}]", shown.join(",")),
            &detail,
        ));
    }
    let policy = str_at(object, &["metadata", "name"]);
    let mut keys = HashSet::new();
    for (index, annotation) in annotations.iter().enumerate() {
        let path = path.index(index);
        let key = str_at(annotation, &["key"]);
        let full = format!("{policy}/{key}");
        if policy.is_empty() {
            errors.push(FieldError::invalid(
                &path.child("key"),
                key,
                "requires metadata.name be non-empty",
            ));
        } else {
            complain(&path.child("key"), full.as_str(), names::qualified_name(&full), errors);
        }
        let expression = str_at(annotation, &["valueExpression"]).trim();
        if expression.is_empty() {
            errors.push(FieldError::required(
                &path.child("valueExpression"),
                "valueExpression is not specified",
            ));
        } else if expression.len() > VALUE_EXPRESSION_MAX {
            let detail = format!("must not exceed {VALUE_EXPRESSION_MAX} bytes in length");
            errors.push(FieldError::required(&path.child("valueExpression"), detail));
        } else {
            let checked = expressions.annotation(expression);
            let written = str_at(annotation, &["valueExpression"]);
            complain_of_expression(&path.child("valueExpression"), written, checked, errors);
        }
        if !keys.insert(key) {
            errors.push(FieldError::duplicate(&path.child("key"), key));
        }
    }
}

fn validate_validation(validation: &Value, path: &PathRef<'_>, expressions: &PolicyExpressions, errors: &mut Errors) {
    let field = |name| str_at(validation, &[name]);
    let expression = field("expression");
    if expression.trim().is_empty() {
        errors.push(FieldError::required(
            &path.child("expression"),
            "expression is not specified",
        ));
    } else {
        let checked = expressions.validation(expression);
        complain_of_expression(&path.child("expression"), expression, checked, errors);
    }
    for name in ["messageExpression", "message"] {
        if field(name).is_empty() {
            continue;
        }
        if field(name).trim().is_empty() {
            errors.push(FieldError::invalid(
                &path.child(name),
                field(name),
                "must be non-empty if specified",
            ));
        } else if name == "messageExpression" {
            let checked = expressions.message(field(name));
            complain_of_expression(&path.child(name), field(name), checked, errors);
        }
    }
    if field("message").trim().contains(['\n', '\r']) {
        errors.push(FieldError::invalid(
            &path.child("message"),
            field("message"),
            "must not contain line breaks",
        ));
    }
    if let Some(reason) = opt_str_at(validation, &["reason"])
        && !matches!(reason, "Forbidden" | "Invalid" | "RequestEntityTooLarge")
    {
        let supported = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
        errors.push(FieldError::not_supported(&path.child("reason"), reason, supported));
    }
}

fn validate_mutating(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    validate_scope(object, errors);
    validate_mutated(object, "matchConstraints", &spec.child("matchConstraints"), errors);
    let mut expressions = PolicyExpressions::composed(at(object, &["spec", "paramKind"]).is_some());
    validate_policy_conditions(object, old, &expressions, errors);
    validate_variables(object, &mut expressions, errors);
    let mutations = list_at(object, &["spec", "mutations"]);
    let path = spec.child("mutations");
    if mutations.is_empty() {
        errors.push(FieldError::required(&path, "mutations must contain at least one item"));
    }
    for (index, mutation) in mutations.iter().enumerate() {
        validate_mutation(mutation, &path.index(index), &expressions, errors);
    }
    let path = spec.child("reinvocationPolicy");
    match str_at(object, &["spec", "reinvocationPolicy"]) {
        "" => errors.push(FieldError::required(&path, "")),
        "Never" | "IfNeeded" => {}
        other => errors.push(FieldError::not_supported(&path, other, ["IfNeeded", "Never"])),
    }
}

/// A deletion cannot be mutated.
fn validate_mutated(object: &Value, field: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let rules = path.child("resourceRules");
    for rule in list_at(object, &["spec", field, "resourceRules"]) {
        for operation in strings_at(rule, &["operations"])
            .into_iter()
            .filter(|name| !MUTATED.contains(name))
        {
            errors.push(FieldError::not_supported(
                &rules.child("operations"),
                operation,
                MUTATED,
            ));
        }
    }
}

fn validate_mutation(mutation: &Value, path: &PathRef<'_>, expressions: &PolicyExpressions, errors: &mut Errors) {
    let (wanted, other) = match str_at(mutation, &["patchType"]) {
        "JSONPatch" => ("jsonPatch", "applyConfiguration"),
        "ApplyConfiguration" => ("applyConfiguration", "jsonPatch"),
        "" => return errors.push(FieldError::required(&path.child("patchType"), "")),
        unknown => {
            let supported = ["ApplyConfiguration", "JSONPatch"];
            return errors.push(FieldError::not_supported(&path.child("patchType"), unknown, supported));
        }
    };
    let kind = str_at(mutation, &["patchType"]);
    let wanted_path = path.child(wanted);
    if at(mutation, &[wanted]).is_none() {
        errors.push(FieldError::required(
            &wanted_path,
            format!("must be specified when patchType is {kind}"),
        ));
    } else {
        let (expression, path) = (
            str_at(mutation, &[wanted, "expression"]).trim(),
            wanted_path.child("expression"),
        );
        let checked = match wanted {
            _ if expression.is_empty() => {
                errors.push(FieldError::required(&path, ""));
                Ok(())
            }
            "jsonPatch" => expressions.json_patch(expression),
            _ => expressions.apply_configuration(expression),
        };
        complain_of_expression(&path, expression, checked, errors);
    }
    if at(mutation, &[other]).is_some() {
        let detail = format!("must not be specified when patchType is {kind}");
        errors.push(FieldError::invalid(&path.child(other), format!("{{{other}}}"), detail));
    }
}

fn validate_param_kind(kind: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let version = str_at(kind, &["apiVersion"]);
    let version_path = path.child("apiVersion");
    if version.is_empty() {
        errors.push(FieldError::required(&version_path, ""));
    } else if version.matches('/').count() > 1 {
        errors.push(FieldError::invalid(
            &version_path,
            version,
            format!("unexpected GroupVersion string: {version}"),
        ));
    } else {
        let (group, short) = version.split_once('/').unwrap_or(("", version));
        let complaints = if group.is_empty() {
            Vec::new()
        } else {
            names::dns1123_subdomain(group)
        };
        if !complaints.is_empty() {
            errors.push(FieldError::invalid(&version_path, group, complaints.join(",")));
        }
        let complaints = names::dns1035_label(short);
        if short.is_empty() {
            errors.push(FieldError::invalid(&version_path, version, "version must be specified"));
        } else if !complaints.is_empty() {
            errors.push(FieldError::invalid(&version_path, short, complaints.join(",")));
        }
    }
    let name = str_at(kind, &["kind"]);
    let complaints = names::dns1035_label(&name.to_lowercase());
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("kind"), ""));
    } else if !complaints.is_empty() {
        let detail = format!(
            "may have mixed case, but should otherwise match: {}",
            complaints.join(",")
        );
        errors.push(FieldError::invalid(&path.child("kind"), name, detail));
    }
}

fn validate_match(resources: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    match opt_str_at(resources, &["matchPolicy"]) {
        None => errors.push(FieldError::required(&path.child("matchPolicy"), "")),
        Some("Exact" | "Equivalent") => {}
        Some(other) => errors.push(FieldError::not_supported(
            &path.child("matchPolicy"),
            other,
            ["Equivalent", "Exact"],
        )),
    }
    for field in ["namespaceSelector", "objectSelector"] {
        match at(resources, &[field]) {
            None => errors.push(FieldError::required(&path.child(field), "")),
            selector => validate_selector(selector, SelectorOptions::default(), &path.child(field), errors),
        }
    }
    for field in ["resourceRules", "excludeResourceRules"] {
        let path = path.child(field);
        for (index, item) in list_at(resources, &[field]).iter().enumerate() {
            rule::validate_named(item, &path.index(index), errors);
        }
    }
}

fn validate_binding(object: &Value, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let name = str_at(object, &["spec", "policyName"]);
    if name.is_empty() {
        errors.push(FieldError::required(&spec.child("policyName"), ""));
    } else {
        complain(&spec.child("policyName"), name, names::dns1123_subdomain(name), errors);
    }
    if let Some(reference) = at(object, &["spec", "paramRef"]) {
        validate_param_ref(reference, &spec.child("paramRef"), errors);
    }
    if let Some(resources) = at(object, &["spec", "matchResources"]) {
        validate_match(resources, &spec.child("matchResources"), errors);
    }
}

fn validate_param_ref(reference: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let exclusive = "name and selector are mutually exclusive";
    let name = str_at(reference, &["name"]);
    let selector = at(reference, &["selector"]);
    if !name.is_empty() {
        complain(&path.child("name"), name, names::path_segment_name(name), errors);
        if selector.is_some() {
            errors.push(FieldError::forbidden(&path.child("name"), exclusive));
        }
    }
    if selector.is_some() {
        validate_selector(selector, SelectorOptions::default(), &path.child("selector"), errors);
        if !name.is_empty() {
            errors.push(FieldError::forbidden(&path.child("selector"), exclusive));
        }
    }
    if name.is_empty() && selector.is_none() {
        errors.push(FieldError::required(path, "one of name or selector must be specified"));
    }
    let path = path.child("parameterNotFoundAction");
    match str_at(reference, &["parameterNotFoundAction"]) {
        "" => errors.push(FieldError::required(&path, "")),
        "Deny" | "Allow" => {}
        other => errors.push(FieldError::not_supported(&path, other, ["Deny", "Allow"])),
    }
}

fn validate_actions(object: &Value, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let path = spec.child("validationActions");
    let actions = strings_at(object, &["spec", "validationActions"]);
    for (index, action) in actions.iter().enumerate() {
        if !matches!(*action, "Deny" | "Warn" | "Audit") {
            errors.push(FieldError::not_supported(
                &path.index(index),
                *action,
                ["Audit", "Deny", "Warn"],
            ));
        }
        if actions[..index].contains(action) {
            errors.push(FieldError::duplicate(&path.index(index), *action));
        }
    }
    if actions.contains(&"Deny") && actions.contains(&"Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
        errors.push(FieldError::invalid(&path, actions.clone(), detail));
    }
    if actions.is_empty() {
        errors.push(FieldError::required(
            &path,
            "at least one validation action is required",
        ));
    }
}

fn validate_status(object: &Value, errors: &mut Errors) {
    let status = PathRef::root("status");
    let checking = status.child("typeChecking");
    let path = checking.child("expressionWarnings");
    for (index, warning) in list_at(object, &["status", "typeChecking", "expressionWarnings"])
        .iter()
        .enumerate()
    {
        let path = path.index(index);
        if str_at(warning, &["warning"]).is_empty() {
            errors.push(FieldError::required(&path.child("warning"), ""));
        }
        if str_at(warning, &["fieldRef"]).trim().is_empty() {
            errors.push(FieldError::required(&path.child("fieldRef"), ""));
        }
    }
    conditions::validate(
        list_at(object, &["status", "conditions"]),
        &status.child("conditions"),
        errors,
    );
}
