//! The rules of `ObjectMeta` (M1, M3–M5, M7, M11): what the server keeps silently, and what it refuses and how.
//! On an update upstream checks the metadata itself and then lets most kinds check it again, so that a refused field
//! has several equal causes; the strategy says how often.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::names;
use serde_json::{Map, Value};

use crate::rules::access::{
    self, at, bool_at, complain, int_at, list_at, require_non_negative, require_same, str_at, strings_at,
};
use crate::rules::name_rule::NameRule;
use crate::rules::printed;
use crate::rules::{annotations, labels};
use crate::strategy::{MetaCheck, MetaRules, Strategy};

const OWNER_ORDER: [&str; 6] = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];

/// Clears what only the server may set, before a create (M1). The server then fills in uid and creation time.
pub fn wipe_system_fields(metadata: &mut Map<String, Value>) {
    for field in [
        "creationTimestamp",
        "uid",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    ] {
        metadata.remove(field);
    }
}

/// Clears what the server gives every new object, before an update creates one.
pub fn wipe_identity(metadata: &mut Map<String, Value>) {
    for field in ["creationTimestamp", "uid", "selfLink"] {
        metadata.remove(field);
    }
}

/// Before the kind's own preparation of an update: restores the generation, which only the server sets (M3).
pub fn keep_generation(metadata: &mut Map<String, Value>, old: &Value) {
    keep(metadata, old, "generation");
}

/// After the kind's own preparation of an update: restores what an update cannot unset (M3).
pub fn keep_system_fields(metadata: &mut Map<String, Value>, old: &Value) {
    if metadata.get("uid").is_none_or(access::is_empty) {
        keep(metadata, old, "uid");
    }
    for field in ["creationTimestamp", "deletionTimestamp"] {
        if at(old, &[field]).is_some() {
            keep(metadata, old, field);
        }
    }
    if metadata.get("deletionGracePeriodSeconds").is_none_or(Value::is_null) {
        keep(metadata, old, "deletionGracePeriodSeconds");
    }
}

fn keep(metadata: &mut Map<String, Value>, old: &Value, field: &str) {
    match at(old, &[field]) {
        Some(value) => metadata.insert(field.to_owned(), value.clone()),
        None => metadata.remove(field),
    };
}

/// Everything wrong with a new object's metadata, as the kind itself checks it: before the kind's other rules. Kinds
/// that do not check metadata add nothing here.
pub fn validate_create(metadata: &Value, namespaced: bool, strategy: &Strategy, errors: &mut Errors) {
    if strategy.meta != MetaRules::Deferred {
        check_create(metadata, namespaced, strategy, errors);
    }
}

/// Everything wrong with a map of labels.
pub fn validate_labels(map: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    labels::validate_labels(Some(map), path, errors);
}

/// Everything wrong with a map of annotations.
pub fn validate_annotations(map: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    annotations::validate(Some(map), path, errors);
}

/// What every new object's metadata must satisfy: after the kind's rules, and only if those found nothing.
pub fn validate_create_generic(metadata: &Value, namespaced: bool, errors: &mut Errors) {
    check_object_meta(metadata, namespaced, NameRule::PathSegment, true, errors);
}

/// Everything wrong with the change of an object's metadata: before the kind's other rules for updates.
pub fn validate_update(
    new: &Value,
    old: &Value,
    namespaced: bool,
    strategy: &Strategy,
    subresource: Option<&str>,
    errors: &mut Errors,
) {
    check_object_meta(new, namespaced, NameRule::PathSegment, true, errors);
    check_update(new, old, errors);
    for check in strategy.repeated_meta_checks(subresource) {
        match check {
            MetaCheck::Create => check_create(new, namespaced, strategy, errors),
            MetaCheck::Update => {
                check_update(new, old, errors);
                if strategy.meta == MetaRules::Kube {
                    check_finalizers_are_known(new, errors);
                }
            }
        }
    }
}

