//! What the condition of a node says, and the taints that follow from it. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeStatus, Taint};

use crate::kubelet::node::condition;
use crate::support::time::whole;

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
/// Taints for what a node has too little of.
const PRESSURES: [(&str, &str); 4] = [
    ("MemoryPressure", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "node.kubernetes.io/disk-pressure"),
    ("PIDPressure", "node.kubernetes.io/pid-pressure"),
    ("NetworkUnavailable", "node.kubernetes.io/network-unavailable"),
];

/// What a kubelet says of its node.
const REPORTED: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];
/// Labels that nodes have under an old name too.
const OLD_LABELS: [(&str, &str); 2] = [
    ("kubernetes.io/os", "beta.kubernetes.io/os"),
    ("kubernetes.io/arch", "beta.kubernetes.io/arch"),
];

/// The status of a node that has fallen silent, if it does not have that yet.
pub(super) fn lost(node: &Node, now: Timestamp) -> Option<NodeStatus> {
    if condition(node, "Ready").is_some_and(|ready| ready.status == "Unknown") {
        return None;
    }
    let mut status = node.status.clone().unwrap_or_default();
    let conditions = status.conditions.get_or_insert_default();
    for type_ in REPORTED {
        let Some(present) = conditions.iter_mut().find(|condition| condition.type_ == type_) else {
            conditions.push(NodeCondition {
                type_: type_.to_owned(),
                status: "Unknown".to_owned(),
                reason: Some("NodeStatusNeverUpdated".to_owned()),
                message: Some("Kubelet never posted node status.".to_owned()),
                last_heartbeat_time: node.metadata.creation_timestamp.clone(),
                last_transition_time: Some(whole(now)),
            });
            continue;
        };
        if present.status != "Unknown" {
            "Unknown".clone_into(&mut present.status);
            present.reason = Some("NodeStatusUnknown".to_owned());
            present.message = Some("Kubelet stopped posting node status.".to_owned());
            present.last_transition_time = Some(whole(now));
        }
    }
    Some(status)
}

/// The taints a node should have, if it has others.
pub(super) fn wanted(node: &Node, now: Timestamp) -> Option<Vec<Taint>> {
    let spec = node.spec.clone().unwrap_or_default();
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut due: Vec<(&str, &str)> = conditions
        .filter_map(|condition| Some((taint_of(&condition.type_, &condition.status)?, "NoSchedule")))
        .collect();
    if spec.unschedulable == Some(true) {
        due.push((UNSCHEDULABLE, "NoSchedule"));
    }
    // Nodes that are not ready or unreachable evict their Pods: `NoExecute` beside `NoSchedule`.
    let unready: Vec<_> = due
        .iter()
        .filter(|(key, _)| [NOT_READY, UNREACHABLE].contains(key))
        .copied()
        .collect();
    due.extend(unready.into_iter().map(|(key, _)| (key, "NoExecute")));
    let is_ours = |taint: &Taint| match taint.effect.as_str() {
        "NoSchedule" => {
            [NOT_READY, UNREACHABLE, UNSCHEDULABLE].contains(&taint.key.as_str())
                || PRESSURES.iter().any(|(_, own)| *own == taint.key)
        }
        "NoExecute" => [NOT_READY, UNREACHABLE].contains(&taint.key.as_str()),
        _ => false,
    };
    let before = spec.taints.unwrap_or_default();
    let mut after: Vec<Taint> = before
        .iter()
        .filter(|taint| !is_ours(taint) || due.contains(&(taint.key.as_str(), taint.effect.as_str())))
        .cloned()
        .collect();
    for (key, effect) in due {
        if !after.iter().any(|taint| taint.key == key && taint.effect == effect) {
            after.push(Taint {
                key: key.to_owned(),
                effect: effect.to_owned(),
                time_added: Some(whole(now)),
                value: None,
            });
        }
    }
    (after != before).then_some(after)
}

/// The taint that follows from a condition.
fn taint_of(type_: &str, status: &str) -> Option<&'static str> {
    match (type_, status) {
        ("Ready", "False") => Some(NOT_READY),
        ("Ready", "Unknown") => Some(UNREACHABLE),
        (_, "True") => PRESSURES.iter().find(|(own, _)| *own == type_).map(|(_, taint)| *taint),
        _ => None,
    }
}

/// The labels a node lacks under their old names, or has with another value.
pub(super) fn old_labels(node: &Node) -> BTreeMap<&'static str, String> {
    let labels = node.metadata.labels.clone().unwrap_or_default();
    let differing = OLD_LABELS
        .iter()
        .filter(|(new, old)| labels.contains_key(*new) && labels.get(*old) != labels.get(*new));
    differing
        .filter_map(|(new, old)| Some((*old, labels.get(*new)?.clone())))
        .collect()
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests {
    use serde_json::json;

    use super::*;

    fn now() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    fn node(ready: &str, unschedulable: bool, taints: serde_json::Value) -> Node {
        serde_json::from_value(json!({
            "metadata": { "name": "a" }, "spec": { "unschedulable": unschedulable, "taints": taints },
            "status": { "conditions": [{ "type": "Ready", "status": ready }] },
        }))
        .unwrap()
    }

    fn keys(taints: Option<Vec<Taint>>) -> Vec<String> {
        taints
            .unwrap()
            .into_iter()
            .map(|taint| format!("{}:{}", taint.key, taint.effect))
            .collect()
    }

    #[test]
    fn taints_follow_conditions_and_those_of_others_stay() {
        let own = json!([{ "key": "mine", "effect": "NoSchedule" }, { "key": NOT_READY, "effect": "NoSchedule" }]);
        assert_eq!(
            keys(wanted(&node("True", false, own.clone()), now())),
            ["mine:NoSchedule"]
        );
        assert_eq!(
            keys(wanted(&node("Unknown", true, own), now())),
            [
                "mine:NoSchedule",
                "node.kubernetes.io/unreachable:NoSchedule",
                "node.kubernetes.io/unschedulable:NoSchedule",
                "node.kubernetes.io/unreachable:NoExecute",
            ]
        );
        assert_eq!(wanted(&node("True", false, json!([])), now()), None);
        // A node that has not said anything yet is not held against it.
        let mut new = node("True", false, json!([{ "key": NOT_READY, "effect": "NoSchedule" }]));
        new.status = None;
        assert_eq!(wanted(&new, now()), Some(Vec::new()));
    }

    #[test]
    fn labels_are_there_under_their_old_names() {
        let mut node = node("True", false, json!([]));
        node.metadata.labels = serde_json::from_value(json!({ "kubernetes.io/os": "linux" })).unwrap();
        assert_eq!(
            old_labels(&node),
            [("beta.kubernetes.io/os", "linux".to_owned())].into()
        );
        node.metadata.labels = serde_json::from_value(json!({
            "kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux",
        }))
        .unwrap();
        assert!(old_labels(&node).is_empty());
    }

    #[test]
    fn a_lost_node_is_unknown_once() {
        let mut node = node("True", false, json!([]));
        node.status = lost(&node, now());
        assert_eq!(
            condition(&node, "Ready").unwrap().reason.as_deref(),
            Some("NodeStatusUnknown")
        );
        assert_eq!(
            condition(&node, "DiskPressure").unwrap().reason.as_deref(),
            Some("NodeStatusNeverUpdated")
        );
        assert_eq!(lost(&node, now()), None);
    }
}
