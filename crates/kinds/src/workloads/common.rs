//! What the workload controllers have in common: a selector, a template that must match it, counts in the status.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::behaviour::Update;
use crate::pod::options::Options;
use crate::pod::{internal, template};
use crate::rules::access::{
    IMMUTABLE, at, int_at, map_at, opt_int_at, part, remove, require_non_negative, same, str_at,
};
use crate::rules::labels::{self, SelectorOptions};

/// Resets the status and drops what 1.36 has disabled.
pub(crate) fn prepare_create(object: &mut Value) {
    remove(object, &["status"]);
    template::drop_disabled(template_mut(object));
}

/// Keeps the status, or everything but it, and drops what 1.36 has disabled.
pub(crate) fn prepare_update(update: &mut Update<'_>) {
    update.keep_unwritten();
    if update.subresource.is_none() {
        template::drop_disabled(template_mut(update.object));
    }
}

/// The pod template of a workload.
pub(crate) fn template_of(object: &Value) -> Option<&Value> {
    at(object, &["spec", "template"])
}

pub(crate) fn template_mut(object: &mut Value) -> Option<&mut Value> {
    object.get_mut("spec")?.get_mut("template")
}

/// The tolerances for the template because of the stored one.
pub(crate) fn options(old: Option<&Value>) -> Options {
    Options::from_old(old.and_then(template_of))
}

/// The warnings of a workload whose name becomes part of its pods' names.
pub(crate) fn warnings(object: &Value, old: Option<&Value>, names_pods: bool) -> Vec<String> {
    let mut found = Vec::new();
    if old.is_none() && names_pods {
        found.extend(name_warning(object));
    }
    if changes_spec(object, old) {
        let path = PathRef::root("spec");
        found.extend(template::warn(template_of(object), &path.child("template")));
    }
    found
}

/// Whether a write changes the spec; there are warnings only then.
pub(crate) fn changes_spec(object: &Value, old: Option<&Value>) -> bool {
    old.is_none_or(|old| !same(at(object, &["spec"]), at(old, &["spec"])))
}

/// A name that no pod can have as its hostname.
pub(crate) fn name_warning(object: &Value) -> Option<String> {
    let complaints = names::dns1123_label(str_at(object, &["metadata", "name"]));
    let words = "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended";
    (!complaints.is_empty()).then(|| format!("{words}: [{}]", complaints.join(" ")))
}

/// The selector is set and selects something; returns whether it can be used.
pub(crate) fn validate_selector(spec: &Value, owner: &str, path: &PathRef<'_>, errors: &mut Errors) -> bool {
    let path = path.child("selector");
    let Some(selector) = at(spec, &["selector"]) else {
        errors.push(FieldError::required(&path, ""));
        return true;
    };
    let before = errors.len();
    labels::validate_selector(Some(selector), SelectorOptions::default(), &path, errors);
    let usable = errors.len() == before;
    if labels::is_empty_selector(selector) {
        let words = format!("empty selector is invalid for {owner}");
        errors.push(internal::invalid(&path, &internal::print_selector(selector), &words));
    }
    usable
}

/// The labels a selector would have to select.
pub(crate) fn validate_selected(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let template = part(spec, "template");
    let selector = at(spec, &["selector"]);
    let template_labels = map_at(template, &["metadata", "labels"]);
    let selects_all = selector.is_some_and(labels::is_empty_selector);
    if !selects_all && !labels::selector_matches(selector, template_labels) {
        push_mismatch(template, &path.child("metadata").child("labels"), errors);
    }
}

/// The selector does not select the template's pods.
pub(crate) fn push_mismatch(template: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let shown = at(template, &["metadata", "labels"]).cloned().unwrap_or_default();
    errors.push(FieldError::invalid(
        path,
        shown,
        "`selector` does not match template `labels`",
    ));
}

/// The pods of a controller have the restart policy `Always`.
pub(crate) fn validate_runs_forever(spec: &Value, owner: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let template = part(spec, "template");
    let path = path.child("spec");
    let policy = str_at(template, &["spec", "restartPolicy"]);
    if policy != "Always" {
        errors.push(FieldError::not_supported(
            &path.child("restartPolicy"),
            policy,
            ["Always"],
        ));
    }
    if at(template, &["spec", "activeDeadlineSeconds"]).is_some() {
        let words = format!("activeDeadlineSeconds in {owner} is not Supported");
        errors.push(FieldError::forbidden(&path.child("activeDeadlineSeconds"), words));
    }
}

