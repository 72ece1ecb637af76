//! Nodes: taints, capacity, and the fields that are set once.

use std::collections::HashSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::behaviour::{Behaviour, Create, Update};
use crate::rules::access::{at, is_unset, list_at, map_at, remove, str_at, strings_at};
use crate::rules::printed;
use crate::rules::resource_names::{amounts, validate_amount};
use crate::rules::{labels, net};

pub(crate) struct Node;

impl Behaviour for Node {
    fn default(&self, object: &mut Value) {
        // `podCIDR` and `podCIDRs` are kept equal.
        default_pod_cidrs(object);
        let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) else {
            return;
        };
        if let Some(capacity) = status.get("capacity").filter(|capacity| !capacity.is_null()).cloned() {
            let allocatable = status.entry("allocatable").or_insert(Value::Null);
            if allocatable.is_null() {
                *allocatable = capacity;
            }
        }
    }

    fn prepare_create(&self, create: Create<'_>) {
        // The kubelet registers its node with a status.
        remove(create.object, &["spec", "configSource"]);
        remove(create.object, &["status", "config"]);
    }

    fn prepare_update(&self, mut update: Update<'_>) {
        update.keep_unwritten();
        let field = if update.subresource == Some("status") {
            ["status", "config"]
        } else {
            ["spec", "configSource"]
        };
        if is_unset(update.old, &field) {
            remove(update.object, &field);
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_taints(object, errors);
        validate_resources(object, errors);
        validate_declared_features(object, errors);
        validate_pod_cidrs(object, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource != Some("status") {
            self.validate_create(object, errors);
        }
        validate_change(object, old, errors);
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        if at(object, &["spec", "configSource"]).is_some() {
            warnings.push("spec.configSource: the feature is removed".to_owned());
        }
        if !str_at(object, &["spec", "externalID"]).is_empty() {
            let words = "spec.externalID: this field is deprecated, and is unused by Kubernetes";
            warnings.push(words.to_owned());
        }
        let path = PathRef::root("spec");
        let path = path.child("podCIDRs");
        for (index, cidr) in strings_at(object, &["spec", "podCIDRs"]).into_iter().enumerate() {
            warnings.extend(net::cidr_warnings(&path.index(index), cidr));
        }
        warnings
    }
}

/// `podCIDR` is the first of `podCIDRs`; a client that knows only the old field sets the new one.
fn default_pod_cidrs(object: &mut Value) {
    let single = str_at(object, &["spec", "podCIDR"]).to_owned();
    let first = strings_at(object, &["spec", "podCIDRs"])
        .first()
        .map(|first| (*first).to_owned());
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    match first {
        None if !single.is_empty() => {
            spec.insert("podCIDRs".to_owned(), vec![single].into());
        }
        Some(first) if !single.is_empty() && first != single => {
            spec.insert("podCIDRs".to_owned(), vec![single].into());
        }
        Some(first) => {
            spec.insert("podCIDR".to_owned(), first.into());
        }
        None => {}
    }
}

fn validate_taints(object: &Value, errors: &mut Errors) {
    // Upstream looks in spec and names metadata.
    let metadata = PathRef::root("metadata");
    let path = metadata.child("taints");
    let mut seen = HashSet::new();
    for (index, taint) in list_at(object, &["spec", "taints"]).iter().enumerate() {
        let path = path.index(index);
        let [key, value, effect] = ["key", "value", "effect"].map(|field| str_at(taint, &[field]));
        labels::validate_label_name(key, &path.child("key"), errors);
        let complaints = names::label_value(value);
        if !complaints.is_empty() {
            errors.push(FieldError::invalid(&path.child("value"), value, complaints.join(";")));
        }
        validate_effect(effect, &path.child("effect"), errors);
        if !seen.insert((effect, key)) {
            let time = at(taint, &["timeAdded"]).cloned().unwrap_or(Value::Null);
            let shown = format!(
                "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":{time}}}",
                Value::from(key),
                Value::from(value),
                Value::from(effect)
            );
            let detail = format!("{shown}: taints must be unique by key and effect pair");
            errors.push(printed::duplicate(&path, detail));
        }
    }
}

fn validate_effect(effect: &str, path: &PathRef<'_>, errors: &mut Errors) {
    const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    if effect.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !EFFECTS.contains(&effect) {
        errors.push(FieldError::not_supported(path, effect, EFFECTS));
    }
}

fn validate_resources(object: &Value, errors: &mut Errors) {
    let status = PathRef::root("status");
    for field in ["capacity", "allocatable"] {
        let path = status.child(field);
        for (name, amount) in amounts(map_at(object, &["status", field])) {
            validate_amount(name, &amount, &path.child(name), errors);
        }
    }
}

