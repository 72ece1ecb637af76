//! What is recorded: the scenarios, step by step.

use serde_json::{Value, json};

use super::driver::Act;

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

fn merge(into: &mut Value, change: Value) {
    let Value::Object(change) = change else {
        return;
    };
    for (key, value) in change {
        into[key] = value;
    }
}

fn template(image: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": { "containers": [{ "name": "main", "image": image }] },
    })
}

fn change(spec: Value) -> Act {
    Act::Patch("Deployment".to_owned(), "web".to_owned(), json!({ "spec": spec }))
}

fn image(image: &str) -> Act {
    change(json!({ "template": template(image) }))
}

fn delete(kind: &str, name: &str, policy: &str) -> Act {
    Act::Delete(kind.to_owned(), name.to_owned(), policy.to_owned())
}

fn set(replicas: i32) -> Act {
    Act::Create(json!({
        "kind": "ReplicaSet", "metadata": { "name": "web" },
        "spec": {
            "replicas": replicas, "selector": { "matchLabels": { "app": "web" } }, "template": template("nginx:1"),
        },
    }))
}

fn job(change: Value) -> Act {
    let mut work = json!({
        "kind": "Job", "metadata": { "name": "work" },
        "spec": { "template": {
            "spec": { "restartPolicy": "Never", "containers": [{ "name": "main", "image": "busybox" }] },
        } },
    });
    merge(&mut work["spec"], change);
    Act::Create(work)
}

fn change_job(spec: Value) -> Act {
    Act::Patch("Job".to_owned(), "work".to_owned(), json!({ "spec": spec }))
}

fn end(count: usize, phase: &str) -> Act {
    Act::End(count, phase.to_owned())
}

fn rolling(surge: Value, unavailable: Value) -> Value {
    json!({ "strategy": {
        "type": "RollingUpdate", "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable },
    } })
}

/// Every scenario and its name.
pub(crate) fn all() -> Vec<(&'static str, Vec<Act>)> {
    let config = |name: &str| Act::Create(json!({ "kind": "ConfigMap", "metadata": { "name": name } }));
    vec![
        (
            "deployment-becomes-available",
            vec![deployment(3, json!({})), Act::Ready(1), Act::Ready(2)],
        ),
        (
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
        (
            "rolling-update-without-surge",
            vec![
                deployment(3, rolling(json!(0), json!(1))),
                Act::Ready(3),
                image("nginx:2"),
                Act::Ready(1),
                Act::Ready(1),
            ],
        ),
        (
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
        (
            "recreate",
            vec![
                deployment(2, json!({ "strategy": { "type": "Recreate" } })),
                Act::Ready(2),
                image("nginx:2"),
                Act::Ready(2),
            ],
        ),
        (
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
        (
            "rollback-by-annotation",
            vec![
                deployment(1, json!({})),
                Act::Ready(1),
                image("nginx:2"),
                Act::Ready(1),
                Act::Patch(
                    "Deployment".to_owned(),
                    "web".to_owned(),
                    json!({ "metadata": { "annotations": { "deprecated.deployment.rollback.to": "0" } } }),
                ),
                Act::Ready(1),
            ],
        ),
        (
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
        (
            "scale-during-rollout",
            vec![
                deployment(10, rolling(json!(3), json!(2))),
                Act::Ready(10),
                image("nginx:2"),
                change(json!({ "replicas": 20 })),
                change(json!({ "replicas": 7 })),
            ],
        ),
        (
            "rollover",
            vec![
                deployment(4, json!({})),
                Act::Ready(4),
                image("nginx:2"),
                image("nginx:3"),
                Act::Ready(1),
            ],
        ),
        (
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
        (
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
        (
            "progress-deadline",
            vec![
                deployment(1, json!({ "progressDeadlineSeconds": 15 })),
                Act::Wait(20),
                Act::Ready(1),
            ],
        ),
        (
            "min-ready-seconds",
            vec![
                deployment(1, json!({ "minReadySeconds": 15 })),
                Act::Ready(1),
                Act::Wait(20),
            ],
        ),
        (
            "adopt-and-release",
            vec![
                Act::Create(json!({
                    "kind": "Pod", "metadata": { "name": "orphan", "labels": { "app": "web" } },
                    "spec": { "containers": [{ "name": "main", "image": "nginx:1" }] },
                })),
                set(2),
                Act::Label("app".to_owned(), "other".to_owned()),
            ],
        ),
        (
            "cascade-in-the-background",
            vec![deployment(2, json!({})), delete("Deployment", "web", "Background")],
        ),
        (
            "cascade-in-the-foreground",
            vec![deployment(2, json!({})), delete("Deployment", "web", "Foreground")],
        ),
        ("orphaning", vec![set(2), delete("ReplicaSet", "web", "Orphan"), set(3)]),
        (
            "no-owner-no-cascade",
            vec![config("a"), config("b"), delete("ConfigMap", "a", "Foreground")],
        ),
        (
            "job-completes",
            vec![
                job(json!({ "completions": 3, "parallelism": 2 })),
                end(1, "Succeeded"),
                end(2, "Succeeded"),
            ],
        ),
        (
            "job-fails",
            vec![
                job(json!({ "completions": 2, "parallelism": 2, "backoffLimit": 0 })),
                end(1, "Failed"),
            ],
        ),
        (
            "job-past-its-deadline",
            vec![job(json!({ "activeDeadlineSeconds": 15 })), Act::Wait(20)],
        ),
        (
            "job-suspended-and-resumed",
            vec![
                job(json!({ "parallelism": 2, "completions": 2 })),
                change_job(json!({ "suspend": true })),
                change_job(json!({ "suspend": false })),
                end(2, "Succeeded"),
            ],
        ),
        (
            "job-with-indexes",
            vec![
                job(json!({ "completionMode": "Indexed", "parallelism": 2, "completions": 3 })),
                end(2, "Succeeded"),
                end(1, "Succeeded"),
            ],
        ),
        (
            "job-scaled",
            vec![
                job(json!({ "parallelism": 3, "completions": 5 })),
                change_job(json!({ "parallelism": 1 })),
                change_job(json!({ "parallelism": 2 })),
            ],
        ),
    ]
}