/// How many errors the last of the repeated checks of [`validate_update`] finds.
pub fn errors_of_last_check(
    new: &Value,
    old: &Value,
    namespaced: bool,
    strategy: &Strategy,
    subresource: Option<&str>,
) -> usize {
    let mut errors = Errors::new();
    match strategy.repeated_meta_checks(subresource).last() {
        None => {}
        Some(MetaCheck::Create) => check_create(new, namespaced, strategy, &mut errors),
        Some(MetaCheck::Update) => {
            check_update(new, old, &mut errors);
            if strategy.meta == MetaRules::Kube {
                check_finalizers_are_known(new, &mut errors);
            }
        }
    }
    errors.len()
}

fn check_create(metadata: &Value, namespaced: bool, strategy: &Strategy, errors: &mut Errors) {
    check_object_meta(
        metadata,
        namespaced,
        strategy.name,
        strategy.checks_generate_name,
        errors,
    );
    if strategy.meta == MetaRules::Kube {
        check_finalizers_are_known(metadata, errors);
    }
}

fn check_object_meta(
    metadata: &Value,
    namespaced: bool,
    rule: NameRule,
    checks_generate_name: bool,
    errors: &mut Errors,
) {
    let path = PathRef::root("metadata");
    let (name, generate_name) = (str_at(metadata, &["name"]), str_at(metadata, &["generateName"]));
    if checks_generate_name && !generate_name.is_empty() {
        complain(
            &path.child("generateName"),
            generate_name,
            rule.prefix(generate_name),
            errors,
        );
    }
    if name.is_empty() {
        errors.push(FieldError::required(
            &path.child("name"),
            "name or generateName is required",
        ));
    } else {
        complain(&path.child("name"), name, rule.name(name), errors);
    }
    let namespace = str_at(metadata, &["namespace"]);
    let namespace_path = path.child("namespace");
    match (namespaced, namespace.is_empty()) {
        (true, true) => errors.push(FieldError::required(&namespace_path, "")),
        (true, false) => complain(&namespace_path, namespace, names::dns1123_label(namespace), errors),
        (false, true) => {}
        (false, false) => errors.push(FieldError::forbidden(&namespace_path, "not allowed on this type")),
    }
    require_non_negative(int_at(metadata, &["generation"]), &path.child("generation"), errors);
    labels::validate_labels(metadata.get("labels"), &path.child("labels"), errors);
    annotations::validate(metadata.get("annotations"), &path.child("annotations"), errors);
    check_owners(metadata, &path.child("ownerReferences"), errors);
    check_finalizers(metadata, &path.child("finalizers"), errors);
    check_managed_fields(metadata, &path.child("managedFields"), errors);
}

fn check_owners(metadata: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let owners = list_at(metadata, &["ownerReferences"]);
    let mut first_controller: Option<String> = None;
    for owner in owners {
        let (api_version, kind) = (str_at(owner, &["apiVersion"]), str_at(owner, &["kind"]));
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        if version.is_empty() || version.contains('/') {
            errors.push(FieldError::invalid(
                &path.child("apiVersion"),
                api_version,
                "version must not be empty",
            ));
        }
        for field in ["kind", "name", "uid"] {
            let value = str_at(owner, &[field]);
            if value.is_empty() {
                errors.push(FieldError::invalid(&path.child(field), value, "must not be empty"));
            }
        }
        if (group, version, kind) == ("", "v1", "Event") {
            let rendered = printed::ordered(owner, &OWNER_ORDER);
            errors.push(printed::invalid(
                path,
                &rendered,
                "/v1, Kind=Event is disallowed from being an owner",
            ));
        }
        if bool_at(owner, &["controller"]) {
            let controller = format!("{kind}/{}", str_at(owner, &["name"]));
            match &first_controller {
                None => first_controller = Some(controller),
                Some(first) => {
                    let rendered: Vec<String> = owners
                        .iter()
                        .map(|owner| printed::ordered(owner, &OWNER_ORDER))
                        .collect();
                    let words = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {controller}"
                    );
                    errors.push(printed::invalid(path, &format!("[{}]", rendered.join(",")), &words));
                }
            }
        }
    }
}

