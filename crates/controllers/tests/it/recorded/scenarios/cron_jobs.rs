//! Jobs at set times. Each tick is a real minute while recording, and none in a replay.

use serde_json::{Value, json};

use super::{Act, Scenario, delete, end, merge, patch, scenario};

fn cron(change: Value) -> Act {
    let mut tick = json!({
        "kind": "CronJob", "metadata": { "name": "tick" },
        "spec": { "schedule": "* * * * *", "jobTemplate": {
            "metadata": { "labels": { "made-by": "tick" }, "annotations": { "note": "kept" } },
            "spec": { "template": { "spec": {
                "restartPolicy": "Never", "containers": [{ "name": "main", "image": "busybox" }],
            } } },
        } },
    });
    merge(&mut tick["spec"], change);
    Act::Create(tick)
}

fn change(spec: Value) -> Act {
    patch("CronJob", "tick", json!({ "spec": spec }))
}

pub(super) fn all() -> Vec<Scenario> {
    vec![
        scenario(
            "cron-makes-jobs",
            vec![
                Act::Tick,
                cron(json!({ "successfulJobsHistoryLimit": 1 })),
                Act::Tick,
                end(1, "Succeeded"),
                Act::Tick,
                end(1, "Succeeded"),
                delete("CronJob", "tick", "Background"),
            ],
        ),
        scenario(
            "cron-keeps-failed-jobs",
            vec![
                Act::Tick,
                cron(json!({ "failedJobsHistoryLimit": 1, "jobTemplate": { "spec": {
                    "backoffLimit": 0, "template": { "spec": {
                        "restartPolicy": "Never", "containers": [{ "name": "main", "image": "busybox" }],
                    } },
                } } })),
                Act::Tick,
                end(1, "Failed"),
                Act::Tick,
                end(1, "Failed"),
            ],
        ),
        scenario(
            "cron-allows-jobs-side-by-side",
            vec![Act::Tick, cron(json!({})), Act::Tick, Act::Tick],
        ),
        scenario(
            "cron-forbids-jobs-side-by-side",
            vec![
                Act::Tick,
                cron(json!({ "concurrencyPolicy": "Forbid" })),
                Act::Tick,
                Act::Tick,
                end(1, "Succeeded"),
            ],
        ),
        scenario(
            "cron-replaces-jobs",
            vec![
                Act::Tick,
                cron(json!({ "concurrencyPolicy": "Replace" })),
                Act::Tick,
                Act::Tick,
            ],
        ),
        scenario(
            "cron-suspended-catches-up-once",
            vec![
                Act::Tick,
                cron(json!({ "suspend": true })),
                Act::Tick,
                Act::Tick,
                change(json!({ "suspend": false })),
            ],
        ),
        scenario(
            "cron-misses-its-deadline",
            vec![
                Act::Tick,
                cron(json!({ "suspend": true, "startingDeadlineSeconds": 10 })),
                Act::Tick,
                Act::Wait(12),
                change(json!({ "suspend": false })),
                Act::Tick,
            ],
        ),
        scenario(
            "cron-that-makes-no-sense",
            vec![
                cron(json!({ "timeZone": "Mars/Olympus_Mons" })),
                cron(json!({ "schedule": "61 * * * *" })),
                cron(json!({ "schedule": "TZ=UTC * * * * *" })),
                cron(json!({ "timeZone": "Local" })),
            ],
        ),
        scenario(
            "cron-loses-a-job",
            vec![
                Act::Tick,
                cron(json!({ "timeZone": "Asia/Tokyo" })),
                Act::Tick,
                Act::Create(json!({
                    "kind": "Job",
                    "metadata": { "name": "by-hand", "ownerReferences": [{
                        "apiVersion": "batch/v1", "kind": "CronJob", "name": "tick", "uid": "$uid:CronJob/tick",
                        "controller": true,
                    }] },
                    "spec": { "template": { "spec": {
                        "restartPolicy": "Never", "containers": [{ "name": "main", "image": "busybox" }],
                    } } },
                })),
                end(2, "Succeeded"),
            ],
        ),
    ]
}
