//! The scopes of a quota: which objects it is about.

use serde_json::Value;

use crate::evaluator::Kind;
use crate::{ResourceList, list, text};

/// Whether the object is in every scope of the quota.
pub(crate) fn matches(quota: &Value, kind: Kind, object: &Value) -> bool {
    let scopes = list(quota.pointer("/spec/scopes")).iter();
    let mut plain = scopes.filter_map(Value::as_str).map(|name| (name, "Exists", &[][..]));
    let mut selected = list(quota.pointer("/spec/scopeSelector/matchExpressions"))
        .iter()
        .map(|expression| {
            (
                text(expression, "scopeName"),
                text(expression, "operator"),
                list(expression.get("values")),
            )
        });
    plain.all(|(name, operator, values)| is_in(kind, object, name, operator, values))
        && selected.all(|(name, operator, values)| is_in(kind, object, name, operator, values))
}

fn is_in(kind: Kind, object: &Value, scope: &str, operator: &str, values: &[Value]) -> bool {
    match (kind, scope) {
        (Kind::Pods, "Terminating") => has_deadline(object),
        (Kind::Pods, "NotTerminating") => !has_deadline(object),
        (Kind::Pods, "BestEffort") => is_best_effort(object),
        (Kind::Pods, "NotBestEffort") => !is_best_effort(object),
        (Kind::Pods, "PriorityClass") => {
            let class = object.pointer("/spec/priorityClassName").and_then(Value::as_str);
            selects(operator, values, class.filter(|class| !class.is_empty()))
        }
        (Kind::Pods, "CrossNamespacePodAffinity") => has_foreign_affinity(object),
        (Kind::VolumeClaims, "VolumeAttributesClass") => {
            let places = [
                "/spec/volumeAttributesClassName",
                "/status/currentVolumeAttributesClassName",
                "/status/modifyVolumeStatus/targetVolumeAttributesClassName",
            ];
            let names = places.into_iter().filter_map(|place| object.pointer(place)?.as_str());
            let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
            if names.is_empty() {
                return selects(operator, values, None);
            }
            names.into_iter().any(|name| selects(operator, values, Some(name)))
        }
        _ => false,
    }
}

fn selects(operator: &str, values: &[Value], name: Option<&str>) -> bool {
    let is_listed = name.is_some_and(|name| values.iter().any(|value| value.as_str() == Some(name)));
    match operator {
        "Exists" => name.is_some(),
        "DoesNotExist" => name.is_none(),
        "In" => is_listed,
        "NotIn" => !is_listed,
        _ => false,
    }
}

pub(crate) fn has_deadline(pod: &Value) -> bool {
    let deadline = pod.pointer("/spec/activeDeadlineSeconds").and_then(Value::as_i64);
    deadline.is_some_and(|seconds| seconds >= 0)
}

fn is_best_effort(pod: &Value) -> bool {
    if let Some(class) = pod.pointer("/status/qosClass").and_then(Value::as_str) {
        return class == "BestEffort";
    }
    let containers = ["/spec/containers", "/spec/initContainers"];
    let mut containers = containers.into_iter().flat_map(|place| list(pod.pointer(place)));
    containers.all(|container| {
        ["requests", "limits"].into_iter().all(|which| {
            let amounts = ResourceList::read(container.get("resources").and_then(|own| own.get(which)));
            !["cpu", "memory"]
                .into_iter()
                .any(|name| amounts.get(name).is_some_and(|amount| !amount.is_zero()))
        })
    })
}

fn has_foreign_affinity(pod: &Value) -> bool {
    let is_foreign = |term: &Value| !list(term.get("namespaces")).is_empty() || term.get("namespaceSelector").is_some();
    ["/spec/affinity/podAffinity", "/spec/affinity/podAntiAffinity"]
        .into_iter()
        .any(|place| {
            let affinity = pod.pointer(place);
            let terms = |key: &str| list(affinity.and_then(|affinity| affinity.get(key))).iter();
            terms("requiredDuringSchedulingIgnoredDuringExecution").any(is_foreign)
                || terms("preferredDuringSchedulingIgnoredDuringExecution")
                    .any(|weighted| weighted.get("podAffinityTerm").is_some_and(is_foreign))
        })
}
