//! The spec of a persistent volume claim inside another object: an ephemeral volume, a `StatefulSet`'s claim template.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::rules::access::{at, complain, complain_if_set, opt_str_at, str_at, strings_at};
use crate::rules::labels::{self, SelectorOptions};
use crate::rules::resource_names::quantity;
use crate::rules::storage;

/// Everything wrong with a claim's spec.
pub(crate) fn validate(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let modes = strings_at(spec, &["accessModes"]);
    let modes_path = path.child("accessModes");
    if modes.is_empty() {
        errors.push(FieldError::required(&modes_path, "at least 1 access mode is required"));
    }
    let selector = at(spec, &["selector"]);
    labels::validate_selector(selector, SelectorOptions::default(), &path.child("selector"), errors);
    storage::validate_access_modes(&modes, &modes_path, errors);
    validate_storage(spec, &path.child("resources"), errors);
    storage::validate_class_and_mode(spec, path, errors);
    for field in ["dataSource", "dataSourceRef"] {
        if let Some(source) = at(spec, &[field]) {
            validate_source(source, &path.child(field), errors);
        }
    }
    validate_sources_agree(spec, path, errors);
    complain_if_set(
        spec,
        "volumeAttributesClassName",
        names::dns1123_subdomain,
        path,
        errors,
    );
}

fn validate_storage(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let path = path.key("storage");
    let Some(storage) = at(spec, &["resources", "requests", "storage"]) else {
        errors.push(FieldError::required(&path, ""));
        return;
    };
    if let Some(amount) = quantity(storage)
        && amount.sign() <= 0
    {
        errors.push(FieldError::invalid(
            &path,
            amount.to_string(),
            "must be greater than zero",
        ));
    }
}

fn validate_source(source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    for field in ["name", "kind"] {
        if str_at(source, &[field]).is_empty() {
            errors.push(FieldError::required(&path.child(field), ""));
        }
    }
    let (group, kind) = (str_at(source, &["apiGroup"]), str_at(source, &["kind"]));
    if group.is_empty() {
        if kind != "PersistentVolumeClaim" {
            let words = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            errors.push(FieldError::invalid(path, kind, words));
        }
    } else {
        complain(&path.child("apiGroup"), group, names::dns1123_subdomain(group), errors);
    }
    complain_if_set(source, "namespace", names::dns1123_label, path, errors);
}

fn validate_sources_agree(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let (Some(source), Some(reference)) = (at(spec, &["dataSource"]), at(spec, &["dataSourceRef"])) else {
        return;
    };
    let words = if str_at(reference, &["namespace"]).is_empty() {
        let agree = ["apiGroup", "kind", "name"]
            .into_iter()
            .all(|field| opt_str_at(source, &[field]) == opt_str_at(reference, &[field]));
        (!agree).then_some("must match dataSourceRef")
    } else {
        Some("may not be specified when dataSourceRef.namespace is specified")
    };
    if let Some(words) = words {
        // Upstream shows the path where the value belongs; a path has no fields to show.
        errors.push(FieldError::invalid(path, serde_json::json!({}), words));
    }
}
