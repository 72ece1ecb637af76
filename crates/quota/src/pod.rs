//! What a whole Pod requests and is limited to.

use kubewright_quantity::Quantity;
use serde_json::Value;

use crate::{ResourceList, list, text};

/// What of a Pod is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The spec alone, without the overhead: what a `LimitRange` is about.
    Spec,
    /// The spec and the overhead: what a node must have.
    SpecWithOverhead,
    /// The spec, what the status says of a resize, and the overhead: what a `ResourceQuota` is about.
    Status,
}

/// What a Pod requests.
pub fn pod_requests(pod: &Value, basis: Basis) -> ResourceList {
    let mut total = of_containers(pod, "requests", basis);
    of_pod(pod, "requests", basis, &mut total);
    if basis != Basis::Spec {
        total.add(&ResourceList::read(pod.pointer("/spec/overhead")));
    }
    total
}

/// What a Pod is limited to.
pub fn pod_limits(pod: &Value, basis: Basis) -> ResourceList {
    let mut total = of_containers(pod, "limits", basis);
    of_pod(pod, "limits", basis, &mut total);
    if basis != Basis::Spec {
        // The overhead is on top of a limit, and makes none.
        let overhead = ResourceList::read(pod.pointer("/spec/overhead"));
        total.add(&overhead.only(|name| total.get(name).is_some_and(|limit| !limit.is_zero())));
    }
    total
}

/// Whether the Pod has resources of its own that take the place of its containers'.
pub(crate) fn has_own_resources(pod: &Value) -> bool {
    ["/spec/resources/requests", "/spec/resources/limits"]
        .into_iter()
        .any(|list| {
            let names = pod.pointer(list).and_then(Value::as_object);
            names.is_some_and(|names| names.keys().any(|name| is_of_pods(name, Basis::Status)))
        })
}

/// Whether a Pod can have an amount of this resource for all its containers.
fn is_of_pods(name: &str, basis: Basis) -> bool {
    matches!(name, "cpu" | "memory") || basis != Basis::Spec && name.starts_with("hugepages-")
}

fn of_pod(pod: &Value, which: &str, basis: Basis, total: &mut ResourceList) {
    let own = ResourceList::read(pod.pointer("/spec/resources").and_then(|own| own.get(which)));
    for (name, amount) in own.iter().filter(|(name, _)| is_of_pods(name, basis)) {
        total.set(name, amount.clone());
    }
}

/// The sum of the containers and sidecars, or what an init container needs beside the sidecars before it, if that is more.
fn of_containers(pod: &Value, which: &str, basis: Basis) -> ResourceList {
    let mut total = ResourceList::default();
    for container in list(pod.pointer("/spec/containers")) {
        total.add(&of_container(pod, container, which, basis));
    }
    let (mut sidecars, mut initializing) = (ResourceList::default(), ResourceList::default());
    for container in list(pod.pointer("/spec/initContainers")) {
        if text(container, "restartPolicy") == "Always" {
            let own = of_container(pod, container, which, basis);
            total.add(&own);
            sidecars.add(&own);
            initializing.raise_to(&sidecars);
        } else {
            let mut own = of_container(pod, container, which, Basis::Spec);
            own.add(&sidecars);
            initializing.raise_to(&own);
        }
    }
    total.raise_to(&initializing);
    total
}

fn of_container(pod: &Value, container: &Value, which: &str, basis: Basis) -> ResourceList {
    let wanted = ResourceList::read(container.pointer("/resources").and_then(|own| own.get(which)));
    if basis != Basis::Status {
        return wanted;
    }
    let name = text(container, "name");
    let statuses = ["/status/containerStatuses", "/status/initContainerStatuses"];
    let status = statuses
        .into_iter()
        .flat_map(|statuses| list(pod.pointer(statuses)))
        .find(|status| text(status, "name") == name && status.get("resources").is_some());
    let Some(status) = status else { return wanted };
    let mut effective = ResourceList::read(status.pointer("/resources").and_then(|own| own.get(which)));
    if which == "requests" {
        effective.raise_to(&ResourceList::read(status.get("allocatedResources")));
    }
    if !is_infeasible(pod) {
        effective.raise_to(&wanted);
    }
    effective
}

/// Whether the node cannot do the resize that the spec asks for.
fn is_infeasible(pod: &Value) -> bool {
    list(pod.pointer("/status/conditions"))
        .iter()
        .find(|condition| text(condition, "type") == "PodResizePending")
        .is_some_and(|condition| text(condition, "reason") == "Infeasible")
}

/// What one container, or the whole Pod, uses of a quota by its requests and limits.
pub(crate) fn compute_usage(requests: &ResourceList, limits: &ResourceList) -> ResourceList {
    let mut usage = ResourceList::default();
    usage.set("pods", Quantity::from_int(1));
    for name in ["cpu", "memory", "ephemeral-storage"] {
        if let Some(request) = requests.get(name) {
            usage.set(name, request.clone());
            usage.set(format!("requests.{name}"), request.clone());
        }
        if let Some(limit) = limits.get(name) {
            usage.set(format!("limits.{name}"), limit.clone());
        }
    }
    for (name, request) in requests.iter() {
        if name.starts_with("hugepages-") {
            usage.set(name, request.clone());
            usage.set(format!("requests.{name}"), request.clone());
        }
        if is_extended(name) {
            usage.set(format!("requests.{name}"), request.clone());
        }
    }
    usage
}

/// Whether the name is of a resource that somebody else than Kubernetes defined, or of a class of devices.
pub(crate) fn is_extended(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    !is_native && !name.starts_with("requests.") || name.starts_with("deviceclass.resource.kubernetes.io/")
}