/// Everything wrong with the selector and the template of a Deployment or `ReplicaSet`; upstream's
/// messages name a Deployment or a `ReplicaSet`, whichever of the two it is.
pub(crate) fn validate_selector_and_template(spec: &Value, options: Options, path: &PathRef<'_>, errors: &mut Errors) {
    if !validate_selector(spec, "deployment", path, errors) {
        let shown = internal::print_selector(part(spec, "selector"));
        let path = path.child("selector");
        errors.push(internal::invalid(&path, &shown, "invalid label selector"));
        return;
    }
    let path = path.child("template");
    validate_selected(spec, &path, errors);
    template::validate(part(spec, "template"), options, &path, errors);
    validate_runs_forever(spec, "ReplicaSet", &path, errors);
}

/// The selector may not change.
pub(crate) fn validate_selector_unchanged(object: &Value, old: &Value, errors: &mut Errors) {
    let field = ["spec", "selector"];
    let (selector, before) = (at(object, &field), at(old, &field));
    if !same(selector, before) {
        let path = PathRef::root("spec");
        let shown = internal::print_selector(selector.unwrap_or(&Value::Null));
        errors.push(internal::invalid(&path.child("selector"), &shown, IMMUTABLE));
    }
}

/// The numbers of a spec that may not be negative; absent ones are fine.
pub(crate) fn validate_counts(holder: &Value, fields: &[&str], path: &PathRef<'_>, errors: &mut Errors) {
    for field in fields {
        require_non_negative(int_at(holder, &[field]), &path.child(field), errors);
    }
}

/// The parts of the replicas are not more than all of them, nor those available more than those ready, which the errors
/// call `ready_words`.
pub(crate) fn validate_parts(
    status: &Value,
    parts: &[&str],
    ready_words: &str,
    path: &PathRef<'_>,
    errors: &mut Errors,
) {
    let mut require_at_most = |part: &str, whole: &str, words: &str| {
        let count = int_at(status, &[part]);
        if count > int_at(status, &[whole]) {
            let words = format!("cannot be greater than {words}");
            errors.push(FieldError::invalid(&path.child(part), count, words));
        }
    };
    for part in parts {
        require_at_most(part, "replicas", "status.replicas");
    }
    require_at_most("availableReplicas", "readyReplicas", ready_words);
}

/// The number of hash collisions only grows.
pub(crate) fn validate_collisions(object: &Value, old: &Value, errors: &mut Errors) {
    let field = ["status", "collisionCount"];
    let (count, before) = (opt_int_at(object, &field), opt_int_at(old, &field));
    if before.is_some_and(|before| count.is_none_or(|count| count < before)) {
        let path = PathRef::root("status");
        let path = path.child("collisionCount");
        errors.push(FieldError::invalid(
            &path,
            count.unwrap_or_default(),
            "cannot be decremented",
        ));
    }
}

/// A count or a percentage that is not negative.
pub(crate) fn validate_int_or_percent(value: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    match value {
        Some(Value::String(text)) => {
            errors.extend(
                names::percent(text)
                    .into_iter()
                    .map(|words| FieldError::invalid(path, text.as_str(), words)),
            );
        }
        other => require_non_negative(other.and_then(Value::as_i64).unwrap_or_default(), path, errors),
    }
}

/// The number in a count or percentage; what is neither counts as nothing.
pub(crate) fn int_or_percent(value: Option<&Value>) -> i64 {
    match value {
        Some(Value::String(text)) => text.strip_suffix('%').unwrap_or(text).parse().unwrap_or_default(),
        other => other.and_then(Value::as_i64).unwrap_or_default(),
    }
}

/// A percentage is at most 100.
pub(crate) fn validate_at_most_all(value: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(text) = value.and_then(Value::as_str) else {
        return;
    };
    if names::percent(text).is_empty() && int_or_percent(value) > 100 {
        errors.push(FieldError::invalid(path, text, "must not be greater than 100%"));
    }
}
