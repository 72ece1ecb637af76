//! Which Pods the garbage collector has to delete, and the status that they get before. Pure.

use std::ops::Deref;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};

use crate::kubelet::node;
use crate::support::{pods, time};

/// The taint of a node that an administrator has declared out of service.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
const DISRUPTION: &str = "DisruptionTarget";

/// The reason why a Pod is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeletionReason {
    /// Its node does not exist any more.
    NodeGone,
    /// It is being deleted, and no kubelet will finish that; or it has ended, and too many have.
    Abandoned,
}

/// What is left to do for a Pod that has to go.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Removal {
    /// What its status says from now on, if that is something else.
    pub(super) status: Option<Value>,
    /// Whether it is still to be deleted. If not, only its finalizers hold it.
    pub(super) delete: bool,
}

/// The status of a Pod before its deletion, if it changes: one that has not ended has failed, because no kubelet will
/// report its end.
pub(super) fn removal(pod: &Pod, why: DeletionReason, now: Timestamp) -> Option<Removal> {
    let status = (!pods::is_terminal(pod)).then(|| {
        let mut status = json!({ "phase": "Failed", "observedGeneration": pod.metadata.generation });
        if why == DeletionReason::NodeGone {
            let known = pods::condition(pod, DISRUPTION).filter(|known| known.status == "True");
            let since = known.and_then(|known| known.last_transition_time.clone());
            status["conditions"] = json!([{
                "type": DISRUPTION, "status": "True",
                "reason": "DeletionByPodGC", "message": "PodGC: node no longer exists",
                "observedGeneration": pod.metadata.generation,
                "lastTransitionTime": since.unwrap_or_else(|| time::whole(now)),
            }]);
            // Where a condition is not said to be, it is put first.
            let others = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
            let mut order: Vec<&str> = others.map(|condition| condition.type_.as_str()).collect();
            if !order.contains(&DISRUPTION) {
                order.push(DISRUPTION);
            }
            let order: Vec<Value> = order.into_iter().map(|type_| json!({ "type": type_ })).collect();
            status["$setElementOrder/conditions"] = order.into();
        }
        status
    });
    let delete = pod.metadata.deletion_timestamp.is_none() || pod.metadata.deletion_grace_period_seconds > Some(0);
    (delete || status.is_some()).then_some(Removal { status, delete })
}

/// Whether a Pod is being deleted that no kubelet ever knew of.
pub(super) fn goes_from_nowhere(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some() && pods::node_of(pod).is_empty()
}

/// Whether a node is not ready and out of service, so that Pods that are being deleted there are gone.
pub(super) fn is_out_of_service(node: &Node) -> bool {
    let is_ready = node::condition(node, "Ready").is_some_and(|ready| ready.status == "True");
    let mut taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    !is_ready && taints.any(|taint| taint.key == OUT_OF_SERVICE)
}

