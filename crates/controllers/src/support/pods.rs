//! What a Pod's state means to those who own it, and which of several goes first.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodCondition};

use super::time::{later, until};

/// The annotation of a Pod's deletion cost.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// The phase of a Pod; a Pod without one has just been made.
pub(crate) fn phase(pod: &Pod) -> &str {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    phase.unwrap_or("Pending")
}

/// Whether a Pod has run and will not run again.
pub(crate) fn is_terminal(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Whether a Pod counts: it has not finished and is not going.
pub(crate) fn is_active(pod: &Pod) -> bool {
    !is_terminal(pod) && pod.metadata.deletion_timestamp.is_none()
}

/// Whether a Pod is going and has not finished.
pub(crate) fn is_terminating(pod: &Pod) -> bool {
    !is_terminal(pod) && pod.metadata.deletion_timestamp.is_some()
}

/// The node a Pod is on.
pub(crate) fn node_of(pod: &Pod) -> &str {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    node.unwrap_or_default()
}

/// A condition of a Pod.
pub(crate) fn condition<'a>(pod: &'a Pod, type_: &str) -> Option<&'a PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_deref()?;
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether a Pod is ready.
pub(crate) fn is_ready(pod: &Pod) -> bool {
    condition(pod, "Ready").is_some_and(|ready| ready.status == "True")
}

/// Since when a Pod is ready.
fn ready_since(pod: &Pod) -> Option<Timestamp> {
    let ready = condition(pod, "Ready").filter(|ready| ready.status == "True")?;
    ready.last_transition_time.as_ref().map(|time| time.0)
}

/// Whether a Pod has been ready for long enough.
pub(crate) fn is_available(pod: &Pod, min_ready_seconds: i32, now: Timestamp) -> bool {
    is_ready(pod)
        && (min_ready_seconds == 0
            || ready_since(pod).is_some_and(|since| later(since, min_ready_seconds.into()) <= now))
}

/// When the next of these Pods will have been ready for long enough.
pub(crate) fn next_available<'a>(
    pods: impl IntoIterator<Item = &'a Pod>,
    min_ready_seconds: i32,
    now: Timestamp,
) -> Option<Duration> {
    pods.into_iter()
        .filter_map(ready_since)
        .map(|since| until(later(since, min_ready_seconds.into()), now))
        .filter(|wait| !wait.is_zero())
        .min()
}

/// Puts first what should be deleted first, as upstream ranks Pods: unassigned, pending, not ready, cheap, doubled up on a
/// node, ready or made recently (by orders of magnitude, then by uid), often restarted.
pub(crate) fn rank_for_deletion<P: AsRef<Pod>>(pods: &mut Vec<P>, related: &[P], now: Timestamp) {
    let mut on_node: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in related.iter().map(AsRef::as_ref).filter(|pod| is_active(pod)) {
        *on_node.entry(node_of(pod)).or_default() += 1;
    }
    // The order is not transitive where ranks by uid meet ranks by age, so that it is built by insertion.
    let mut ranked: Vec<P> = Vec::with_capacity(pods.len());
    for pod in pods.drain(..) {
        let place =
            ranked.partition_point(|other| compare(other.as_ref(), pod.as_ref(), &on_node, now) != Ordering::Greater);
        ranked.insert(place, pod);
    }
    *pods = ranked;
}

fn compare(left: &Pod, right: &Pod, on_node: &BTreeMap<&str, usize>, now: Timestamp) -> Ordering {
    let assigned = |pod: &Pod| !node_of(pod).is_empty();
    let doubled = |pod: &Pod| on_node.get(node_of(pod)).copied().unwrap_or_default();
    let restarts = |pod: &Pod| (restarts(pod, false), restarts(pod, true));
    let uid = |pod: &Pod| pod.metadata.uid.clone();
    assigned(left)
        .cmp(&assigned(right))
        .then_with(|| phase_rank(left).cmp(&phase_rank(right)))
        .then_with(|| is_ready(left).cmp(&is_ready(right)))
        .then_with(|| deletion_cost(left).cmp(&deletion_cost(right)))
        .then_with(|| doubled(right).cmp(&doubled(left)))
        .then_with(|| {
            let (left_since, right_since) = (ready_since(left), ready_since(right));
            if !is_ready(left) || left_since == right_since {
                return Ordering::Equal;
            }
            by_age(left_since, right_since, now).then_with(|| uid(left).cmp(&uid(right)))
        })
        .then_with(|| restarts(right).cmp(&restarts(left)))
        .then_with(|| {
            let made = |pod: &Pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
            if made(left) == made(right) {
                return Ordering::Equal;
            }
            by_age(made(left), made(right), now).then_with(|| uid(left).cmp(&uid(right)))
        })
}

fn phase_rank(pod: &Pod) -> u8 {
    match phase(pod) {
        "Unknown" => 1,
        "Running" => 2,
        _ => 0,
    }
}

