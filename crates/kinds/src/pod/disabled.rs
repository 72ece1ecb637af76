//! Fields whose feature gates 1.36 has off by default: accepted, then cleared.

use serde_json::Value;

use crate::rules::access::map_mut;

use super::{container_status, containers};

/// Clears them in a pod's spec.
pub(crate) fn drop_fields(spec: &mut Value) {
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("schedulingGroup");
    }
    containers::visit_mut(spec, drop_stop_signal);
    let volumes = spec.get_mut("volumes").and_then(Value::as_array_mut);
    for volume in volumes.into_iter().flatten() {
        let sources = volume
            .get_mut("projected")
            .and_then(|projected| projected.get_mut("sources"));
        for source in sources
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            source.remove("clusterTrustBundle");
            source.remove("podCertificate");
        }
    }
}

/// Clears them in the status of a pod.
pub(crate) fn drop_status_fields(pod: &mut Value) {
    let Some(status) = map_mut(pod, &["status"]) else {
        return;
    };
    status.remove("nodeAllocatableResourceClaimStatuses");
    for list in container_status::LISTS {
        let containers = status.get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let mounts = container.get_mut("volumeMounts").and_then(Value::as_array_mut);
            for mount in mounts.into_iter().flatten().filter_map(Value::as_object_mut) {
                mount.remove("volumeStatus");
            }
        }
    }
}

fn drop_stop_signal(container: &mut Value) {
    let Some(container) = container.as_object_mut() else {
        return;
    };
    let Some(lifecycle) = container.get_mut("lifecycle").and_then(Value::as_object_mut) else {
        return;
    };
    let dropped = lifecycle.remove("stopSignal").is_some_and(|signal| !signal.is_null());
    // A handler that is there is refused, even an empty one.
    if dropped && lifecycle.values().all(Value::is_null) {
        container.remove("lifecycle");
    }
}
