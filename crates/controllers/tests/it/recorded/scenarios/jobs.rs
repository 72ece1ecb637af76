//! Pods that run to their end: how often, side by side, how many may fail, and what follows from an exit code.

use serde_json::{Value, json};

use super::{Act, Scenario, delete, end, merge, patch, refused_template, scenario};

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

/// The same on a node: deleted Pods stay until their kubelet says that they have stopped.
fn job_on_a_node(change: Value) -> Act {
    let mut spec = json!({ "template": { "spec": {
        "nodeName": "somewhere", "restartPolicy": "Never", "containers": [{ "name": "main", "image": "busybox" }],
    } } });
    merge(&mut spec, change);
    job(spec)
}

fn change(spec: Value) -> Act {
    patch("Job", "work", json!({ "spec": spec }))
}

fn ended(phase: &str, code: i32) -> Value {
    json!({ "phase": phase, "containerStatuses": [{
        "name": "main", "image": "busybox", "imageID": "", "ready": false, "restartCount": 0,
        "state": { "terminated": { "exitCode": code, "finishedAt": "$now" } },
    }] })
}

fn exits(index: i32, code: i32) -> Act {
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    Act::Report(1, Some(index), ended(phase, code))
}

fn fails_with(code: i32) -> Act {
    Act::Report(1, None, ended("Failed", code))
}

