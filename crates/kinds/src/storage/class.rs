//! `StorageClasses` and `VolumeAttributesClasses`: which driver provisions volumes, with which parameters.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::behaviour::Behaviour;
use crate::pod::warnings::deprecated_label;
use crate::rules::access::{
    at, complain, entries_at, list_at, opt_str_at, require_immutable, same, str_at, strings_at,
};
use crate::rules::labels;

const PARAMETERS_MAX: usize = 512;
const PARAMETERS_SIZE_MAX: usize = 256 * 1024;

/// The rules of `StorageClasses`.
pub(crate) struct StorageClass;

impl Behaviour for StorageClass {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_provisioner(object, "provisioner", errors);
        validate_parameters(object, errors);
        let policy = str_at(object, &["reclaimPolicy"]);
        if !matches!(policy, "" | "Delete" | "Retain") {
            errors.push(FieldError::not_supported(
                &PathRef::root("reclaimPolicy"),
                policy,
                ["Delete", "Retain"],
            ));
        }
        let path = PathRef::root("volumeBindingMode");
        match opt_str_at(object, &["volumeBindingMode"]) {
            None => errors.push(FieldError::required(&path, "")),
            Some("Immediate" | "WaitForFirstConsumer") => {}
            Some(mode) => errors.push(FieldError::not_supported(
                &path,
                mode,
                ["Immediate", "WaitForFirstConsumer"],
            )),
        }
        validate_topologies(list_at(object, &["allowedTopologies"]), errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        self.validate_create(object, errors);
        for field in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
            require_immutable(object, old, &[field], errors);
        }
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        let root = PathRef::root("allowedTopologies");
        for (index, term) in list_at(object, &["allowedTopologies"]).iter().enumerate() {
            let path = root.index(index);
            let path = path.child("matchLabelExpressions");
            for (index, expression) in list_at(term, &["matchLabelExpressions"]).iter().enumerate() {
                if let Some(words) = deprecated_label(str_at(expression, &["key"])) {
                    warnings.push(format!("{}: {words}", path.index(index).child("key")));
                }
            }
        }
        warnings
    }
}

/// The rules of `VolumeAttributesClasses`.
pub(crate) struct VolumeAttributesClass;

impl Behaviour for VolumeAttributesClass {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_provisioner(object, "driverName", errors);
        validate_parameters(object, errors);
        if entries_at(object, &["parameters"]).next().is_none() {
            errors.push(FieldError::required(
                &PathRef::root("parameters"),
                "must contain at least one key/value pair",
            ));
        }
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        for field in ["driverName", "parameters"] {
            if !same(at(object, &[field]), at(old, &[field])) {
                errors.push(FieldError::forbidden(
                    &PathRef::root(field),
                    format!("updates to {field} are forbidden."),
                ));
            }
        }
        self.validate_create(object, errors);
    }
}

fn validate_provisioner(object: &Value, field: &str, errors: &mut Errors) {
    let name = str_at(object, &[field]).to_lowercase();
    let path = PathRef::root(field);
    if name.is_empty() {
        errors.push(FieldError::required(&path, ""));
    } else {
        complain(&path, name.as_str(), names::qualified_name(&name), errors);
    }
}

fn validate_parameters(object: &Value, errors: &mut Errors) {
    let path = PathRef::root("parameters");
    if entries_at(object, &["parameters"]).count() > PARAMETERS_MAX {
        errors.push(FieldError::too_long(&path, PARAMETERS_MAX));
        return;
    }
    let mut size = 0;
    for (key, value) in entries_at(object, &["parameters"]) {
        if key.is_empty() {
            errors.push(FieldError::invalid(&path, key, "field can not be empty."));
        }
        size += key.len() + value.len();
    }
    if size > PARAMETERS_SIZE_MAX {
        errors.push(FieldError::too_long(&path, PARAMETERS_SIZE_MAX));
    }
}

fn validate_topologies(terms: &[Value], errors: &mut Errors) {
    let root = PathRef::root("allowedTopologies");
    let mut seen: Vec<BTreeMap<&str, BTreeSet<&str>>> = Vec::new();
    for (index, term) in terms.iter().enumerate() {
        let path = root.index(index);
        let path = path.child("matchLabelExpressions");
        let mut expressions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (index, requirement) in list_at(term, &["matchLabelExpressions"]).iter().enumerate() {
            let path = path.index(index);
            let values_path = path.child("values");
            let values = strings_at(requirement, &["values"]);
            if values.is_empty() {
                errors.push(FieldError::required(&values_path, ""));
            }
            let mut known = HashSet::new();
            for (index, value) in values.iter().enumerate() {
                if !known.insert(*value) {
                    errors.push(FieldError::duplicate(&values_path.index(index), *value));
                }
            }
            let key = str_at(requirement, &["key"]);
            labels::validate_label_name(key, &path.child("key"), errors);
            if expressions.insert(key, values.into_iter().collect()).is_some() {
                errors.push(FieldError::duplicate(&path.child("key"), key));
            }
        }
        // An empty term equals the placeholders upstream compares it with, one for each term there is.
        let equal = seen.iter().filter(|other| **other == expressions).count();
        let placeholders = if expressions.is_empty() { terms.len() } else { 0 };
        for _ in 0..equal + placeholders {
            errors.push(FieldError::duplicate(&path, ""));
        }
        seen.push(expressions);
    }
}
