//! What an update may change in a pod: next to nothing.

use std::collections::{BTreeMap, HashMap};

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::rules::access::{at, complain, keep, list_at, map_at, opt_int_at, opt_str_at, part, remove, same, str_at};

use super::annotations::{self, MIRROR};
use super::options::Options;
use super::{containers, diff, internal, scheduling, validate_object};

const MUTABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Everything wrong with an update of the pod itself.
pub(crate) fn validate(pod: &Value, old: &Value, options: Options, errors: &mut Errors) {
    validate_object(pod, options, errors);
    let metadata = PathRef::root("metadata");
    annotations::validate_update(pod, old, options, &metadata.child("annotations"), errors);
    let spec = part(pod, "spec");
    let old_spec = part(old, "spec");
    let path = PathRef::root("spec");
    for list in ["containers", "initContainers"] {
        if !validate_containers(spec, old_spec, list, &path.child(list), errors) {
            return;
        }
    }
    if !validate_deadline(spec, old_spec, &path.child("activeDeadlineSeconds"), errors) {
        return;
    }
    validate_tolerations(spec, old_spec, options, &path.child("tolerations"), errors);
    validate_gates(spec, old_spec, &path.child("schedulingGates"), errors);
    if internal::same("PodSpec", spec, old_spec) {
        return;
    }
    let munged = with_mutable_fields_of(spec, old_spec, &path, errors);
    if !internal::same("PodSpec", &munged, old_spec) {
        let before = internal::print("PodSpec", old_spec).pretty();
        let after = internal::print("PodSpec", &munged).pretty();
        errors.push(FieldError::forbidden(
            &path,
            format!("{MUTABLE}\n{}", diff::unified(&before, &after)),
        ));
    }
}

/// Answers whether the rest of the update can be compared.
fn validate_containers(spec: &Value, old: &Value, list: &str, path: &PathRef<'_>, errors: &mut Errors) -> bool {
    let containers = list_at(spec, &[list]);
    if containers.len() != list_at(old, &[list]).len() {
        errors.push(FieldError::forbidden(
            path,
            "pod updates may not add or remove containers",
        ));
        return false;
    }
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(index);
        if str_at(container, &["image"]).is_empty() {
            errors.push(FieldError::required(&path.child("image"), ""));
        }
        containers::validate_image_is_trimmed(container, &path, errors);
    }
    true
}

/// Answers whether the rest of the update can be compared.
fn validate_deadline(spec: &Value, old: &Value, path: &PathRef<'_>, errors: &mut Errors) -> bool {
    let field = ["activeDeadlineSeconds"];
    match (opt_int_at(spec, &field), opt_int_at(old, &field)) {
        (Some(seconds), before) => {
            let complaints = names::in_range(seconds, 0, i64::from(i32::MAX));
            if !complaints.is_empty() {
                complain(path, seconds, complaints, errors);
                return false;
            }
            if before.is_some_and(|before| before < seconds) {
                errors.push(FieldError::invalid(
                    path,
                    seconds,
                    "must be less than or equal to previous value",
                ));
                return false;
            }
        }
        (None, Some(_)) => {
            let words = "must not update from a positive integer to nil value";
            errors.push(FieldError::invalid(path, Value::Null, words));
        }
        (None, None) => {}
    }
    true
}

fn validate_tolerations(spec: &Value, old: &Value, options: Options, path: &PathRef<'_>, errors: &mut Errors) {
    let but_seconds = |toleration: &Value| {
        let mut toleration = toleration.clone();
        remove(&mut toleration, &["tolerationSeconds"]);
        toleration.to_string()
    };
    let tolerations = list_at(spec, &["tolerations"]);
    let kept: std::collections::HashSet<String> = tolerations.iter().map(but_seconds).collect();
    if list_at(old, &["tolerations"])
        .iter()
        .any(|before| !kept.contains(&but_seconds(before)))
    {
        let words = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(FieldError::forbidden(path, words));
        return;
    }
    scheduling::validate_tolerations(tolerations, options, path, errors);
}

fn validate_gates(spec: &Value, old: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let gates = list_at(spec, &["schedulingGates"]).iter().enumerate();
    let mut added: BTreeMap<&str, usize> = gates.map(|(index, gate)| (str_at(gate, &["name"]), index)).collect();
    for gate in list_at(old, &["schedulingGates"]) {
        added.remove(str_at(gate, &["name"]));
    }
    for (name, index) in added {
        let words = format!("only deletion is allowed, but found new scheduling gate '{name}'");
        errors.push(FieldError::forbidden(&path.index(index).child("name"), words));
    }
}

