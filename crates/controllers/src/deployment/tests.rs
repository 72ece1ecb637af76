//! Rollouts, step by step, without a server.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kubewright_runtime::cache::Event;
use kubewright_runtime::object::{Kind, Record};
use serde_json::{Value, json};

use super::history::{DESIRED, MOST, REVISION};
use super::plan::{Plan, RolloutStep, plan};

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn template(image: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [{ "name": "web", "image": image }] },
    })
}

fn deployment(replicas: i32, surge: i32, unavailable: i32, image: &str) -> Deployment {
    serde_json::from_value(json!({
        "metadata": { "name": "web", "namespace": "shop", "uid": "d", "generation": 1 },
        "spec": {
            "replicas": replicas, "selector": { "matchLabels": { "app": "web" } }, "template": template(image),
            "progressDeadlineSeconds": 600, "revisionHistoryLimit": 10,
            "strategy": { "type": "RollingUpdate", "rollingUpdate": {
                "maxSurge": surge, "maxUnavailable": unavailable,
            } },
        },
    }))
    .unwrap()
}

fn set(image: &str, revision: i32, asked: i32, available: i32, desired: (i32, i32)) -> ReplicaSet {
    serde_json::from_value(json!({
        "metadata": {
            "name": format!("web-{revision}"), "namespace": "shop", "uid": format!("s{revision}"), "generation": 1,
            "creationTimestamp": format!("2025-01-01T00:00:0{revision}Z"),
            "annotations": {
                REVISION: revision.to_string(), DESIRED: desired.0.to_string(), MOST: desired.1.to_string(),
            },
        },
        "spec": { "replicas": asked, "selector": {}, "template": template(image) },
        "status": { "replicas": asked, "availableReplicas": available, "observedGeneration": 1 },
    }))
    .unwrap()
}

fn decide(deployment: &Deployment, sets: Vec<ReplicaSet>) -> Plan {
    plan(deployment, sets, &BTreeSet::new(), now())
}

/// The sizes that are written, by name.
fn sizes(plan: &Plan) -> Vec<(String, i32)> {
    let write = |step: &RolloutStep| match step {
        RolloutStep::Create(set) | RolloutStep::Update(set) => {
            let name = set.metadata.name.clone()?;
            Some((name, set.spec.as_ref()?.replicas?))
        }
        _ => None,
    };
    plan.steps.iter().filter_map(write).collect()
}

#[test]
fn a_new_template_gets_a_set_as_large_as_the_surge() {
    let plan = decide(&deployment(10, 3, 2, "new"), vec![set("old", 1, 10, 10, (10, 13))]);
    assert_eq!(sizes(&plan)[0].1, 3);
    let created = plan.status.unwrap();
    assert_eq!(created.metadata.annotations.unwrap()[REVISION], "2");
}

#[test]
fn old_pods_go_as_far_as_availability_allows() {
    let sets = vec![set("old", 1, 10, 10, (10, 13)), set("new", 2, 3, 0, (10, 13))];
    assert_eq!(
        sizes(&decide(&deployment(10, 3, 2, "new"), sets)),
        [("web-1".to_owned(), 8)]
    );
    let sets = vec![set("old", 1, 8, 8, (10, 13)), set("new", 2, 5, 0, (10, 13))];
    assert!(sizes(&decide(&deployment(10, 3, 2, "new"), sets)).is_empty());
}

#[test]
fn pods_that_do_not_work_go_first() {
    let sets = vec![set("old", 1, 8, 5, (10, 13)), set("new", 2, 3, 3, (10, 13))];
    // The new set grows first; then three old Pods that are not available go.
    assert_eq!(
        sizes(&decide(&deployment(10, 3, 2, "new"), sets)),
        [("web-2".to_owned(), 5)]
    );
    let sets = vec![set("old", 1, 8, 5, (10, 13)), set("new", 2, 5, 5, (10, 13))];
    assert_eq!(
        sizes(&decide(&deployment(10, 3, 2, "new"), sets))[0],
        ("web-1".to_owned(), 5)
    );
}

