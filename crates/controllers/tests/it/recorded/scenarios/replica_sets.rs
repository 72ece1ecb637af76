//! As many Pods as wanted: made, adopted, released, replaced and chosen for deletion.

use serde_json::{Value, json};

use super::{Act, Scenario, delete, end, mended_template, merge, patch, refused_template, scenario, template};

fn set(replicas: i32, change: Value) -> Act {
    let mut set = json!({
        "kind": "ReplicaSet", "metadata": { "name": "web" },
        "spec": {
            "replicas": replicas, "selector": { "matchLabels": { "app": "web" } }, "template": template("nginx:1"),
        },
    });
    merge(&mut set["spec"], change);
    Act::Create(set)
}

fn change(spec: Value) -> Act {
    patch("ReplicaSet", "web", json!({ "spec": spec }))
}

fn pod(name: &str, metadata: Value) -> Act {
    let mut pod = json!({
        "kind": "Pod", "metadata": { "labels": { "app": "web" } },
        "spec": { "containers": [{ "name": "main", "image": "nginx:1" }] },
    });
    merge(&mut pod["metadata"], metadata);
    pod["metadata"]["name"] = name.into();
    Act::Create(pod)
}

pub(super) fn all() -> Vec<Scenario> {
    let cost = |cost: &str| json!({ "annotations": { "controller.kubernetes.io/pod-deletion-cost": cost } });
    vec![
        scenario(
            "adopt-and-release",
            vec![
                pod("orphan", json!({})),
                set(2, json!({})),
                Act::Label("app".to_owned(), "other".to_owned()),
            ],
        ),
        scenario(
            "adopt-too-many",
            vec![
                pod("a", cost("5")),
                pod("b", cost("-1")),
                pod("c", cost("0")),
                set(2, json!({})),
                change(json!({ "replicas": 1 })),
            ],
        ),
        scenario(
            "pods-of-others-are-left",
            vec![
                Act::Create(json!({ "kind": "ConfigMap", "metadata": { "name": "other" } })),
                pod(
                    "theirs",
                    json!({ "ownerReferences": [{
                        "apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "$uid:ConfigMap/other",
                        "controller": true,
                    }] }),
                ),
                set(1, json!({})),
            ],
        ),
        scenario(
            "pods-that-end-are-replaced",
            vec![set(2, json!({})), Act::Ready(2), end(1, "Failed"), Act::Kill(1)],
        ),
        scenario(
            "set-with-min-ready-seconds",
            vec![
                set(2, json!({ "minReadySeconds": 15 })),
                Act::Ready(1),
                Act::Wait(20),
                Act::Ready(1),
                Act::Wait(20),
            ],
        ),
        scenario(
            "set-whose-pods-cannot-be-made",
            vec![
                set(3, json!({ "template": refused_template() })),
                change(json!({ "template": mended_template() })),
                Act::Wait(15),
            ],
        ),
        scenario(
            "orphaning",
            vec![
                set(2, json!({})),
                delete("ReplicaSet", "web", "Orphan"),
                set(3, json!({})),
            ],
        ),
    ]
}
