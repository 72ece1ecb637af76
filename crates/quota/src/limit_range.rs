//! `LimitRanges`: what they fill in, and what they refuse.

use kubewright_quantity::Quantity;
use serde_json::{Map, Value};

use crate::pod::{Basis, pod_limits, pod_requests};
use crate::{ResourceList, list, text};

const ANNOTATION: &str = "kubernetes.io/limit-ranger";
/// Above this, amounts are compared as whole numbers.
const MAX_MILLI_VALUE: i64 = i64::MAX / 1000;

/// Gives the containers of a Pod the requests and limits that they lack, and notes which in an annotation.
pub fn fill_in(range: &Value, pod: &mut Value) {
    let (mut requests, mut limits) = (Map::new(), Map::new());
    for limit in list(range.pointer("/spec/limits")) {
        if text(limit, "type") != "Container" {
            continue;
        }
        for (field, defaults) in [("defaultRequest", &mut requests), ("default", &mut limits)] {
            for (name, amount) in limit.get(field).and_then(Value::as_object).into_iter().flatten() {
                defaults.insert(name.clone(), amount.clone());
            }
        }
    }
    let mut filled = Vec::new();
    for (field, what) in [("containers", "container"), ("initContainers", "init container")] {
        let containers = pod.pointer_mut("/spec").and_then(|spec| spec.get_mut(field));
        for container in containers.and_then(Value::as_array_mut).into_iter().flatten() {
            let name = text(container, "name").to_owned();
            for (field, defaults, word) in [("requests", &requests, "request"), ("limits", &limits, "limit")] {
                let added = add_missing(container, field, defaults);
                if !added.is_empty() {
                    filled.push(format!("{} {word} for {what} {name}", added.join(", ")));
                }
            }
        }
    }
    if filled.is_empty() {
        return;
    }
    let metadata = pod
        .as_object_mut()
        .map(|pod| pod.entry("metadata").or_insert_with(|| Map::new().into()));
    if let Some(metadata) = metadata.and_then(Value::as_object_mut) {
        let annotations = metadata.entry("annotations").or_insert_with(|| Map::new().into());
        if annotations.is_null() {
            *annotations = Map::new().into();
        }
        if let Some(annotations) = annotations.as_object_mut() {
            let said = format!("LimitRanger plugin set: {}", filled.join("; "));
            annotations.insert(ANNOTATION.into(), said.into());
        }
    }
}

/// Adds what a container lacks, and returns its names in their order.
fn add_missing(container: &mut Value, field: &str, defaults: &Map<String, Value>) -> Vec<String> {
    let mut added = Vec::new();
    if defaults.is_empty() {
        return added;
    }
    let own = container
        .as_object_mut()
        .map(|container| container.entry("resources").or_insert_with(|| Map::new().into()))
        .and_then(Value::as_object_mut)
        .map(|resources| resources.entry(field).or_insert_with(|| Map::new().into()));
    let Some(own) = own else { return added };
    if own.is_null() {
        *own = Map::new().into();
    }
    let Some(own) = own.as_object_mut() else { return added };
    for (name, amount) in defaults {
        if !own.contains_key(name) {
            own.insert(name.clone(), amount.clone());
            added.push(name.clone());
        }
    }
    added.sort();
    added
}

/// What of a Pod a `LimitRange` refuses, in upstream's words.
pub fn refusals_of_pod(range: &Value, pod: &Value) -> Vec<String> {
    let mut refusals = Vec::new();
    for limit in list(range.pointer("/spec/limits")) {
        match text(limit, "type") {
            "Container" => {
                for field in ["containers", "initContainers"] {
                    for container in list(pod.get("spec").and_then(|spec| spec.get(field))) {
                        let own = |which| ResourceList::read(container.get("resources").and_then(|own| own.get(which)));
                        check(limit, "Container", &own("requests"), &own("limits"), &mut refusals);
                    }
                }
            }
            "Pod" => {
                let (requests, limits) = (pod_requests(pod, Basis::Spec), pod_limits(pod, Basis::Spec));
                check(limit, "Pod", &requests, &limits, &mut refusals);
            }
            _ => {}
        }
    }
    refusals
}

/// What of a `PersistentVolumeClaim` a `LimitRange` refuses, in upstream's words.
pub fn refusals_of_claim(range: &Value, claim: &Value) -> Vec<String> {
    const KIND: &str = "PersistentVolumeClaim";
    let requests = ResourceList::read(claim.pointer("/spec/resources/requests"));
    let mut refusals = Vec::new();
    for limit in list(range.pointer("/spec/limits")) {
        if text(limit, "type") != KIND {
            continue;
        }
        for (name, least) in ResourceList::read(limit.get("min")).iter() {
            refusals.extend(below(KIND, name, least, requests.get(name), None));
        }
        for (name, most) in ResourceList::read(limit.get("max")).iter() {
            let about = format!("maximum {name} usage per {KIND} is {most}");
            match requests.get(name) {
                None => refusals.push(format!("{about}.  No request is specified")),
                Some(request) if exceeds(request, most) => {
                    refusals.push(format!("{about}, but request is {request}"));
                }
                Some(_) => {}
            }
        }
    }
    refusals
}

