//! `ValidatingWebhookConfigurations` and `MutatingWebhookConfigurations` (A3-A9, A12).

use std::collections::HashSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use super::{rule, url};
use crate::behaviour::Behaviour;
use crate::rules::access::{at, complain, list_at, opt_int_at, opt_str_at, same, str_at, strings_at};
use crate::rules::labels::{SelectorOptions, has_invalid_values, validate_selector};

const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const NO_SIDE_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];
const SIDE_EFFECTS: [&str; 4] = ["None", "NoneOnDryRun", "Some", "Unknown"];

/// The rules of `ValidatingWebhookConfigurations`.
pub(crate) struct ValidatingWebhookConfiguration;

/// The rules of `MutatingWebhookConfigurations`.
pub(crate) struct MutatingWebhookConfiguration;

impl Behaviour for ValidatingWebhookConfiguration {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate(object, false, WebhookRequirements::of_new(), errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        validate(object, false, WebhookRequirements::of_change(object, old), errors);
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        super::reserved_name_warning(object)
    }
}

impl Behaviour for MutatingWebhookConfiguration {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate(object, true, WebhookRequirements::of_new(), errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        validate(object, true, WebhookRequirements::of_change(object, old), errors);
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        super::reserved_name_warning(object)
    }
}

/// Which rules a configuration must meet; rules that the stored one does not meet are not enforced.
#[derive(Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each demand is dropped for a reason of its own"
)]
struct WebhookRequirements {
    conditions: bool,
    no_side_effects: bool,
    known_review_version: bool,
    unique_names: bool,
    selectors: SelectorOptions,
}

impl WebhookRequirements {
    fn of_new() -> Self {
        WebhookRequirements {
            conditions: true,
            no_side_effects: true,
            known_review_version: true,
            unique_names: true,
            selectors: SelectorOptions::default(),
        }
    }

    fn of_change(object: &Value, old: &Value) -> Self {
        let (new, old) = (list_at(object, &["webhooks"]), list_at(old, &["webhooks"]));
        let conditions = |hook: &Value| at(hook, &["matchConditions"]).cloned();
        let same_conditions = new.len() == old.len()
            && new
                .iter()
                .zip(old)
                .all(|(new, old)| same(conditions(new).as_ref(), conditions(old).as_ref()));
        let mut names = HashSet::new();
        WebhookRequirements {
            conditions: !same_conditions,
            no_side_effects: old
                .iter()
                .all(|hook| NO_SIDE_EFFECTS.contains(&str_at(hook, &["sideEffects"]))),
            known_review_version: old.iter().all(|hook| {
                let versions = strings_at(hook, &["admissionReviewVersions"]);
                versions.is_empty() || versions.iter().any(|version| REVIEW_VERSIONS.contains(version))
            }),
            unique_names: old.iter().all(|hook| names.insert(str_at(hook, &["name"]))),
            selectors: SelectorOptions {
                allow_invalid_values: old.iter().any(|hook| {
                    ["namespaceSelector", "objectSelector"]
                        .into_iter()
                        .any(|selector| has_invalid_values(at(hook, &[selector])))
                }),
            },
        }
    }
}

fn validate(object: &Value, mutating: bool, demands: WebhookRequirements, errors: &mut Errors) {
    let root = PathRef::root("webhooks");
    let mut names = HashSet::new();
    for (index, hook) in list_at(object, &["webhooks"]).iter().enumerate() {
        let path = root.index(index);
        validate_hook(hook, mutating, demands, &path, errors);
        validate_review_versions(hook, demands, &path.child("admissionReviewVersions"), errors);
        let name = str_at(hook, &["name"]);
        if demands.unique_names && !name.is_empty() && !names.insert(name) {
            errors.push(FieldError::duplicate(&path.child("name"), name));
        }
    }
}

fn validate_hook(hook: &Value, mutating: bool, demands: WebhookRequirements, path: &PathRef<'_>, errors: &mut Errors) {
    validate_qualified_name(str_at(hook, &["name"]), &path.child("name"), errors);
    let rules = path.child("rules");
    for (index, item) in list_at(hook, &["rules"]).iter().enumerate() {
        rule::validate(item, &rules.index(index), errors);
    }
    let one_of = |field: &str, supported: &[&str], errors: &mut Errors| {
        if let Some(value) = opt_str_at(hook, &[field])
            && !supported.contains(&value)
        {
            errors.push(FieldError::not_supported(&path.child(field), value, supported));
        }
    };
    one_of("failurePolicy", &["Fail", "Ignore"], errors);
    one_of("matchPolicy", &["Equivalent", "Exact"], errors);
    let effects: &[&str] = if demands.no_side_effects {
        &NO_SIDE_EFFECTS
    } else {
        &SIDE_EFFECTS
    };
    if at(hook, &["sideEffects"]).is_none() {
        let detail = format!("must specify one of {}", effects.join(", "));
        errors.push(FieldError::required(&path.child("sideEffects"), detail));
    }
    one_of("sideEffects", effects, errors);
    if let Some(timeout) = opt_int_at(hook, &["timeoutSeconds"])
        && !(1..=30).contains(&timeout)
    {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.push(FieldError::invalid(&path.child("timeoutSeconds"), timeout, detail));
    }
    for selector in ["namespaceSelector", "objectSelector"] {
        validate_selector(at(hook, &[selector]), demands.selectors, &path.child(selector), errors);
    }
    if mutating {
        one_of("reinvocationPolicy", &["IfNeeded", "Never"], errors);
    }
    let client = path.child("clientConfig");
    match (
        opt_str_at(hook, &["clientConfig", "url"]),
        at(hook, &["clientConfig", "service"]),
    ) {
        (Some(text), None) => url::validate_url(text, &client.child("url"), errors),
        (None, Some(service)) => url::validate_service(service, &client.child("service"), errors),
        _ => errors.push(FieldError::required(
            &client,
            "exactly one of url or service is required",
        )),
    }
    if demands.conditions {
        rule::validate_conditions(hook, path, kubewright_admission::check_expression, errors);
    }
}

/// A webhook's name has a domain: three segments at least.
fn validate_qualified_name(name: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let complaints = names::dns1123_subdomain(name);
    if !complaints.is_empty() {
        errors.push(FieldError::invalid(path, name, complaints.join(",")));
    } else if name.split('.').count() < 3 {
        errors.push(FieldError::invalid(
            path,
            name,
            "should be a domain with at least three segments separated by dots",
        ));
    }
}

fn validate_review_versions(hook: &Value, demands: WebhookRequirements, path: &PathRef<'_>, errors: &mut Errors) {
    let versions = strings_at(hook, &["admissionReviewVersions"]);
    let known = REVIEW_VERSIONS.join(", ");
    if versions.is_empty() {
        errors.push(FieldError::required(path, format!("must specify one of {known}")));
        return;
    }
    let mut seen = HashSet::new();
    for (index, version) in versions.iter().enumerate() {
        if seen.insert(*version) {
            complain(&path.index(index), *version, names::dns1035_label(version), errors);
        } else {
            errors.push(FieldError::invalid(&path.index(index), *version, "duplicate version"));
        }
    }
    if demands.known_review_version && !versions.iter().any(|version| REVIEW_VERSIONS.contains(version)) {
        errors.push(FieldError::invalid(
            path,
            versions,
            format!("must include at least one of {known}"),
        ));
    }
}
