//! What a definition must look like (C3, C5): every rule in upstream's order and words. The metadata's own rules are
//! those of every object and checked elsewhere.

pub(in crate::crd) mod approval;
pub(in crate::crd) mod ca_bundle;
mod columns;
mod conversion;
mod defaults;
mod field_path;
mod internal;
mod lists;
mod names;
mod open_api;
mod options;
mod printed;
mod props;
mod rules;
mod spec;
pub(in crate::crd) mod structural;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names::dns1123_subdomain;
use serde_json::Value;

use self::internal::Spec;
use self::options::Options;
use self::props::Props;
use super::access::{at, flag, list, text};

const IMMUTABLE: &str = "field is immutable";

/// Everything wrong with a new definition, after [`super::prepare_create`]. The rules of its metadata come before these.
pub fn validate_create(object: &Value) -> Errors {
    let mut errors = Errors::new();
    validate_name(object, &mut errors);
    spec::validate(&Spec::of(object), Options::for_create(), &mut errors);
    validate_rest(object, None, &mut errors);
    errors
}

/// Everything wrong with a changed definition, after [`super::prepare_update`]. Most of what
/// was wrong with the old one is tolerated.
pub fn validate_update(object: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    let options = Options::for_update(object, old);
    let names_are_fixed = options.immutable_names;
    spec::validate(&Spec::of(object), options, &mut errors);
    let path = PathRef::root("spec");
    let names = path.child("names");
    let field = |object: &Value, fields: &[&str]| text(&object["spec"], fields).to_owned();
    let changed = |fields: &[&str]| Some(field(object, fields)).filter(|new| *new != field(old, fields));
    if let Some(scope) = changed(&["scope"]).filter(|_| names_are_fixed) {
        errors.push(printed::invalid(
            &path.child("scope"),
            &printed::json_text(&scope),
            IMMUTABLE,
        ));
    }
    if let Some(kind) = changed(&["names", "kind"]).filter(|_| names_are_fixed) {
        errors.push(FieldError::invalid(&names.child("kind"), kind, IMMUTABLE));
    }
    if let Some(group) = changed(&["group"]) {
        errors.push(FieldError::invalid(&path.child("group"), group, IMMUTABLE));
    }
    if let Some(plural) = changed(&["names", "plural"]) {
        errors.push(FieldError::invalid(&names.child("plural"), plural, IMMUTABLE));
    }
    validate_rest(object, Some(old), &mut errors);
    errors
}

/// Everything wrong with a changed status, after [`super::prepare_status_update`].
pub fn validate_status_update(object: &Value) -> Errors {
    let mut errors = Errors::new();
    validate_accepted_names(object, &mut errors);
    errors
}

fn validate_rest(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    validate_accepted_names(object, errors);
    validate_stored_versions(object, errors);
    approval::validate(object, old, errors);
    let preserves = |object: &Value| flag(object, &["spec", "preserveUnknownFields"]);
    if preserves(object) && !old.is_some_and(preserves) {
        let words =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        let path = PathRef::root("spec");
        errors.push(FieldError::invalid(&path.child("preserveUnknownFields"), true, words));
    }
}

/// The name must be `<plural>.<group>`, and so must the beginning of one that is generated. The rules of metadata check that both are
/// DNS subdomains.
fn validate_name(object: &Value, errors: &mut Errors) {
    let (plural, group) = (
        text(object, &["spec", "names", "plural"]),
        text(object, &["spec", "group"]),
    );
    for field in ["generateName", "name"] {
        let name = text(object, &["metadata", field]);
        if !name.is_empty() && name.strip_prefix(plural).and_then(|rest| rest.strip_prefix('.')) != Some(group) {
            let path = PathRef::root("metadata");
            let words = "must be spec.names.plural+\".\"+spec.group";
            errors.push(FieldError::invalid(&path.child(field), name, words));
        }
    }
}

fn validate_accepted_names(object: &Value, errors: &mut Errors) {
    let path = PathRef::root("status");
    let accepted = at(object, &["status", "acceptedNames"]).unwrap_or(&Value::Null);
    names::validate(accepted, &path.child("acceptedNames"), errors);
}

/// A version objects were stored in stays until a migration has removed it from the status (C3).
fn validate_stored_versions(object: &Value, errors: &mut Errors) {
    let path = PathRef::root("status");
    let path = path.child("storedVersions");
    let stored = list(object, &["status", "storedVersions"]);
    let shown = printed::json(at(object, &["status", "storedVersions"]).unwrap_or(&Value::Null));
    if stored.is_empty() {
        errors.push(printed::invalid(&path, &shown, "must have at least one stored version"));
        return;
    }
    let versions = list(object, &["spec", "versions"]);
    let mut missing: Vec<(usize, &str)> = Vec::new();
    for (index, name) in stored
        .iter()
        .enumerate()
        .filter_map(|(index, name)| Some((index, name.as_str()?)))
    {
        missing.retain(|(_, other)| *other != name);
        missing.push((index, name));
    }
    for version in versions {
        let name = text(version, &["name"]);
        let known = missing.len();
        missing.retain(|(_, other)| *other != name);
        if flag(version, &["storage"]) && known == missing.len() {
            errors.push(printed::invalid(
                &path,
                &shown,
                &format!("must have the storage version {name}"),
            ));
        }
    }
    for (index, name) in missing {
        let words = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until \
             a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
        );
        errors.push(FieldError::invalid(&path.index(index), name, words));
    }
}

/// Every format in the schemas of a definition, with the type beside it.
pub(in crate::crd) fn formats(object: &Value) -> Vec<(&str, &str)> {
    let mut formats = Vec::new();
    for schema in Spec::of(object).schemas() {
        Props(schema).any(&mut |node| {
            if !node.text("format").is_empty() {
                formats.push((node.kind(), node.text("format")));
            }
            false
        });
    }
    formats
}

/// Whether a group is a domain.
fn group_problems(group: &str) -> Vec<String> {
    dns1123_subdomain(group)
}