/// The younger first, in powers of two; what has no time is youngest.
fn by_age(left: Option<Timestamp>, right: Option<Timestamp>, now: Timestamp) -> Ordering {
    match (left, right) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (Some(left), Some(right)) => magnitude(left, now).cmp(&magnitude(right, now)),
    }
}

fn magnitude(from: Timestamp, now: Timestamp) -> i64 {
    let nanoseconds = now.duration_since(from).as_nanos();
    if nanoseconds > 0 {
        (nanoseconds as f64).log2() as i64
    } else {
        -1
    }
}

fn deletion_cost(pod: &Pod) -> i32 {
    let cost = pod.metadata.annotations.as_ref().and_then(|all| all.get(DELETION_COST));
    // As upstream, a number with a plus sign or a leading zero is invalid, and an invalid number counts as zero.
    let plain = |cost: &&String| !cost.starts_with('+') && (cost.len() == 1 || !cost.starts_with('0'));
    cost.filter(plain).and_then(|cost| cost.parse().ok()).unwrap_or(0)
}

/// The most restarts of one of a Pod's containers, or of one of its sidecars.
fn restarts(pod: &Pod, sidecars: bool) -> i32 {
    let Some(status) = &pod.status else {
        return 0;
    };
    let is_sidecar = |name: &str| {
        let containers = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
        containers
            .into_iter()
            .any(|container| container.name == name && container.restart_policy.as_deref() == Some("Always"))
    };
    let statuses = if sidecars {
        &status.init_container_statuses
    } else {
        &status.container_statuses
    };
    statuses
        .iter()
        .flatten()
        .filter(|status| !sidecars || is_sidecar(&status.name))
        .map(|status| status.restart_count)
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    struct Ranked(Pod);

    impl AsRef<Pod> for Ranked {
        fn as_ref(&self) -> &Pod {
            &self.0
        }
    }

    fn pod(name: &str, change: &Value) -> Ranked {
        let mut pod = json!({
            "metadata": { "name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z" },
            "spec": { "containers": [], "nodeName": "a" },
            "status": { "phase": "Running", "conditions": [
                { "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" },
            ] },
        });
        let change = change.as_object().unwrap();
        for (pointer, value) in change {
            *pod.pointer_mut(pointer).unwrap() = value.clone();
        }
        Ranked(serde_json::from_value(pod).unwrap())
    }

    fn ranked(mut pods: Vec<Ranked>) -> Vec<String> {
        let now = "2026-01-01T01:00:00Z".parse().unwrap();
        rank_for_deletion(&mut pods, &[], now);
        pods.into_iter().map(|pod| pod.0.metadata.name.unwrap()).collect()
    }

    #[test]
    fn pods_in_earlier_phases_of_their_life_go_first() {
        let pods = vec![
            pod("ready", &json!({})),
            pod("unready", &json!({ "/status/conditions/0/status": "False" })),
            pod(
                "pending",
                &json!({ "/status/phase": "Pending", "/status/conditions": [] }),
            ),
            pod(
                "unassigned",
                &json!({ "/spec/nodeName": "", "/status/phase": "Pending", "/status/conditions": [] }),
            ),
        ];
        assert_eq!(ranked(pods), ["unassigned", "pending", "unready", "ready"]);
    }

    #[test]
    fn the_cheap_go_before_the_dear_and_the_young_before_the_old() {
        let cost = |cost: &str| json!({ "name": cost, "uid": cost, "annotations": { DELETION_COST: cost } });
        let pods = vec![
            pod("7", &json!({ "/metadata": cost("7") })),
            pod("-3", &json!({ "/metadata": cost("-3") })),
            pod("+9", &json!({ "/metadata": cost("+9") })),
        ];
        assert_eq!(ranked(pods), ["-3", "+9", "7"]);
        let since = |time: &str| json!({ "/status/conditions/0/lastTransitionTime": time });
        let pods = vec![
            pod("old", &since("2026-01-01T00:00:00Z")),
            pod("young", &since("2026-01-01T00:59:00Z")),
            pod("b", &since("2026-01-01T00:10:00Z")),
            pod("a", &since("2026-01-01T00:09:00Z")),
        ];
        assert_eq!(ranked(pods), ["young", "a", "b", "old"]);
    }

    #[test]
    fn a_pod_is_available_when_it_has_been_ready_for_long_enough() {
        let pod = pod("a", &json!({})).0;
        let at = |time: &str| time.parse::<Timestamp>().unwrap();
        assert!(is_available(&pod, 0, at("2026-01-01T00:00:00Z")));
        assert!(!is_available(&pod, 30, at("2026-01-01T00:00:29Z")));
        assert!(is_available(&pod, 30, at("2026-01-01T00:00:30Z")));
        let wait = next_available([&pod], 30, at("2026-01-01T00:00:10Z"));
        assert_eq!(wait, Some(Duration::from_secs(20)));
    }
}
