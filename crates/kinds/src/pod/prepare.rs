//! The fields the API server itself sets, clears or keeps when a pod is written.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value, json};

use crate::behaviour::Update;
use crate::rules::access::{at, int_at, keep, list_at, map_mut, opt_str_at, part, remove, str_at, strings_at};

use super::annotations::APP_ARMOR;
use super::{conditions, containers, disabled, internal, qos, security};

/// A new pod: pending, classified, and with what its annotations and label keys stand for.
pub(crate) fn create(pod: &mut Value) {
    let class = qos::class(part(pod, "spec"));
    if let Some(pod) = pod.as_object_mut() {
        pod.insert("status".to_owned(), json!({ "phase": "Pending", "qosClass": class }));
    }
    if let Some(spec) = pod.get_mut("spec") {
        disabled::drop_fields(spec);
    }
    if !list_at(pod, &["spec", "schedulingGates"]).is_empty() {
        let now = str_at(pod, &["metadata", "creationTimestamp"]).to_owned();
        let message = "Scheduling is blocked due to non-empty scheduling gates";
        conditions::set(pod, "PodScheduled", "False", "SchedulingGated", message, &now);
    }
    let labels = at(pod, &["metadata", "labels"]).cloned().unwrap_or_default();
    merge_label_keys(pod, &labels);
    app_armor_fields(pod);
}

/// An update through the pod itself or one of its subresources.
pub(crate) fn update(update: Update<'_>) {
    let Update {
        object,
        old,
        subresource,
    } = update;
    match subresource {
        Some("status") => {
            prepare_status(object, old);
            disabled::drop_status_fields(object);
        }
        Some("ephemeralcontainers") => {
            let containers = at(object, &["spec", "ephemeralContainers"]).cloned();
            keep(object, old, &["spec"]);
            keep(object, old, &["status"]);
            keep_metadata(object, old);
            match containers {
                Some(containers) => {
                    if let Some(spec) = map_mut(object, &["spec"]) {
                        spec.insert("ephemeralContainers".to_owned(), containers);
                    }
                }
                None => remove(object, &["spec", "ephemeralContainers"]),
            }
        }
        Some("resize") => prepare_resize(object, old),
        _ => {
            keep(object, old, &["status"]);
            if let Some(spec) = object.get_mut("spec") {
                disabled::drop_fields(spec);
            }
        }
    }
}

fn prepare_status(pod: &mut Value, old: &Value) {
    keep(pod, old, &["spec"]);
    keep(pod, old, &["metadata", "deletionTimestamp"]);
    keep(pod, old, &["metadata", "ownerReferences"]);
    if str_at(pod, &["status", "qosClass"]).is_empty() {
        keep(pod, old, &["status", "qosClass"]);
    }
    if int_at(pod, &["status", "observedGeneration"]) == 0 {
        keep(pod, old, &["status", "observedGeneration"]);
    }
    keep_condition_generations(pod, old);
}

/// A condition that does not say which generation it observed keeps what it said before.
fn keep_condition_generations(pod: &mut Value, old: &Value) {
    let mut known: HashMap<&str, VecDeque<i64>> = HashMap::new();
    for condition in list_at(old, &["status", "conditions"]) {
        let generation = int_at(condition, &["observedGeneration"]);
        known
            .entry(str_at(condition, &["type"]))
            .or_default()
            .push_back(generation);
    }
    let conditions = pod.get_mut("status").and_then(|status| status.get_mut("conditions"));
    for condition in conditions.and_then(Value::as_array_mut).into_iter().flatten() {
        let before = known
            .get_mut(str_at(condition, &["type"]))
            .and_then(VecDeque::pop_front)
            .unwrap_or_default();
        if int_at(condition, &["observedGeneration"]) == 0
            && before != 0
            && let Some(condition) = condition.as_object_mut()
        {
            condition.insert("observedGeneration".to_owned(), before.into());
        }
    }
}

/// Only the resources and resize policies of containers pass; containers that were added, removed or renamed are left
/// for validation to refuse.
fn prepare_resize(pod: &mut Value, old: &Value) {
    let lists = ["containers", "initContainers"];
    let count = |pod: &Value, list: &str| list_at(pod, &["spec", list]).len();
    if lists.iter().any(|list| count(pod, list) != count(old, list)) {
        return;
    }
    let resources = at(pod, &["spec", "resources"]).cloned();
    let merged = lists.map(|list| merged_for_resize(list_at(pod, &["spec", list]), list_at(old, &["spec", list])));
    keep(pod, old, &["spec"]);
    keep(pod, old, &["status"]);
    keep_metadata(pod, old);
    let Some(spec) = map_mut(pod, &["spec"]) else { return };
    match resources {
        Some(resources) => spec.insert("resources".to_owned(), resources),
        None => spec.remove("resources"),
    };
    for (list, containers) in lists.into_iter().zip(merged) {
        if !containers.is_empty() {
            spec.insert(list.to_owned(), Value::Array(containers));
        }
    }
}

