//! Resizing a running pod: only cpu and memory, and nothing may go away.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::{Map, Value};

use crate::rules::access::{at, list_at, map_at, opt_str_at, part, str_at};

use super::annotations::MIRROR;
use super::options::Options;
use super::{internal, qos, validate_object};

const LISTS: [&str; 2] = ["containers", "initContainers"];

/// Everything wrong with a resize.
pub(crate) fn validate(pod: &Value, old: &Value, options: Options, errors: &mut Errors) {
    let unplaced = if opt_str_at(old, &["metadata", "annotations", MIRROR]).is_some() {
        Some("static pods cannot be resized")
    } else if str_at(old, &["spec", "os", "name"]) == "windows" {
        Some("windows pods cannot be resized")
    } else {
        None
    };
    if let Some(words) = unplaced {
        errors.clear();
        errors.push(FieldError::forbidden(&PathRef::root(""), words));
        return;
    }
    let before = errors.len();
    validate_object(pod, options, errors);
    let spec = part(pod, "spec");
    let old_spec = part(old, "spec");
    let path = PathRef::root("spec");
    let stored_class = opt_str_at(old, &["status", "qosClass"]).unwrap_or_else(|| qos::class(old_spec));
    if stored_class != qos::class(spec) {
        let words = "Pod QOS Class may not change as a result of resizing";
        errors.push(FieldError::invalid(&path, str_at(pod, &["status", "qosClass"]), words));
    }
    if !node_supports_resize(old) {
        errors.push(FieldError::forbidden(
            &path,
            "Pod running on node without support for resize",
        ));
    }
    let mut rest = spec.clone();
    if has_resources(spec) || has_resources(old_spec) {
        validate_pod_level(&mut rest, spec, old_spec, &path, errors);
    }
    if !validate_order(spec, old_spec, &path, errors) {
        return;
    }
    for list in ["initContainers", "containers"] {
        let pairs = list_at(spec, &[list]).iter().zip(list_at(old_spec, &[list]));
        let path = path.child(list);
        for (index, (new, old)) in pairs.enumerate() {
            validate_nothing_removed(new, old, &path.index(index).child("resources"), errors);
        }
    }
    for list in LISTS {
        validate_only_resources(&mut rest, old_spec, list, &path, errors);
    }
    if errors.len() == before && !internal::same("PodSpec", &rest, old_spec) {
        errors.push(FieldError::forbidden(
            &path,
            "only cpu and memory resources are mutable",
        ));
    }
}

fn validate_nothing_removed(new: &Value, old: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    for kind in ["requests", "limits"] {
        if removes_any(map_at(new, &["resources", kind]), map_at(old, &["resources", kind])) {
            let words = format!("resource {kind} cannot be removed");
            errors.push(FieldError::forbidden(&path.child(kind), words));
        }
    }
}

/// A node that reports no resources of the containers it runs cannot change them.
fn node_supports_resize(old: &Value) -> bool {
    let statuses = list_at(old, &["status", "containerStatuses"]);
    let running = statuses
        .iter()
        .find(|status| at(status, &["state", "running"]).is_some());
    running.is_none_or(|status| at(status, &["resources"]).is_some())
}

fn has_resources(spec: &Value) -> bool {
    ["requests", "limits"]
        .iter()
        .any(|kind| map_at(spec, &["resources", kind]).is_some_and(|amounts| !amounts.is_empty()))
}

fn removes_any(new: Option<&Map<String, Value>>, old: Option<&Map<String, Value>>) -> bool {
    old.into_iter()
        .flatten()
        .any(|(name, _)| new.is_none_or(|new| !new.contains_key(name)))
}

