//! What the condition of a node says, and the taints that follow from it. Pure.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeStatus, Taint};

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

/// The status of a node that has fallen silent, if it does not have that yet.
pub(super) fn lost(node: &Node, now: Timestamp) -> Option<NodeStatus> {
    let mut status = node.status.clone().unwrap_or_default();
    let mut changed = false;
    for condition in status.conditions.iter_mut().flatten() {
        if condition.status != "Unknown" {
            "Unknown".clone_into(&mut condition.status);
            condition.reason = Some("NodeStatusUnknown".to_owned());
            condition.message = Some("Kubelet stopped posting node status.".to_owned());
            condition.last_transition_time = Some(whole(now));
            changed = true;
        }
    }
    changed.then_some(status)
}

/// The taints a node should have, if it has others.
pub(super) fn wanted(node: &Node, now: Timestamp) -> Option<Vec<Taint>> {
    let spec = node.spec.clone().unwrap_or_default();
    let mut due: Vec<(&str, &str)> = Vec::new();
    let ready = condition(node, "Ready").map_or("", |ready| ready.status.as_str());
    match ready {
        "True" => {}
        "Unknown" => due.extend([(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")]),
        "False" => due.extend([(NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")]),
        _ => due.push((NOT_READY, "NoSchedule")),
    }
    for (type_, key) in PRESSURES {
        if condition(node, type_).is_some_and(|pressure| pressure.status == "True") {
            due.push((key, "NoSchedule"));
        }
    }
    if spec.unschedulable == Some(true) {
        due.push((UNSCHEDULABLE, "NoSchedule"));
    }
    let is_ours = |key: &str| {
        [NOT_READY, UNREACHABLE, UNSCHEDULABLE].contains(&key) || PRESSURES.iter().any(|(_, own)| *own == key)
    };
    let before = spec.taints.unwrap_or_default();
    let mut after: Vec<Taint> = before
        .iter()
        .filter(|taint| !is_ours(&taint.key) || due.contains(&(taint.key.as_str(), taint.effect.as_str())))
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
                "node.kubernetes.io/unreachable:NoExecute",
                "node.kubernetes.io/unschedulable:NoSchedule",
            ]
        );
        assert_eq!(wanted(&node("True", false, json!([])), now()), None);
    }

    #[test]
    fn a_lost_node_is_unknown_once() {
        let mut node = node("True", false, json!([]));
        node.status = lost(&node, now());
        assert_eq!(
            condition(&node, "Ready").unwrap().reason.as_deref(),
            Some("NodeStatusUnknown")
        );
        assert_eq!(lost(&node, now()), None);
    }
}