/// Of Pods that have ended those beyond the `most` that are kept: evicted ones first, then the oldest.
pub(super) fn too_many<P: Deref<Target = Pod>>(mut ended: Vec<P>, most: usize) -> Vec<P> {
    let excess = ended.len().saturating_sub(most);
    if most == 0 || excess == 0 {
        return Vec::new();
    }
    let rank = |pod: &Pod| {
        let reason = pod.status.as_ref().and_then(|status| status.reason.as_deref());
        let was_evicted = pods::phase(pod) == "Failed" && reason == Some("Evicted");
        let made = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (!was_evicted, made, pod.metadata.name.clone())
    };
    ended.sort_by_cached_key(|pod| rank(pod));
    ended.truncate(excess);
    ended
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests {
    use super::*;

    fn pod(value: Value) -> Box<Pod> {
        serde_json::from_value(value).unwrap()
    }

    fn now() -> Timestamp {
        "2026-01-01T00:01:00Z".parse().unwrap()
    }

    #[test]
    fn a_pod_of_a_node_that_is_gone_has_failed_and_says_why() {
        let running = pod(json!({ "metadata": { "generation": 2 }, "status": { "phase": "Running" } }));
        let removal = removal(&running, DeletionReason::NodeGone, now()).unwrap();
        assert!(removal.delete);
        let expected = json!({ "phase": "Failed", "observedGeneration": 2, "conditions": [{
            "type": "DisruptionTarget", "status": "True", "observedGeneration": 2,
            "reason": "DeletionByPodGC", "message": "PodGC: node no longer exists",
            "lastTransitionTime": "2026-01-01T00:01:00Z",
        }], "$setElementOrder/conditions": [{ "type": "DisruptionTarget" }] });
        assert_eq!(removal.status, Some(expected));
    }

    #[test]
    fn a_disruption_keeps_the_time_it_began() {
        let disrupted = pod(json!({ "status": { "phase": "Running", "conditions": [
            { "type": "DisruptionTarget", "status": "True", "lastTransitionTime": "2025-12-31T00:00:00Z" },
        ] } }));
        let status = removal(&disrupted, DeletionReason::NodeGone, now())
            .unwrap()
            .status
            .unwrap();
        assert_eq!(status["conditions"][0]["lastTransitionTime"], "2025-12-31T00:00:00Z");
    }

    #[test]
    fn an_ended_pod_is_deleted_as_it_is() {
        let ended = pod(json!({ "status": { "phase": "Succeeded" } }));
        let removal = removal(&ended, DeletionReason::NodeGone, now()).unwrap();
        assert_eq!((removal.status, removal.delete), (None, true));
    }

    #[test]
    fn a_pod_that_is_abandoned_has_failed_without_a_disruption() {
        let going = json!({ "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0 });
        let pending = pod(json!({ "metadata": going, "status": { "phase": "Pending" } }));
        assert!(goes_from_nowhere(&pending));
        let left = removal(&pending, DeletionReason::Abandoned, now()).unwrap();
        assert!(!left.delete);
        assert_eq!(left.status.unwrap().get("conditions"), None);
    }

    #[test]
    fn nothing_is_left_to_do_for_a_pod_that_only_finalizers_hold() {
        let going =
            |grace: i64| json!({ "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": grace });
        let held = pod(json!({ "metadata": going(0), "status": { "phase": "Failed" } }));
        assert_eq!(removal(&held, DeletionReason::NodeGone, now()), None);
        let in_no_hurry = pod(json!({ "metadata": going(30), "status": { "phase": "Failed" } }));
        assert!(removal(&in_no_hurry, DeletionReason::NodeGone, now()).unwrap().delete);
    }

    #[test]
    fn a_node_is_out_of_service_if_somebody_says_so_and_it_is_not_ready() {
        let node = |ready: &str, key: &str| -> Node {
            serde_json::from_value(json!({
                "spec": { "taints": [{ "key": key, "effect": "NoExecute" }] },
                "status": { "conditions": [{ "type": "Ready", "status": ready }] },
            }))
            .unwrap()
        };
        assert!(is_out_of_service(&node("False", OUT_OF_SERVICE)));
        assert!(is_out_of_service(&node("Unknown", OUT_OF_SERVICE)));
        assert!(!is_out_of_service(&node("True", OUT_OF_SERVICE)));
        assert!(!is_out_of_service(&node("False", "node.kubernetes.io/not-ready")));
    }

    #[test]
    fn evicted_pods_go_first_and_then_the_oldest() {
        let ended = |name: &str, second: u8, reason: &str| {
            pod(json!({
                "metadata": { "name": name, "creationTimestamp": format!("2026-01-01T00:00:0{second}Z") },
                "status": { "phase": "Failed", "reason": reason },
            }))
        };
        let all = || {
            vec![
                ended("young", 3, ""),
                ended("b", 1, ""),
                ended("a", 1, ""),
                ended("evicted", 2, "Evicted"),
            ]
        };
        let names = |most| {
            let gone = too_many(all(), most);
            gone.iter()
                .map(|pod| pod.metadata.name.clone().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(1), ["evicted", "a", "b"]);
        assert_eq!(names(3), ["evicted"]);
        assert!(names(4).is_empty());
        assert!(names(0).is_empty(), "none means no limit");
    }
}