fn merged_for_resize(new: &[Value], old: &[Value]) -> Vec<Value> {
    if new
        .iter()
        .zip(old)
        .any(|(new, old)| str_at(new, &["name"]) != str_at(old, &["name"]))
    {
        return new.to_vec();
    }
    let merge = |(new, old): (&Value, &Value)| {
        let mut merged = old.clone();
        keep(&mut merged, new, &["resources"]);
        keep(&mut merged, new, &["resizePolicy"]);
        if let (Some(container), true) = (merged.as_object_mut(), new.get("resources").is_some()) {
            container.insert("resources".to_owned(), new["resources"].clone());
        }
        merged
    };
    new.iter().zip(old).map(merge).collect()
}

fn keep_metadata(pod: &mut Value, old: &Value) {
    for field in [
        "deletionTimestamp",
        "generation",
        "selfLink",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
    ] {
        keep(pod, old, &["metadata", field]);
    }
}

/// The label keys of affinity terms and spread constraints become expressions of the selector beside them.
fn merge_label_keys(pod: &mut Value, labels: &Value) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    let Some(spec) = pod.get_mut("spec") else { return };
    if let Some(affinity) = spec.get_mut("affinity") {
        for kind in ["podAffinity", "podAntiAffinity"] {
            let Some(of_pods) = affinity.get_mut(kind) else {
                continue;
            };
            for weighted in of_pods
                .get_mut(PREFERRED)
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                weighted
                    .get_mut("podAffinityTerm")
                    .into_iter()
                    .for_each(|term| extend_selector(term, labels));
            }
            for term in of_pods
                .get_mut(REQUIRED)
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                extend_selector(term, labels);
            }
        }
    }
    let constraints = spec.get_mut("topologySpreadConstraints").and_then(Value::as_array_mut);
    constraints
        .into_iter()
        .flatten()
        .for_each(|constraint| extend_selector(constraint, labels));
}

fn extend_selector(term: &mut Value, labels: &Value) {
    let mut added = Vec::new();
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in strings_at(term, &[field]) {
            if let Some(value) = opt_str_at(labels, &[key]) {
                added.push(json!({ "key": key, "operator": operator, "values": [value] }));
            }
        }
    }
    if added.is_empty() {
        return;
    }
    let Some(selector) = term.get_mut("labelSelector").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(expressions) = selector
        .entry("matchExpressions")
        .or_insert_with(|| json!([]))
        .as_array_mut()
    {
        expressions.extend(added);
    }
}

/// An `AppArmor` annotation becomes the field that replaced it.
fn app_armor_fields(pod: &mut Value) {
    if str_at(pod, &["spec", "os", "name"]) == "windows" {
        return;
    }
    let annotations = at(pod, &["metadata", "annotations"]).cloned().unwrap_or_default();
    let Some(spec) = pod.get_mut("spec") else { return };
    let of_pod = at(spec, &["securityContext", "appArmorProfile"]).cloned();
    containers::visit_mut(spec, |container| {
        let key = format!("{APP_ARMOR}{}", str_at(container, &["name"]));
        if at(container, &["securityContext", "appArmorProfile"]).is_some() {
            return;
        }
        let Some(profile) = opt_str_at(&annotations, &[&key]).and_then(app_armor_profile) else {
            return;
        };
        let same = of_pod
            .as_ref()
            .is_some_and(|of_pod| internal::same("AppArmorProfile", of_pod, &profile));
        if !same && let Some(context) = map_mut(container, &["securityContext"]) {
            context.insert("appArmorProfile".to_owned(), profile);
        }
    });
}

fn app_armor_profile(annotation: &str) -> Option<Value> {
    let mut profile = Map::new();
    let kind = match annotation {
        "unconfined" => "Unconfined",
        "runtime/default" => "RuntimeDefault",
        other => {
            profile.insert("localhostProfile".to_owned(), other.strip_prefix("localhost/")?.into());
            "Localhost"
        }
    };
    profile.insert("type".to_owned(), kind.into());
    let profile = Value::Object(profile);
    let mut errors = Vec::new();
    let path = kubewright_apimachinery::field::PathRef::root("appArmorProfile");
    security::validate_app_armor(Some(&profile), &path, &mut errors);
    errors.is_empty().then_some(profile)
}
