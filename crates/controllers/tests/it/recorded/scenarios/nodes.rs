//! Nodes that are not well: their taints, and the Pods that do not tolerate them.

use serde_json::{Value, json};

use super::{Act, Scenario, delete, end, patch, scenario};

fn node(name: &str) -> Act {
    Act::Create(json!({ "kind": "Node", "metadata": { "name": name } }))
}

fn says(name: &str, ready: &str, more: Value) -> Act {
    let mut conditions = vec![json!({
        "type": "Ready", "status": ready, "reason": "Kubelet", "message": "",
        "lastHeartbeatTime": "$now", "lastTransitionTime": "$now",
    })];
    conditions.extend(more.as_array().cloned().unwrap_or_default());
    Act::Status("Node".to_owned(), name.to_owned(), json!({ "conditions": conditions }))
}

/// A Pod that can be looked at until somebody lets it go.
fn held(name: &str, node: Option<&str>) -> Act {
    Act::Create(json!({
        "kind": "Pod", "metadata": { "name": name, "finalizers": ["example.com/hold"] },
        "spec": { "nodeName": node, "containers": [{ "name": "main", "image": "nginx:1" }] },
    }))
}

fn pod(name: &str, node: &str, tolerations: Value) -> Act {
    Act::Create(json!({
        "kind": "Pod", "metadata": { "name": name },
        "spec": {
            "nodeName": node, "tolerations": tolerations, "containers": [{ "name": "main", "image": "nginx:1" }],
        },
    }))
}

/// Two nodes that stay well: where none is, taints are taken back.
fn neighbours(first: &str, second: &str) -> Vec<Act> {
    vec![
        node(first),
        node(second),
        says(first, "True", json!([])),
        says(second, "True", json!([])),
        Act::Wait(10),
    ]
}

fn after(mut first: Vec<Act>, then: Vec<Act>) -> Vec<Act> {
    first.extend(then);
    first
}

pub(super) fn all() -> Vec<Scenario> {
    let tolerates = |key: &str, seconds: i64| json!([{ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds }]);
    let not_ready = "node.kubernetes.io/not-ready";
    vec![
        scenario(
            "node-not-ready",
            after(
                neighbours("node-not-ready-y", "node-not-ready-z"),
                vec![
                    node("node-not-ready-a"),
                    says("node-not-ready-a", "True", json!([])),
                    pod("patient", "node-not-ready-a", json!([])),
                    pod("hasty", "node-not-ready-a", tolerates(not_ready, 40)),
                    Act::Ready(2),
                    Act::Wait(10),
                    Act::All(vec![says("node-not-ready-a", "False", json!([])), Act::Wait(12)]),
                    Act::Wait(50),
                    says("node-not-ready-a", "True", json!([])),
                    Act::Wait(10),
                ],
            ),
        ),
        scenario(
            "node-falls-silent",
            after(
                neighbours("node-falls-silent-y", "node-falls-silent-z"),
                vec![
                    node("node-falls-silent-a"),
                    says("node-falls-silent-a", "True", json!([])),
                    pod("patient", "node-falls-silent-a", json!([])),
                    Act::Ready(1),
                    patch(
                        "Node",
                        "node-falls-silent-a",
                        json!({ "metadata": { "annotations": { "kubewright.dev/failed": "true" } } }),
                    ),
                    Act::Wait(65),
                ],
            ),
        ),
        scenario(
            "node-under-pressure",
            vec![
                node("node-under-pressure-a"),
                says("node-under-pressure-a", "True", json!([])),
                Act::Wait(10),
                says(
                    "node-under-pressure-a",
                    "True",
                    json!([
                        { "type": "MemoryPressure", "status": "True" },
                        { "type": "DiskPressure", "status": "True" },
                        { "type": "PIDPressure", "status": "False" },
                    ]),
                ),
                patch(
                    "Node",
                    "node-under-pressure-a",
                    json!({ "spec": { "unschedulable": true } }),
                ),
                says(
                    "node-under-pressure-a",
                    "True",
                    json!([{ "type": "DiskPressure", "status": "False" }]),
                ),
                patch(
                    "Node",
                    "node-under-pressure-a",
                    json!({ "spec": { "unschedulable": null } }),
                ),
            ],
        ),
        scenario(
            "taint-that-evicts",
            vec![
                node("taint-that-evicts-a"),
                says("taint-that-evicts-a", "True", json!([])),
                Act::Wait(10),
                pod("brief", "taint-that-evicts-a", tolerates("maintenance", 10)),
                pod(
                    "calm",
                    "taint-that-evicts-a",
                    json!([{ "key": "maintenance", "operator": "Exists" }]),
                ),
                pod("none", "taint-that-evicts-a", json!([])),
                patch(
                    "Node",
                    "taint-that-evicts-a",
                    json!({ "spec": { "taints": [{ "key": "maintenance", "effect": "NoExecute" }] } }),
                ),
                Act::Wait(13),
            ],
        ),
        scenario(
            "node-deleted",
            after(
                neighbours("node-deleted-y", "node-deleted-z"),
                vec![
                    node("node-deleted-a"),
                    says("node-deleted-a", "True", json!([])),
                    held("ended", Some("node-deleted-a")),
                    end(1, "Succeeded"),
                    held("held", Some("node-deleted-a")),
                    pod("plain", "node-deleted-a", json!([])),
                    Act::Ready(2),
                    Act::All(vec![delete("Node", "node-deleted-a", "Background"), Act::Wait(10)]),
                    Act::Wait(90),
                ],
            ),
        ),
        scenario(
            "pod-deleted-without-a-node",
            vec![
                held("held", None),
                Act::All(vec![delete("Pod", "held", "Background"), Act::Wait(25)]),
                patch("Pod", "held", json!({ "metadata": { "finalizers": null } })),
            ],
        ),
        scenario(
            "node-out-of-service",
            after(
                neighbours("node-out-of-service-y", "node-out-of-service-z"),
                vec![
                    node("node-out-of-service-a"),
                    says("node-out-of-service-a", "True", json!([])),
                    held("held", Some("node-out-of-service-a")),
                    pod("plain", "node-out-of-service-a", json!([])),
                    Act::Ready(2),
                    Act::All(vec![says("node-out-of-service-a", "False", json!([])), Act::Wait(12)]),
                    Act::Kill(2),
                    Act::Wait(25),
                    Act::All(vec![
                        patch(
                            "Node",
                            "node-out-of-service-a",
                            json!({ "metadata": { "labels": { "off": "true" } }, "spec": { "taints": [
                                { "key": "node.kubernetes.io/out-of-service", "effect": "NoSchedule" },
                            ] } }),
                        ),
                        Act::Wait(30),
                    ]),
                ],
            ),
        ),
    ]
}