fn validate_pod_level(rest: &mut Value, spec: &Value, old: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let resources_path = path.child("resources");
    let before = at(old, &["resources"]);
    if before.is_some() && at(spec, &["resources"]).is_none() {
        errors.push(FieldError::forbidden(
            &resources_path,
            "pod-level resources cannot be removed",
        ));
        return;
    }
    if before.is_some() {
        for kind in ["requests", "limits"] {
            if removes_any(map_at(spec, &["resources", kind]), map_at(old, &["resources", kind])) {
                let words = format!("pod-level resource {kind} cannot be removed");
                errors.push(FieldError::forbidden(&resources_path.child(kind), words));
            }
        }
    }
    put_back_cpu_and_memory(rest, before);
    let empty = ["requests", "limits"]
        .iter()
        .all(|kind| crate::rules::access::is_unset(rest, &["resources", kind]));
    if before.is_none() && empty {
        crate::rules::access::remove(rest, &["resources"]);
    }
    let unset = Value::Null;
    let (left, right) = (at(rest, &["resources"]).unwrap_or(&unset), before.unwrap_or(&unset));
    if left.is_null() != right.is_null() || !internal::same("ResourceRequirements", left, right) {
        errors.push(FieldError::forbidden(
            path,
            "only cpu and memory resources are mutable at pod-level",
        ));
    }
}

/// Sets cpu and memory of `holder.resources` to what they were.
fn put_back_cpu_and_memory(holder: &mut Value, before: Option<&Value>) {
    let Some(resources) = holder.get_mut("resources").and_then(Value::as_object_mut) else {
        return;
    };
    for kind in ["limits", "requests"] {
        let old = before.and_then(|before| map_at(before, &[kind]));
        let mut amounts = resources
            .get(kind)
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        for name in ["cpu", "memory"] {
            match old.and_then(|old| old.get(name)) {
                Some(amount) => amounts.insert(name.to_owned(), amount.clone()),
                None => amounts.remove(name),
            };
        }
        if amounts.is_empty() {
            resources.remove(kind);
        } else {
            resources.insert(kind.to_owned(), Value::Object(amounts));
        }
    }
}

/// Answers whether the containers can be compared one by one.
fn validate_order(spec: &Value, old: &Value, path: &PathRef<'_>, errors: &mut Errors) -> bool {
    let before = errors.len();
    for list in LISTS {
        let path = path.child(list);
        let (new, old) = (list_at(spec, &[list]), list_at(old, &[list]));
        if new.len() != old.len() {
            errors.push(FieldError::forbidden(
                &path,
                format!("{list} may not be added or removed on resize"),
            ));
            continue;
        }
        for (index, (new, old)) in new.iter().zip(old).enumerate() {
            if str_at(new, &["name"]) != str_at(old, &["name"]) {
                let words = format!("{list} may not be renamed or reordered on resize");
                errors.push(FieldError::forbidden(&path.index(index).child("name"), words));
            }
        }
    }
    errors.len() == before
}

fn validate_only_resources(rest: &mut Value, old: &Value, list: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let before = list_at(old, &[list]);
    let list_path = path.child(list);
    let containers = rest.get_mut(list).and_then(Value::as_array_mut);
    for (index, (container, before)) in containers.into_iter().flatten().zip(before).enumerate() {
        let path_of_init = list_path.index(index);
        let is_modified = !internal::same("Container", container, before);
        put_back_cpu_and_memory(container, at(before, &["resources"]));
        let is_init = list == "initContainers";
        if !internal::same("Container", container, before) {
            if is_init {
                let words = "only cpu and memory resources for init or sidecar containers are mutable";
                errors.push(FieldError::forbidden(&path_of_init, words));
            } else {
                errors.push(FieldError::forbidden(path, "only cpu and memory resources are mutable"));
            }
        }
        if is_init && is_modified && opt_str_at(container, &["restartPolicy"]) != Some("Always") {
            let policies = list_at(container, &["resizePolicy"]).iter();
            for _ in policies.filter(|policy| str_at(policy, &["restartPolicy"]) == "RestartContainer") {
                let words = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
                errors.push(FieldError::forbidden(&path_of_init, words));
            }
        }
    }
}