fn check_finalizers(metadata: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let finalizers = strings_at(metadata, &["finalizers"]);
    for finalizer in &finalizers {
        complain(path, *finalizer, names::qualified_name(finalizer), errors);
    }
    if finalizers.contains(&"orphan") && finalizers.contains(&"foregroundDeletion") {
        let words = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(path, finalizers, words));
    }
}

/// The stricter rule of Kubernetes' own kinds: a finalizer has a domain, unless it is one of the old three.
fn check_finalizers_are_known(metadata: &Value, errors: &mut Errors) {
    let path = PathRef::root("metadata");
    let path = path.child("finalizers");
    for (index, finalizer) in strings_at(metadata, &["finalizers"]).into_iter().enumerate() {
        finalizer_is_known(finalizer, &path.index(index), errors);
    }
}

/// Reports a finalizer that neither has a domain nor is one of Kubernetes' own.
pub(crate) fn finalizer_is_known(finalizer: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if !finalizer.contains('/') && !matches!(finalizer, "kubernetes" | "orphan" | "foregroundDeletion") {
        let words = "name is neither a standard finalizer name nor is it fully qualified";
        errors.push(FieldError::invalid(path, finalizer, words));
    }
}

fn check_managed_fields(metadata: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    const MANAGER_MAX: usize = 128;
    const SUBRESOURCE_MAX: usize = 256;
    for (index, entry) in list_at(metadata, &["managedFields"]).iter().enumerate() {
        let path = path.index(index);
        let operation = str_at(entry, &["operation"]);
        if !matches!(operation, "Apply" | "Update") {
            errors.push(FieldError::invalid(
                &path.child("operation"),
                operation,
                "must be `Apply` or `Update`",
            ));
        }
        let fields_type = str_at(entry, &["fieldsType"]);
        if !matches!(fields_type, "" | "FieldsV1") {
            errors.push(FieldError::invalid(
                &path.child("fieldsType"),
                fields_type,
                "must be `FieldsV1`",
            ));
        }
        for (field, max) in [("manager", MANAGER_MAX), ("subresource", SUBRESOURCE_MAX)] {
            if str_at(entry, &[field]).len() > max {
                errors.push(FieldError::too_long(&path.child(field), max));
            }
        }
    }
}

fn check_update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = PathRef::root("metadata");
    if at(old, &["deletionTimestamp"]).is_some() {
        check_no_new_finalizers(new, old, &path.child("finalizers"), errors);
    }
    if str_at(new, &["resourceVersion"]).is_empty() {
        errors.push(FieldError::invalid(
            &path.child("resourceVersion"),
            "",
            "must be specified for an update",
        ));
    }
    let generation = int_at(new, &["generation"]);
    if generation < int_at(old, &["generation"]) {
        errors.push(FieldError::invalid(
            &path.child("generation"),
            generation,
            "must not be decremented",
        ));
    }
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        require_same(at(new, &[field]), at(old, &[field]), &path.child(field), errors);
    }
    labels::validate_labels(new.get("labels"), &path.child("labels"), errors);
    annotations::validate(new.get("annotations"), &path.child("annotations"), errors);
    check_owners(new, &path.child("ownerReferences"), errors);
    check_managed_fields(new, &path.child("managedFields"), errors);
}

fn check_no_new_finalizers(new: &Value, old: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let known = strings_at(old, &["finalizers"]);
    let mut added: Vec<&str> = strings_at(new, &["finalizers"]);
    added.retain(|finalizer| !known.contains(finalizer));
    added.sort_unstable();
    added.dedup();
    if !added.is_empty() {
        let quoted: Vec<String> = added.into_iter().map(quote).collect();
        errors.push(FieldError::forbidden(
            path,
            format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                quoted.join(", ")
            ),
        ));
    }
}

#[cfg(test)]
#[path = "meta_tests.rs"]
mod tests;