/// As upstream prints several refusals in one: each of them once.
pub fn printed(refusals: &[String]) -> Option<String> {
    let mut once: Vec<&str> = Vec::new();
    for refusal in refusals {
        if !once.contains(&refusal.as_str()) {
            once.push(refusal);
        }
    }
    match once[..] {
        [] => None,
        [only] => Some(only.to_owned()),
        _ => Some(format!("[{}]", once.join(", "))),
    }
}

fn check(limit: &Value, kind: &str, requests: &ResourceList, limits: &ResourceList, refusals: &mut Vec<String>) {
    for (name, least) in ResourceList::read(limit.get("min")).iter() {
        refusals.extend(below(kind, name, least, requests.get(name), limits.get(name)));
    }
    for (name, most) in ResourceList::read(limit.get("max")).iter() {
        refusals.extend(above(kind, name, most, requests.get(name), limits.get(name)));
    }
    for (name, ratio) in ResourceList::read(limit.get("maxLimitRequestRatio")).iter() {
        refusals.extend(out_of_ratio(kind, name, ratio, requests.get(name), limits.get(name)));
    }
}

fn below(
    kind: &str,
    name: &str,
    least: &Quantity,
    request: Option<&Quantity>,
    limit: Option<&Quantity>,
) -> Option<String> {
    let about = format!("minimum {name} usage per {kind} is {least}");
    let Some(request) = request else {
        return Some(format!("{about}.  No request is specified"));
    };
    if exceeds(least, request) {
        return Some(format!("{about}, but request is {request}"));
    }
    let limit = limit.filter(|limit| exceeds(least, limit))?;
    Some(format!("{about}, but limit is {limit}"))
}

fn above(
    kind: &str,
    name: &str,
    most: &Quantity,
    request: Option<&Quantity>,
    limit: Option<&Quantity>,
) -> Option<String> {
    let about = format!("maximum {name} usage per {kind} is {most}");
    let Some(limit) = limit else {
        return Some(format!("{about}.  No limit is specified"));
    };
    if exceeds(limit, most) {
        return Some(format!("{about}, but limit is {limit}"));
    }
    let request = request.filter(|request| exceeds(request, most))?;
    Some(format!("{about}, but request is {request}"))
}

fn out_of_ratio(
    kind: &str,
    name: &str,
    ratio: &Quantity,
    request: Option<&Quantity>,
    limit: Option<&Quantity>,
) -> Option<String> {
    let about = format!("{name} max limit to request ratio per {kind} is {ratio}");
    let Some(request) = request.filter(|request| !request.is_zero()) else {
        return Some(format!("{about}, but no request is specified or request is 0"));
    };
    let Some(limit) = limit.filter(|limit| !limit.is_zero()) else {
        return Some(format!("{about}, but no limit is specified or limit is 0"));
    };
    let (request, limit) = comparable(request, limit, ratio);
    let provided = as_float(limit) / as_float(request);
    let is_within = if ratio.value() <= MAX_MILLI_VALUE {
        provided * 1000.0 <= as_float(ratio.milli_value())
    } else {
        provided <= as_float(ratio.value())
    };
    (!is_within).then(|| format!("{about}, but provided ratio is {provided:.6}"))
}

/// Whether `one` is more than `other`, to the thousandth where that fits.
fn exceeds(one: &Quantity, other: &Quantity) -> bool {
    let (one, other) = comparable(one, other, other);
    one > other
}

/// Two amounts in one unit: thousandths, unless one of the three does not fit then.
fn comparable(one: &Quantity, other: &Quantity, third: &Quantity) -> (i64, i64) {
    if [one, other, third]
        .into_iter()
        .all(|amount| amount.value() <= MAX_MILLI_VALUE)
    {
        (one.milli_value(), other.milli_value())
    } else {
        (one.value(), other.value())
    }
}

/// As Go turns integers into floats.
#[expect(clippy::cast_precision_loss, reason = "upstream compares ratios as floats")]
fn as_float(value: i64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_container_gets_what_it_lacks_and_the_annotation_says_so() {
        let range = json!({ "spec": { "limits": [
            { "type": "Container", "default": { "memory": "2Gi", "cpu": "1" }, "defaultRequest": { "cpu": "100m" } },
        ] } });
        let mut pod = json!({ "spec": { "containers": [{ "name": "c", "resources": { "limits": { "cpu": "2" } } }] } });
        fill_in(&range, &mut pod);
        let resources = &pod["spec"]["containers"][0]["resources"];
        assert_eq!(
            resources,
            &json!({ "limits": { "cpu": "2", "memory": "2Gi" }, "requests": { "cpu": "100m" } })
        );
        assert_eq!(
            pod["metadata"]["annotations"][ANNOTATION],
            "LimitRanger plugin set: cpu request for container c; memory limit for container c"
        );
    }

    #[test]
    fn several_refusals_are_printed_as_a_list_without_repetition() {
        let refusals = ["a".to_owned(), "b".to_owned(), "a".to_owned()];
        assert_eq!(printed(&refusals).as_deref(), Some("[a, b]"));
        assert_eq!(printed(&refusals[..1]).as_deref(), Some("a"));
        assert_eq!(printed(&[]), None);
    }
}