fn disrupted() -> Act {
    let mut status = ended("Failed", 137);
    status["conditions"] = json!([
        { "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "lastTransitionTime": "$now" },
    ]);
    Act::Report(1, None, status)
}

fn restarts(count: i32) -> Act {
    Act::Report(
        1,
        None,
        json!({ "phase": "Running", "containerStatuses": [{
            "name": "main", "image": "busybox", "imageID": "", "ready": true, "restartCount": count,
            "state": { "running": { "startedAt": null } },
        }] }),
    )
}

fn on_exit(action: &str, operator: &str, values: &[i32]) -> Value {
    json!({ "action": action, "onExitCodes": { "containerName": "main", "operator": operator, "values": values } })
}

fn on_disruption(action: &str) -> Value {
    json!({ "action": action, "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] })
}

pub(super) fn all() -> Vec<Scenario> {
    [
        ends(),
        sizes(),
        indexes(),
        failure_policies(),
        success_policies(),
        replacements(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn ends() -> Vec<Scenario> {
    vec![
        scenario(
            "job-completes",
            vec![
                job(json!({ "completions": 3, "parallelism": 2 })),
                end(1, "Succeeded"),
                end(2, "Succeeded"),
            ],
        ),
        scenario(
            "job-fails",
            vec![
                job(json!({ "completions": 2, "parallelism": 2, "backoffLimit": 0 })),
                end(1, "Failed"),
            ],
        ),
        scenario(
            "job-pauses-after-failures",
            vec![
                job(json!({ "backoffLimit": 2 })),
                end(1, "Failed"),
                Act::Wait(12),
                end(1, "Failed"),
                Act::Wait(24),
                end(1, "Succeeded"),
            ],
        ),
        scenario(
            "job-past-its-deadline",
            vec![job(json!({ "activeDeadlineSeconds": 15 })), Act::Wait(20)],
        ),
        scenario(
            "job-with-restarts",
            vec![
                job(json!({ "backoffLimit": 3, "template": { "spec": {
                    "restartPolicy": "OnFailure", "containers": [{ "name": "main", "image": "busybox" }],
                } } })),
                restarts(2),
                restarts(3),
            ],
        ),
        scenario(
            "job-as-a-work-queue",
            vec![
                job(json!({ "parallelism": 2 })),
                change(json!({ "parallelism": 3 })),
                end(1, "Succeeded"),
                end(1, "Failed"),
                end(1, "Succeeded"),
            ],
        ),
        scenario(
            "job-deleted-some-time-after-it-finished",
            vec![
                job(json!({ "ttlSecondsAfterFinished": 12 })),
                end(1, "Succeeded"),
                Act::Wait(15),
            ],
        ),
        scenario(
            "job-whose-pods-cannot-be-made",
            vec![job(json!({ "template": {
                "spec": merged(refused_template()["spec"].clone(), json!({ "restartPolicy": "Never" })),
            } }))],
        ),
        scenario(
            "job-deleted-while-it-runs",
            vec![
                job(json!({ "parallelism": 2, "completions": 2 })),
                delete("Job", "work", "Background"),
            ],
        ),
        scenario(
            "job-deleted-without-its-pods",
            vec![
                job(json!({ "parallelism": 2, "completions": 2 })),
                delete("Job", "work", "Orphan"),
            ],
        ),
        scenario(
            "job-of-somebody-else",
            vec![job(json!({ "managedBy": "example.com/other" }))],
        ),
        scenario(
            "job-with-a-selector-of-its-own",
            vec![
                job(json!({ "selector": { "matchLabels": { "app": "work" } } })),
                job(json!({
                    "manualSelector": true, "selector": { "matchLabels": { "app": "work" } },
                    "template": {
                        "metadata": { "labels": { "app": "work" } },
                        "spec": { "restartPolicy": "Never", "containers": [{ "name": "main", "image": "busybox" }] },
                    },
                })),
                end(1, "Succeeded"),
            ],
        ),
    ]
}

fn merged(mut into: Value, change: Value) -> Value {
    merge(&mut into, change);
    into
}

fn sizes() -> Vec<Scenario> {
    vec![
        scenario(
            "job-suspended-and-resumed",
            vec![
                job(json!({ "parallelism": 2, "completions": 2 })),
                change(json!({ "suspend": true })),
                change(json!({ "suspend": false })),
                end(2, "Succeeded"),
            ],
        ),
        scenario(
            "job-that-begins-suspended",
            vec![
                job(json!({ "suspend": true, "activeDeadlineSeconds": 12 })),
                Act::Wait(15),
                change(json!({ "suspend": false })),
                Act::Wait(15),
            ],
        ),
        scenario(
            "job-scaled",
            vec![
                job(json!({ "parallelism": 3, "completions": 5 })),
                change(json!({ "parallelism": 1 })),
                change(json!({ "parallelism": 2 })),
            ],
        ),
        scenario(
            "job-scaled-to-nothing-and-back",
            vec![
                job(json!({ "parallelism": 2, "completions": 3 })),
                end(1, "Succeeded"),
                change(json!({ "parallelism": 0 })),
                change(json!({ "parallelism": 5 })),
                end(2, "Succeeded"),
            ],
        ),
    ]
}

fn indexes() -> Vec<Scenario> {
    let indexed = |change: Value| job(merged(json!({ "completionMode": "Indexed" }), change));
    vec![
        scenario(
            "job-with-indexes",
            vec![
                indexed(json!({ "parallelism": 2, "completions": 3 })),
                end(2, "Succeeded"),
                end(1, "Succeeded"),
            ],
        ),
        scenario(
            "job-with-indexes-made-larger-and-smaller",
            vec![
                indexed(json!({ "parallelism": 3, "completions": 3 })),
                exits(0, 0),
                change(json!({ "parallelism": 5, "completions": 5 })),
                exits(4, 0),
                change(json!({ "parallelism": 2, "completions": 2 })),
                exits(1, 0),
            ],
        ),
        scenario(
            "job-with-limits-per-index",
            vec![
                indexed(json!({ "parallelism": 3, "completions": 3, "backoffLimitPerIndex": 1 })),
                exits(1, 1),
                Act::Wait(12),
                exits(1, 1),
                exits(0, 0),
                exits(2, 0),
            ],
        ),
        scenario(
            "job-with-too-many-failed-indexes",
            vec![
                indexed(json!({
                    "parallelism": 4, "completions": 4, "backoffLimitPerIndex": 0, "maxFailedIndexes": 1,
                })),
                exits(0, 1),
                exits(2, 1),
            ],
        ),
    ]
}

fn failure_policies() -> Vec<Scenario> {
    let rules = |rules: Value| json!({ "rules": rules });
    vec![
        scenario(
            "job-failed-by-an-exit-code",
            vec![
                job(json!({
                    "parallelism": 2, "completions": 2,
                    "podFailurePolicy": rules(json!([on_exit("FailJob", "In", &[42])])),
                })),
                fails_with(42),
            ],
        ),
        scenario(
            "job-ignores-disruptions",
            vec![
                job(json!({
                    "backoffLimit": 0,
                    "podFailurePolicy": rules(json!([on_disruption("Ignore"), on_exit("Count", "NotIn", &[1])])),
                })),
                disrupted(),
                Act::Wait(12),
                fails_with(2),
            ],
        ),
        scenario(
            "job-failed-by-a-condition",
            vec![
                job(json!({ "podFailurePolicy": rules(json!([on_disruption("FailJob")])) })),
                disrupted(),
            ],
        ),
        scenario(
            "job-gives-up-an-index",
            vec![
                job(json!({
                    "completionMode": "Indexed", "parallelism": 2, "completions": 2, "backoffLimitPerIndex": 3,
                    "podFailurePolicy": rules(json!([
                        on_exit("FailIndex", "In", &[3]), on_disruption("Ignore"),
                    ])),
                })),
                exits(1, 3),
                exits(0, 0),
            ],
        ),
        scenario(
            "job-ignores-failures-of-an-index",
            vec![
                job(json!({
                    "completionMode": "Indexed", "parallelism": 1, "completions": 1, "backoffLimitPerIndex": 1,
                    "podFailurePolicy": rules(json!([on_exit("Ignore", "In", &[7])])),
                })),
                exits(0, 7),
                Act::Wait(12),
                exits(0, 1),
                Act::Wait(24),
                exits(0, 0),
            ],
        ),
    ]
}

fn success_policies() -> Vec<Scenario> {
    let indexed = |rules: Value| {
        job(json!({
            "completionMode": "Indexed", "parallelism": 4, "completions": 4, "successPolicy": { "rules": rules },
        }))
    };
    vec![
        scenario(
            "job-succeeds-by-its-leader",
            vec![indexed(json!([{ "succeededIndexes": "0" }])), exits(2, 0), exits(0, 0)],
        ),
        scenario(
            "job-succeeds-by-a-count",
            vec![
                indexed(json!([{ "succeededIndexes": "0", "succeededCount": 1 }, { "succeededCount": 2 }])),
                exits(3, 0),
                exits(1, 0),
            ],
        ),
        scenario(
            "job-succeeds-by-some-indexes",
            vec![
                indexed(json!([{ "succeededIndexes": "1-3", "succeededCount": 2 }])),
                exits(0, 0),
                exits(1, 0),
                exits(3, 0),
            ],
        ),
    ]
}

fn replacements() -> Vec<Scenario> {
    vec![
        scenario(
            "job-replaces-pods-that-go",
            vec![
                job_on_a_node(json!({ "parallelism": 2, "completions": 2 })),
                Act::Kill(1),
                Act::Wait(12),
                Act::Gone(1),
            ],
        ),
        scenario(
            "job-replaces-failed-pods-only",
            vec![
                job_on_a_node(json!({ "parallelism": 2, "completions": 2, "podReplacementPolicy": "Failed" })),
                Act::Kill(1),
                Act::Wait(12),
                Act::Gone(1),
                Act::Wait(12),
            ],
        ),
        scenario(
            "job-waits-for-pods-that-go",
            vec![
                job_on_a_node(json!({ "parallelism": 2, "completions": 2, "backoffLimit": 0 })),
                end(1, "Failed"),
                Act::Gone(1),
            ],
        ),
    ]
}
