//! Rolling out, step by step: every decision of the deployment controller shows in the sizes of the sets.

use serde_json::{Value, json};

use super::{
    Act, Scenario, delete, end, mended_template, merge, patch, refused_template, scenario, template, template_on_a_node,
};

fn deployment(replicas: i32, change: Value) -> Act {
    let mut web = json!({
        "kind": "Deployment", "metadata": { "name": "web" },
        "spec": {
            "replicas": replicas, "selector": { "matchLabels": { "app": "web" } }, "template": template("nginx:1"),
        },
    });
    merge(&mut web["spec"], change);
    Act::Create(web)
}

fn change(spec: Value) -> Act {
    patch("Deployment", "web", json!({ "spec": spec }))
}

fn image(image: &str) -> Act {
    change(json!({ "template": template(image) }))
}

fn image_on_a_node(image: &str) -> Act {
    change(json!({ "template": template_on_a_node(image) }))
}

fn roll_back() -> Act {
    let annotations = json!({ "deprecated.deployment.rollback.to": "0" });
    patch(
        "Deployment",
        "web",
        json!({ "metadata": { "annotations": annotations } }),
    )
}

fn rolling(surge: Value, unavailable: Value) -> Value {
    json!({ "strategy": {
        "type": "RollingUpdate", "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable },
    } })
}

fn with(mut spec: Value, change: Value) -> Value {
    merge(&mut spec, change);
    spec
}

pub(super) fn all() -> Vec<Scenario> {
    [updates(), rollbacks(), sizes(), deadlines(), cascades()]
        .into_iter()
        .flatten()
        .collect()
}

fn updates() -> Vec<Scenario> {
    let recreate = json!({ "strategy": { "type": "Recreate" } });
    vec![
        scenario(
            "deployment-becomes-available",
            vec![deployment(3, json!({})), Act::Ready(1), Act::Ready(2)],
        ),
        scenario(
            "rolling-update",
            vec![
                deployment(4, json!({})),
                Act::Ready(4),
                image("nginx:2"),
                Act::Ready(1),
                Act::Ready(1),
                Act::Ready(1),
                Act::Ready(1),
            ],
        ),
        scenario(
            "rolling-update-without-surge",
            vec![
                deployment(3, rolling(json!(0), json!(1))),
                Act::Ready(3),
                image("nginx:2"),
                Act::Ready(1),
                Act::Ready(1),
            ],
        ),
        scenario(
            "rolling-update-with-percentages",
            vec![
                deployment(5, rolling(json!("30%"), json!("20%"))),
                Act::Ready(5),
                image("nginx:2"),
                Act::Ready(1),
                Act::Ready(1),
                Act::Ready(1),
            ],
        ),
        scenario(
            "recreate",
            vec![
                deployment(2, recreate.clone()),
                Act::Ready(2),
                image("nginx:2"),
                Act::Ready(2),
            ],
        ),
        scenario(
            "recreate-waits-for-old-pods",
            vec![
                deployment(
                    2,
                    with(recreate.clone(), json!({ "template": template_on_a_node("nginx:1") })),
                ),
                Act::Ready(2),
                image_on_a_node("nginx:2"),
                Act::Gone(1),
                Act::Gone(1),
                Act::Ready(2),
            ],
        ),
        scenario(
            "recreate-with-an-image-that-fails",
            vec![
                deployment(2, recreate),
                Act::Ready(2),
                image("nginx:broken"),
                end(1, "Failed"),
                image("nginx:3"),
                Act::Ready(2),
            ],
        ),
        scenario(
            "rollover",
            vec![
                deployment(4, json!({})),
                Act::Ready(4),
                image("nginx:2"),
                image("nginx:3"),
                Act::Ready(1),
            ],
        ),
        scenario(
            "pods-that-cannot-be-made",
            vec![
                deployment(2, json!({ "template": refused_template() })),
                change(json!({ "template": mended_template() })),
                Act::Ready(1),
                Act::Ready(1),
            ],
        ),
    ]
}