/// The new spec with the old values of all fields that may change.
fn with_mutable_fields_of(spec: &Value, old: &Value, path: &PathRef<'_>, errors: &mut Errors) -> Value {
    let mut munged = spec.clone();
    for list in ["containers", "initContainers"] {
        let before = list_at(old, &[list]);
        let containers = munged.get_mut(list).and_then(Value::as_array_mut);
        for (container, before) in containers.into_iter().flatten().zip(before) {
            keep(container, before, &["image"]);
        }
    }
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        keep(&mut munged, old, &[field]);
    }
    let grace = ["terminationGracePeriodSeconds"];
    if opt_int_at(old, &grace).is_some_and(|before| before < 0) && opt_int_at(&munged, &grace) == Some(1) {
        keep(&mut munged, old, &grace);
    }
    if !list_at(old, &["schedulingGates"]).is_empty() {
        allow_narrowing(&mut munged, old, path, errors);
    }
    munged
}

/// While a pod has scheduling gates, its node selector and affinity may become narrower.
fn allow_narrowing(munged: &mut Value, old: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    if !same(at(munged, &["nodeSelector"]), at(old, &["nodeSelector"])) {
        let selector = map_at(munged, &["nodeSelector"]);
        let before = map_at(old, &["nodeSelector"]).into_iter().flatten();
        let only_added = before
            .into_iter()
            .all(|(key, value)| selector.and_then(|selector| selector.get(key)) == Some(value));
        if !only_added {
            let words = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
            let shown = at(munged, &["nodeSelector"]).cloned().unwrap_or_default();
            errors.push(FieldError::invalid(&path.child("nodeSelector"), shown, words));
        }
        keep(munged, old, &["nodeSelector"]);
    }
    let field = ["affinity", "nodeAffinity"];
    if same(at(munged, &field), at(old, &field)) {
        return;
    }
    validate_node_affinity(at(munged, &field), at(old, &field), path, errors);
    let was_nothing_else = at(old, &["affinity"]).is_none()
        && at(munged, &["affinity", "podAffinity"]).is_none()
        && at(munged, &["affinity", "podAntiAffinity"]).is_none();
    if was_nothing_else {
        remove(munged, &["affinity"]);
    } else {
        keep(munged, old, &field);
    }
}

fn validate_node_affinity(new: Option<&Value>, old: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    let terms = |affinity: Option<&Value>| -> Vec<Value> {
        affinity
            .map(|affinity| list_at(affinity, &[REQUIRED, "nodeSelectorTerms"]).to_vec())
            .unwrap_or_default()
    };
    if old.and_then(|old| at(old, &[REQUIRED])).is_none() {
        return;
    }
    let (new, old) = (terms(new), terms(old));
    let path = path.child("affinity");
    let path = path.child("nodeAffinity");
    let path = path.child(REQUIRED);
    let path = path.child("nodeSelectorTerms");
    if !old.is_empty() && old.len() != new.len() {
        let words = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        let shown = internal::print_list("NodeSelectorTerm", &Value::Array(new));
        errors.push(internal::invalid(&path, &shown, words));
        return;
    }
    for (index, (new, old)) in new.iter().zip(&old).enumerate() {
        if !only_adds(new, old) {
            let words = "only additions are allowed (no mutations or deletions)";
            let shown = internal::print("NodeSelectorTerm", new);
            errors.push(internal::invalid(&path.index(index), &shown, words));
        }
    }
}

fn only_adds(new: &Value, old: &Value) -> bool {
    let lists = ["matchExpressions", "matchFields"];
    let was_empty = lists.iter().all(|list| list_at(old, &[list]).is_empty());
    let is_empty = lists.iter().all(|list| list_at(new, &[list]).is_empty());
    if was_empty {
        return is_empty;
    }
    lists
        .iter()
        .all(|list| list_at(new, &[list]).starts_with(list_at(old, &[list])))
}

/// Everything wrong with adding ephemeral containers.
pub(crate) fn validate_ephemeral_containers(pod: &Value, old: &Value, options: Options, errors: &mut Errors) {
    if opt_str_at(old, &["metadata", "annotations", MIRROR]).is_some() {
        errors.clear();
        errors.push(FieldError::forbidden(
            &PathRef::root(""),
            "static pods do not support ephemeral containers",
        ));
        return;
    }
    validate_object(pod, options, errors);
    let metadata = PathRef::root("metadata");
    annotations::validate_update(pod, old, options, &metadata.child("annotations"), errors);
    let field = ["spec", "ephemeralContainers"];
    let path = PathRef::root("spec");
    let path = path.child("ephemeralContainers");
    let by_name: HashMap<&str, &Value> = list_at(pod, &field)
        .iter()
        .map(|container| (str_at(container, &["name"]), container))
        .collect();
    for before in list_at(old, &field) {
        let name = str_at(before, &["name"]);
        match by_name.get(name) {
            None => {
                let words = format!("existing ephemeral containers {} may not be removed\n", quote(name));
                errors.push(FieldError::forbidden(&path, words));
            }
            Some(after) if !internal::same("EphemeralContainer", before, after) => {
                let changes = diff::unified(
                    &internal::print("EphemeralContainer", before).pretty(),
                    &internal::print("EphemeralContainer", after).pretty(),
                );
                let words = format!(
                    "existing ephemeral containers {} may not be changed\n{changes}",
                    quote(name)
                );
                errors.push(FieldError::forbidden(&path, words));
            }
            Some(_) => {}
        }
    }
}
