//! The defaults of a pod that depend on its other fields; the table of facts knows the rest.

use serde_json::{Map, Value, json};

use crate::rules::access::{bool_at, int_at, list_at, map_at, map_mut, remove, set_default, set_default_str, str_at};
use crate::rules::resource_names::{is_huge_page, is_overcommit_allowed, quantity};

use super::{containers, image, resources, volumes};

/// Annotations that held init containers before they were fields; a pod does not keep them.
const BEFORE_INIT_CONTAINERS: [&str; 4] = [
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];

/// The defaults of a spec, in a pod or a template.
pub(crate) fn spec(spec: &mut Value) {
    service_account(spec);
    containers::visit_mut(spec, |container| {
        let policy = pull_policy(str_at(container, &["image"]));
        set_default_str(container, &[], "imagePullPolicy", policy);
        round_up(container.get_mut("resources"));
    });
    round_up(spec.get_mut("resources"));
    round_up_amounts(spec.get_mut("overhead"));
    let volumes = spec.get_mut("volumes").and_then(Value::as_array_mut);
    for volume in volumes.into_iter().flatten() {
        if !volumes::has_source(volume) {
            set_default(volume, &[], "emptyDir", Value::Object(Map::new()));
        }
        if volume.get("image").is_some_and(Value::is_object) {
            let policy = pull_policy(str_at(volume, &["image", "reference"]));
            set_default_str(volume, &["image"], "pullPolicy", policy);
        }
    }
}

/// `serviceAccount` is an old name of `serviceAccountName`; the two always agree.
fn service_account(spec: &mut Value) {
    let new_name = str_at(spec, &["serviceAccountName"]);
    let name = if new_name.is_empty() {
        str_at(spec, &["serviceAccount"])
    } else {
        new_name
    }
    .to_owned();
    if name.is_empty() {
        remove(spec, &["serviceAccount"]);
    } else if let Some(spec) = spec.as_object_mut() {
        spec.insert("serviceAccount".to_owned(), name.as_str().into());
        spec.insert("serviceAccountName".to_owned(), name.into());
    }
}

/// `podIP` is the first of `podIPs`, and the one that counts when they differ.
fn pod_addresses(pod: &mut Value) {
    let address = str_at(pod, &["status", "podIP"]).to_owned();
    let first = list_at(pod, &["status", "podIPs"])
        .first()
        .map(|first| str_at(first, &["ip"]).to_owned());
    let Some(status) = pod.get_mut("status").and_then(Value::as_object_mut) else {
        return;
    };
    match first {
        Some(first) if address.is_empty() => drop(status.insert("podIP".to_owned(), first.into())),
        first if !address.is_empty() && first.as_ref() != Some(&address) => {
            status.insert("podIPs".to_owned(), json!([{ "ip": address }]));
        }
        _ => {}
    }
}

/// The defaults of a pod, which a template does not have.
pub(crate) fn pod(pod: &mut Value) {
    pod_addresses(pod);
    for key in BEFORE_INIT_CONTAINERS {
        remove(pod, &["metadata", "annotations", key]);
    }
    if int_at(pod, &["spec", "terminationGracePeriodSeconds"]) < 0
        && let Some(spec) = map_mut(pod, &["spec"])
    {
        spec.insert("terminationGracePeriodSeconds".to_owned(), 1.into());
    }
    let Some(of_pod) = pod.get_mut("spec") else { return };
    spec(of_pod);
    for list in ["containers", "initContainers"] {
        for container in of_pod.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            requests_from_limits(container);
        }
    }
    pod_level_limits(of_pod);
    pod_level_requests(of_pod);
    set_default(of_pod, &[], "enableServiceLinks", true);
    if bool_at(of_pod, &["hostNetwork"]) {
        for list in ["containers", "initContainers"] {
            for container in of_pod.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                host_ports(container);
            }
        }
    }
}

fn pull_policy(image: &str) -> &'static str {
    if image::is_latest(image) {
        "Always"
    } else {
        "IfNotPresent"
    }
}

fn requests_from_limits(container: &mut Value) {
    let Some(limits) = map_at(container, &["resources", "limits"]).cloned() else {
        return;
    };
    for (name, limit) in limits {
        set_default(container, &["resources", "requests"], &name, limit);
    }
}

fn host_ports(container: &mut Value) {
    for port in container
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let number = int_at(port, &["containerPort"]);
        if int_at(port, &["hostPort"]) == 0
            && number != 0
            && let Some(port) = port.as_object_mut()
        {
            port.insert("hostPort".to_owned(), number.into());
        }
    }
}

/// A pod that limits itself is limited to the huge pages its containers may use.
fn pod_level_limits(spec: &mut Value) {
    let is_set = |kind| map_at(spec, &["resources", kind]).is_some_and(|amounts| !amounts.is_empty());
    if !is_set("limits") && !is_set("requests") {
        return;
    }
    for (name, amount) in resources::aggregate(spec, "limits") {
        let requested = map_at(spec, &["resources", "requests"]).is_some_and(|requests| requests.contains_key(&name));
        if is_huge_page(&name) && !requested {
            set_default(spec, &["resources", "limits"], &name, amount.to_string());
        }
    }
}

/// A pod that limits itself requests what its containers do, or its limit.
fn pod_level_requests(spec: &mut Value) {
    let Some(limits) = map_at(spec, &["resources", "limits"])
        .filter(|limits| !limits.is_empty())
        .cloned()
    else {
        return;
    };
    for (name, amount) in resources::aggregate(spec, "requests") {
        if resources::is_pod_level(&name) && is_overcommit_allowed(&name) {
            set_default(spec, &["resources", "requests"], &name, amount.to_string());
        }
    }
    for (name, limit) in limits.into_iter().filter(|(name, _)| resources::is_pod_level(name)) {
        set_default(spec, &["resources", "requests"], &name, limit);
    }
}

fn round_up(requirements: Option<&mut Value>) {
    let Some(requirements) = requirements else { return };
    for kind in ["limits", "requests"] {
        round_up_amounts(requirements.get_mut(kind));
    }
}

/// Amounts finer than a thousandth are rounded up to one.
fn round_up_amounts(amounts: Option<&mut Value>) {
    for amount in amounts
        .and_then(Value::as_object_mut)
        .into_iter()
        .flatten()
        .map(|(_, amount)| amount)
    {
        let Some(mut rounded) = quantity(amount) else {
            continue;
        };
        let exact = rounded.clone();
        rounded.round_up(-3);
        if rounded != exact {
            *amount = rounded.to_string().into();
        }
    }
}