fn rollbacks() -> Vec<Scenario> {
    vec![
        scenario(
            "rollback-by-template",
            vec![
                deployment(2, json!({})),
                Act::Ready(2),
                image("nginx:2"),
                Act::Ready(1),
                Act::Ready(1),
                image("nginx:1"),
                Act::Ready(1),
                Act::Ready(1),
            ],
        ),
        scenario(
            "rollback-by-annotation",
            vec![
                deployment(1, json!({})),
                Act::Ready(1),
                image("nginx:2"),
                Act::Ready(1),
                roll_back(),
                Act::Ready(1),
            ],
        ),
        scenario(
            "rollback-twice",
            vec![
                deployment(1, json!({})),
                Act::Ready(1),
                image("nginx:2"),
                Act::Ready(1),
                roll_back(),
                Act::Ready(1),
                roll_back(),
                Act::Ready(1),
            ],
        ),
        scenario(
            "rollback-to-nothing",
            vec![deployment(1, json!({})), Act::Ready(1), roll_back()],
        ),
        scenario(
            "history-limit",
            vec![
                deployment(1, json!({ "revisionHistoryLimit": 1 })),
                Act::Ready(1),
                image("nginx:2"),
                Act::Ready(1),
                image("nginx:3"),
                Act::Ready(1),
            ],
        ),
        scenario(
            "history-limit-of-zero",
            vec![
                deployment(2, json!({ "revisionHistoryLimit": 0 })),
                Act::Ready(2),
                image("nginx:2"),
                Act::Ready(1),
                Act::Ready(1),
            ],
        ),
    ]
}

fn sizes() -> Vec<Scenario> {
    vec![
        scenario(
            "scale",
            vec![
                deployment(2, json!({})),
                Act::Ready(2),
                change(json!({ "replicas": 5 })),
                Act::Ready(3),
                change(json!({ "replicas": 1 })),
                change(json!({ "replicas": 0 })),
            ],
        ),
        scenario(
            "scale-during-rollout",
            vec![
                deployment(10, rolling(json!(3), json!(2))),
                Act::Ready(10),
                image("nginx:2"),
                change(json!({ "replicas": 20 })),
                change(json!({ "replicas": 7 })),
            ],
        ),
        scenario(
            "scale-in-proportion",
            vec![
                deployment(10, rolling(json!(3), json!(2))),
                Act::Ready(10),
                image("nginx:2"),
                Act::Ready(2),
                image("nginx:3"),
                change(json!({ "replicas": 15 })),
                change(json!({ "replicas": 6 })),
            ],
        ),
        scenario(
            "pause-and-resume",
            vec![
                deployment(2, json!({})),
                Act::Ready(2),
                change(json!({ "paused": true })),
                image("nginx:2"),
                change(json!({ "replicas": 3 })),
                change(json!({ "paused": false })),
                Act::Ready(2),
            ],
        ),
        scenario(
            "scale-while-paused-halfway",
            vec![
                deployment(4, json!({})),
                Act::Ready(4),
                image("nginx:2"),
                change(json!({ "paused": true })),
                change(json!({ "replicas": 8 })),
                change(json!({ "replicas": 2 })),
                change(json!({ "paused": false })),
            ],
        ),
    ]
}

fn deadlines() -> Vec<Scenario> {
    vec![
        scenario(
            "progress-deadline",
            vec![
                deployment(1, json!({ "progressDeadlineSeconds": 15 })),
                Act::Wait(20),
                Act::Ready(1),
            ],
        ),
        scenario(
            "progress-deadline-and-recovery",
            vec![
                deployment(2, json!({ "progressDeadlineSeconds": 15 })),
                Act::Ready(2),
                image("nginx:broken"),
                Act::Wait(20),
                image("nginx:3"),
                Act::Ready(1),
                Act::Ready(1),
            ],
        ),
        scenario(
            "min-ready-seconds",
            vec![
                deployment(1, json!({ "minReadySeconds": 15 })),
                Act::Ready(1),
                Act::Wait(20),
            ],
        ),
    ]
}

fn cascades() -> Vec<Scenario> {
    vec![
        scenario(
            "cascade-in-the-background",
            vec![deployment(2, json!({})), delete("Deployment", "web", "Background")],
        ),
        scenario(
            "cascade-in-the-foreground",
            vec![deployment(2, json!({})), delete("Deployment", "web", "Foreground")],
        ),
        scenario(
            "cascade-in-the-foreground-held-up",
            vec![
                deployment(2, json!({ "template": template_on_a_node("nginx:1") })),
                delete("Deployment", "web", "Foreground"),
                Act::Gone(1),
                Act::Gone(1),
            ],
        ),
        scenario(
            "orphaned-sets-are-adopted",
            vec![
                deployment(2, json!({})),
                Act::Ready(2),
                delete("Deployment", "web", "Orphan"),
                deployment(3, json!({})),
                Act::Ready(1),
            ],
        ),
    ]
}