#[test]
fn a_set_that_has_not_caught_up_yet_is_not_shrunk_on_old_numbers() {
    let sets = vec![set("old", 1, 6, 13, (7, 10)), set("new", 2, 4, 0, (7, 10))];
    assert!(sizes(&decide(&deployment(7, 3, 2, "new"), sets)).is_empty());
}

#[test]
fn another_size_is_shared_by_all_sets_in_proportion() {
    let sets = vec![set("old", 1, 8, 8, (10, 13)), set("new", 2, 5, 0, (10, 13))];
    let plan = decide(&deployment(20, 3, 2, "new"), sets);
    assert_eq!(sizes(&plan), [("web-1".to_owned(), 14), ("web-2".to_owned(), 9)]);
}

#[test]
fn a_complete_rollout_says_so_once() {
    let mut deployment = deployment(2, 1, 0, "new");
    let sets = || vec![set("new", 1, 2, 2, (2, 3))];
    let first = decide(&deployment, sets());
    deployment = *first.status.unwrap();
    let conditions = deployment.status.clone().unwrap().conditions.unwrap();
    let reasons: Vec<_> = conditions
        .iter()
        .filter_map(|condition| condition.reason.as_deref())
        .collect();
    assert_eq!(reasons, ["MinimumReplicasAvailable", "NewReplicaSetAvailable"]);
    let second = decide(&deployment, sets());
    assert!(second.status.is_none() && second.steps.is_empty() && second.wake.is_none());
}

#[test]
fn a_rollout_without_progress_is_looked_at_again_when_its_time_is_over() {
    let mut deployment = deployment(2, 1, 0, "new");
    let sets = || vec![set("new", 1, 2, 0, (2, 3))];
    for _ in 0..2 {
        if let Some(status) = decide(&deployment, sets()).status {
            deployment = *status;
        }
    }
    let waiting = decide(&deployment, sets());
    assert_eq!(waiting.wake.map(|wait| wait.as_secs()), Some(601));
    let later = plan(
        &deployment,
        sets(),
        &BTreeSet::new(),
        "2026-01-01T00:10:01Z".parse().unwrap(),
    );
    let conditions = later.status.unwrap().status.unwrap().conditions.unwrap();
    assert!(
        conditions
            .iter()
            .any(|condition| condition.reason.as_deref() == Some("ProgressDeadlineExceeded"))
    );
}

#[test]
fn only_pods_of_sets_that_finish_or_go_are_looked_at() {
    let pod = |owner: &str, phase: Value, deleted: Option<&str>| {
        let json = json!({
            "metadata": {
                "name": "a", "namespace": "shop", "deletionTimestamp": deleted, "ownerReferences": [
                    { "apiVersion": "apps/v1", "kind": owner, "name": "web", "uid": "1", "controller": true },
                ],
            },
            "status": phase,
        });
        let record = Record::parse(&serde_json::to_vec(&json).unwrap(), &Kind::of::<Pod>()).unwrap();
        Arc::new(record)
    };
    let set = |phase: &str| pod("ReplicaSet", json!({ "phase": phase }), None);
    let admits = |object| super::endings().admits(&Event::Added { object, initial: false });
    for phase in ["Succeeded", "Failed"] {
        assert!(admits(set(phase)), "{phase}");
        assert!(!admits(pod("Job", json!({ "phase": phase }), None)));
    }
    for phase in ["Pending", "Running", "Unknown"] {
        assert!(!admits(set(phase)), "{phase}");
    }
    assert!(!admits(pod("ReplicaSet", Value::Null, None)));
    assert!(admits(pod("ReplicaSet", Value::Null, Some("2026-01-01T00:00:00Z"))));
    let (old, new) = (set("Running"), set("Failed"));
    assert!(super::endings().admits(&Event::Updated { old, new }));
}
