//! The names of a kind: requested ones and accepted ones follow the same rules.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names::dns1035_label;
use serde_json::Value;

use crate::crd::access::{text, texts};

/// What is wrong with the names that are there.
pub(super) fn validate(names: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    for field in ["plural", "singular"] {
        let name = text(names, &[field]);
        if !name.is_empty() {
            label(name, &path.child(field), errors);
        }
    }
    let mixed = "may have mixed case, but should otherwise match: ";
    for field in ["kind", "listKind"] {
        let name = text(names, &[field]);
        let problems = dns1035_label(&name.to_lowercase());
        if !name.is_empty() && !problems.is_empty() {
            let words = format!("{mixed}{}", problems.join(","));
            errors.push(FieldError::invalid(&path.child(field), name, words));
        }
    }
    each(names, "shortNames", path, errors);
    let kind = text(names, &["kind"]);
    if !kind.is_empty() && kind == text(names, &["listKind"]) {
        let words = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(&path.child("listKind"), kind, words));
    }
    each(names, "categories", path, errors);
}

fn each(names: &Value, field: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let path = path.child(field);
    for (index, name) in texts(names, &[field]).into_iter().enumerate() {
        label(name, &path.index(index), errors);
    }
}

/// Refuses names that are not DNS labels starting with a letter, with all reasons in one error.
pub(super) fn label(name: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let problems = dns1035_label(name);
    if !problems.is_empty() {
        errors.push(FieldError::invalid(path, name, problems.join(",")));
    }
}