fn validate_declared_features(object: &Value, errors: &mut Errors) {
    let status = PathRef::root("status");
    let path = status.child("declaredFeatures");
    let features = strings_at(object, &["status", "declaredFeatures"]);
    for (index, feature) in features.iter().enumerate() {
        if let Some(words) = feature_problem(feature) {
            errors.push(FieldError::invalid(&path.index(index), *feature, words));
        }
        let Some(next) = features.get(index + 1) else { continue };
        if feature == next {
            errors.push(FieldError::duplicate(&path.index(index + 1), *next));
        } else if feature > next {
            errors.push(FieldError::invalid(
                &path.index(index + 1),
                *next,
                "list must be sorted alphabetically",
            ));
        }
    }
}

fn feature_problem(feature: &str) -> Option<String> {
    let quoted = kubewright_apimachinery::go::quote(feature);
    if feature.len() > names::SUBDOMAIN_MAX {
        return Some(format!(
            "invalid feature name {quoted}: must be no more than 253 characters"
        ));
    }
    let mut segments = feature.split('/');
    let is_segment = |segment: &str| !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let first_is_camel = segments
        .next()
        .is_some_and(|first| is_segment(first) && first.starts_with(|letter: char| letter.is_ascii_uppercase()));
    (!first_is_camel || !segments.all(is_segment)).then(|| {
        format!(
            "invalid feature name {quoted}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
        )
    })
}

fn validate_pod_cidrs(object: &Value, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let path = spec.child("podCIDRs");
    let cidrs = strings_at(object, &["spec", "podCIDRs"]);
    for (index, cidr) in cidrs.iter().enumerate() {
        net::validate_cidr_of_old_field(&path.index(index), cidr, &[], errors);
    }
    if cidrs.len() < 2 {
        return;
    }
    let unreadable = |cidr: &&str| net::parse_cidr_sloppy(cidr).is_none();
    if let Some(index) = cidrs.iter().position(unreadable) {
        let cidr = cidrs[index];
        let why = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{index}]: <nil> (invalid CIDR address: {cidr})"
        );
        errors.push(FieldError::internal(&path, why));
    }
    let families: Option<Vec<bool>> = cidrs
        .iter()
        .map(|cidr| net::parse_cidr_sloppy(cidr).map(|cidr| cidr.address.is_ipv4()))
        .collect();
    let is_dual = families.is_some_and(|families| families.contains(&true) && families.contains(&false));
    if !is_dual || cidrs.len() > 2 {
        errors.push(FieldError::invalid(
            &path,
            cidrs,
            "may specify no more than one CIDR for each IP family",
        ));
    }
}

fn validate_change(object: &Value, old: &Value, errors: &mut Errors) {
    validate_resources(object, errors);
    validate_declared_features(object, errors);
    let (spec, status) = (PathRef::root("spec"), PathRef::root("status"));
    let addresses = status.child("addresses");
    let mut seen = HashSet::new();
    for (index, address) in list_at(object, &["status", "addresses"]).iter().enumerate() {
        let (kind, value) = (str_at(address, &["type"]), str_at(address, &["address"]));
        if !seen.insert((kind, value)) {
            let shown = format!("{{\"Type\":{},\"Address\":{}}}", Value::from(kind), Value::from(value));
            errors.push(printed::duplicate(&addresses.index(index), shown));
        }
    }
    let words = "node updates may not change podCIDR except from \"\" to valid";
    let cidrs = strings_at(object, &["spec", "podCIDRs"]);
    let old_cidrs = strings_at(old, &["spec", "podCIDRs"]);
    let changes = match (old_cidrs.len(), cidrs.len()) {
        (0, _) => 0,
        (before, after) if before != after => 1,
        _ => old_cidrs
            .iter()
            .zip(&cidrs)
            .filter(|(before, after)| before != after)
            .count(),
    };
    for _ in 0..changes {
        errors.push(FieldError::forbidden(&spec.child("podCIDRs"), words));
    }
    let provider = str_at(old, &["spec", "providerID"]);
    if !provider.is_empty() && provider != str_at(object, &["spec", "providerID"]) {
        let words = "node updates may not change providerID except from \"\" to valid";
        errors.push(FieldError::forbidden(&spec.child("providerID"), words));
    }
    validate_taints(object, errors);
    if str_at(object, &["spec", "externalID"]) != str_at(old, &["spec", "externalID"]) {
        errors.push(FieldError::forbidden(&spec.child("externalID"), "may not be updated"));
    }
}
