//! Jobs, step by step, without a server.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::plan::{INDEX, Plan, TRACKING, plan};

fn now() -> Timestamp {
    "2026-01-01T00:01:00Z".parse().unwrap()
}

fn job(spec: Value) -> Job {
    serde_json::from_value(json!({
        "metadata": { "name": "work", "uid": "job" }, "spec": spec,
        "status": { "startTime": "2026-01-01T00:00:00Z" },
    }))
    .map(|mut job: Job| {
        job.spec.as_mut().unwrap().backoff_limit.get_or_insert(6);
        job
    })
    .unwrap()
}

fn pod(name: &str, phase: &str, tracked: bool, index: Option<i32>) -> Pod {
    let mut pod = json!({
        "metadata": { "name": name, "uid": name },
        "status": { "phase": phase, "containerStatuses": [] },
    });
    if tracked {
        pod["metadata"]["finalizers"] = json!([TRACKING]);
    }
    if let Some(index) = index {
        pod["metadata"]["annotations"] = json!({ INDEX: index.to_string() });
    }
    if matches!(phase, "Failed" | "Succeeded") {
        pod["status"]["containerStatuses"] = json!([{
            "name": "a", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": { "terminated": { "exitCode": 1, "finishedAt": "2026-01-01T00:00:55Z" } },
        }]);
    }
    serde_json::from_value(pod).unwrap()
}

/// Applies what the plan writes, as the server would.
fn carry_on(job: &mut Job, pods: &mut [Pod], plan: &Plan) {
    if let Some(status) = &plan.status {
        job.status = Some((**status).clone());
    }
    for pod in pods {
        if plan.release.contains(pod.metadata.name.as_ref().unwrap()) {
            pod.metadata.finalizers = None;
        }
    }
}

fn true_conditions(job: &Job) -> Vec<String> {
    let conditions = job.status.as_ref().unwrap().conditions.clone().unwrap_or_default();
    let holds = conditions.into_iter().filter(|condition| condition.status == "True");
    holds
        .map(|condition| format!("{} {}", condition.type_, condition.reason.unwrap()))
        .collect()
}

#[test]
fn as_many_pods_are_made_as_may_run_side_by_side_and_are_still_needed() {
    let job = job(json!({ "completions": 5, "parallelism": 3, "template": {} }));
    assert_eq!(plan(&job, [], now()).create.len(), 3);
    let running = [pod("a", "Running", true, None), pod("b", "Running", true, None)];
    assert_eq!(plan(&job, &running, now()).create.len(), 1);
    let mut late = job.clone();
    late.status.as_mut().unwrap().succeeded = Some(4);
    assert!(plan(&late, &running[..1], now()).create.is_empty());
}

#[test]
fn a_success_is_written_down_released_counted_and_completes_the_job() {
    let mut job = job(json!({ "completions": 1, "parallelism": 1, "template": {} }));
    let mut pods = [pod("a", "Succeeded", true, None)];
    let first = plan(&job, &pods, now());
    assert_eq!(first.release, ["a"]);
    carry_on(&mut job, &mut pods, &first);
    let status = job.status.clone().unwrap();
    assert_eq!(
        status.uncounted_terminated_pods.unwrap().succeeded,
        Some(vec!["a".to_owned()])
    );
    assert_eq!(true_conditions(&job), ["SuccessCriteriaMet CompletionsReached"]);
    let second = plan(&job, &pods, now());
    carry_on(&mut job, &mut pods, &second);
    assert_eq!(job.status.as_ref().unwrap().succeeded, Some(1));
    assert_eq!(
        true_conditions(&job),
        ["SuccessCriteriaMet CompletionsReached", "Complete CompletionsReached"]
    );
    assert!(job.status.as_ref().unwrap().completion_time.is_some());
}

#[test]
fn too_many_failures_end_the_job_and_its_pods() {
    let mut job = job(json!({ "completions": 2, "parallelism": 2, "backoffLimit": 0, "template": {} }));
    let mut pods = vec![pod("a", "Failed", true, None), pod("b", "Running", true, None)];
    let first = plan(&job, &pods, now());
    assert_eq!(
        (first.end.as_slice(), first.release.as_slice()),
        (["b".to_owned()].as_slice(), ["a".to_owned()].as_slice())
    );
    carry_on(&mut job, &mut pods, &first);
    assert_eq!(true_conditions(&job), ["FailureTarget BackoffLimitExceeded"]);
    pods.remove(1);
    let second = plan(&job, &pods, now());
    carry_on(&mut job, &mut pods, &second);
    assert_eq!(
        true_conditions(&job),
        ["FailureTarget BackoffLimitExceeded", "Failed BackoffLimitExceeded"]
    );
    assert_eq!(job.status.unwrap().failed, Some(1));
}

#[test]
fn a_failure_is_followed_by_a_pause() {
    let job = job(json!({ "completions": 1, "parallelism": 1, "template": {} }));
    let failed = [pod("a", "Failed", true, None)];
    let early = plan(&job, &failed, now());
    assert!(early.create.is_empty());
    assert_eq!(early.wake, Some(Duration::from_secs(5)));
    let later = plan(&job, &failed, "2026-01-01T00:01:05Z".parse().unwrap());
    assert_eq!(later.create.len(), 1);
}

#[test]
fn a_suspended_job_removes_its_pods_without_counting_them() {
    let job = job(json!({ "completions": 2, "parallelism": 2, "suspend": true, "template": {} }));
    let running = [pod("a", "Running", true, None)];
    let plan = plan(&job, &running, now());
    assert_eq!(plan.remove, ["a"]);
    assert_eq!(plan.tell[0].reason, "Suspended");
    assert_eq!(plan.status.unwrap().failed, None);
}

#[test]
fn a_job_that_is_active_for_too_long_fails() {
    let job = job(json!({ "completions": 1, "activeDeadlineSeconds": 60, "template": {} }));
    let plan = plan(&job, &[pod("a", "Running", true, None)], now());
    assert_eq!(plan.end, ["a"]);
    let mut failed = job.clone();
    failed.status = plan.status.map(|status| *status);
    assert_eq!(true_conditions(&failed), ["FailureTarget DeadlineExceeded"]);
}

#[test]
fn indexes_are_given_out_from_the_lowest() {
    let mut job = job(json!({ "completions": 4, "parallelism": 2, "completionMode": "Indexed", "template": {} }));
    assert_eq!(plan(&job, [], now()).create, [Some(0), Some(1)]);
    let mut pods = [pod("a", "Running", true, Some(1)), pod("b", "Succeeded", true, Some(0))];
    let first = plan(&job, &pods, now());
    assert_eq!(first.create, [Some(2)]);
    carry_on(&mut job, &mut pods, &first);
    assert_eq!(job.status.unwrap().completed_indexes.as_deref(), Some("0"));
}
