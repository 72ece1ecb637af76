//! Jobs, step by step, without a server.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::backoff::Backoff;
use super::member::{FAILURES, IGNORED_FAILURES, INDEX, TRACKING};
use super::plan::{NewPod, Plan};

fn now() -> Timestamp {
    "2026-01-01T00:01:00Z".parse().unwrap()
}

fn plan<'a>(job: &'a Job, pods: impl IntoIterator<Item = &'a Pod>, now: Timestamp) -> Plan {
    super::plan::plan(job, pods, Backoff::default(), now)
}

fn indexes(plan: &Plan) -> Vec<i32> {
    plan.create.iter().filter_map(|new| new.index).collect()
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
        (["b".to_owned()].as_slice(), ["a".to_owned(), "b".to_owned()].as_slice())
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
    // Who did not come to an end has failed too.
    assert_eq!(job.status.unwrap().failed, Some(2));
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
    assert_eq!(plan.events[0].reason, "Suspended");
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
    assert_eq!(indexes(&plan(&job, [], now())), [0, 1]);
    let mut pods = [pod("a", "Running", true, Some(1)), pod("b", "Succeeded", true, Some(0))];
    let first = plan(&job, &pods, now());
    assert_eq!(indexes(&first), [2]);
    carry_on(&mut job, &mut pods, &first);
    assert_eq!(job.status.unwrap().completed_indexes.as_deref(), Some("0"));
}

/// A Job of three indexes, each of which may fail once.
fn limited(change: Value) -> Job {
    let mut spec = json!({
        "completions": 3, "parallelism": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 1,
        "backoffLimit": i32::MAX, "template": {},
    });
    for (key, value) in change.as_object().unwrap() {
        spec[key] = value.clone();
    }
    job(spec)
}

fn after_failures(mut pod: Pod, counted: i32, ignored: i32) -> Pod {
    let annotations = pod.metadata.annotations.get_or_insert_default();
    annotations.insert(FAILURES.to_owned(), counted.to_string());
    annotations.insert(IGNORED_FAILURES.to_owned(), ignored.to_string());
    pod
}

#[test]
fn an_index_is_tried_again_by_a_pod_that_inherits_its_failures() {
    let job = limited(json!({}));
    let pods = [
        pod("a", "Running", true, Some(0)),
        pod("b", "Failed", true, Some(1)),
        pod("c", "Running", true, Some(2)),
    ];
    let early = plan(&job, &pods, now());
    // It stays until its successor is there, so that nobody forgets its failure.
    assert!(early.create.is_empty() && early.release.is_empty());
    assert_eq!(early.wake, Some(Duration::from_secs(5)));
    let late = plan(&job, &pods, "2026-01-01T00:01:05Z".parse().unwrap());
    let successor = NewPod {
        index: Some(1),
        failures: Some((1, 0)),
    };
    assert_eq!(late.create, [successor]);
    let mut with_successor = pods.to_vec();
    with_successor.push(after_failures(pod("d", "Running", true, Some(1)), 1, 0));
    assert_eq!(plan(&job, &with_successor, now()).release, ["b"]);
}

#[test]
fn an_index_that_failed_too_often_is_given_up_and_fails_the_job_in_the_end() {
    let mut job = limited(json!({}));
    let mut pods = vec![
        pod("a", "Succeeded", true, Some(0)),
        after_failures(pod("b", "Failed", true, Some(1)), 1, 0),
        pod("c", "Running", true, Some(2)),
    ];
    let first = plan(&job, &pods, now());
    assert_eq!(first.release, ["a", "b"]);
    carry_on(&mut job, &mut pods, &first);
    let status = job.status.clone().unwrap();
    assert_eq!(
        (status.completed_indexes.as_deref(), status.failed_indexes.as_deref()),
        (Some("0"), Some("1"))
    );
    assert!(true_conditions(&job).is_empty());
    pods[2] = pod("c", "Succeeded", true, Some(2));
    let second = plan(&job, &pods, now());
    carry_on(&mut job, &mut pods, &second);
    assert_eq!(true_conditions(&job), ["FailureTarget FailedIndexes"]);
}

#[test]
fn too_many_failed_indexes_end_the_others() {
    let mut job = limited(json!({ "backoffLimitPerIndex": 0, "maxFailedIndexes": 0 }));
    let mut pods = [pod("a", "Failed", true, Some(0)), pod("b", "Running", true, Some(1))];
    let plan = plan(&job, &pods, now());
    assert_eq!(plan.end, ["b"]);
    carry_on(&mut job, &mut pods, &plan);
    assert_eq!(true_conditions(&job), ["FailureTarget MaxFailedIndexesExceeded"]);
}

#[test]
fn a_failure_that_is_ignored_is_let_go_and_not_counted() {
    let policy = json!({ "rules": [
        { "action": "Ignore", "onExitCodes": { "operator": "In", "values": [1] } },
    ] });
    let job = job(json!({ "completions": 1, "backoffLimit": 0, "podFailurePolicy": policy, "template": {} }));
    let plan = plan(&job, &[pod("a", "Failed", true, None)], now());
    assert_eq!(plan.release, ["a"]);
    let status = plan.status.unwrap();
    assert_eq!(status.conditions, None);
    assert_eq!(status.uncounted_terminated_pods.unwrap().failed, None);
}

#[test]
fn a_failure_can_be_fatal_by_its_exit_code() {
    let policy = json!({ "rules": [
        { "action": "FailJob", "onExitCodes": { "operator": "In", "values": [1] } },
    ] });
    let mut job = job(json!({ "completions": 2, "parallelism": 2, "podFailurePolicy": policy, "template": {} }));
    let mut pods = [pod("a", "Failed", true, None), pod("b", "Running", true, None)];
    let plan = plan(&job, &pods, now());
    assert_eq!(plan.end, ["b"]);
    carry_on(&mut job, &mut pods, &plan);
    assert_eq!(true_conditions(&job), ["FailureTarget PodFailurePolicy"]);
}

#[test]
fn success_by_policy_ends_the_others_without_counting_them() {
    let policy = json!({ "rules": [{ "succeededIndexes": "0" }] });
    let mut job = job(json!({
        "completions": 3, "parallelism": 3, "completionMode": "Indexed", "successPolicy": policy, "template": {},
    }));
    let mut pods = [pod("a", "Succeeded", true, Some(0)), pod("b", "Running", true, Some(1))];
    let first = plan(&job, &pods, now());
    assert_eq!(
        (first.end.as_slice(), first.release.len()),
        (["b".to_owned()].as_slice(), 2)
    );
    carry_on(&mut job, &mut pods, &first);
    assert_eq!(true_conditions(&job), ["SuccessCriteriaMet SuccessPolicy"]);
    let second = plan(&job, &pods[..1], now());
    carry_on(&mut job, &mut pods, &second);
    assert_eq!(
        true_conditions(&job),
        ["SuccessCriteriaMet SuccessPolicy", "Complete SuccessPolicy"]
    );
    assert_eq!(job.status.unwrap().failed, None);
}

#[test]
fn who_replaces_failed_pods_only_waits_until_they_have_stopped() {
    let going = |phase: &str| {
        let mut pod = pod("a", phase, true, None);
        pod.metadata.deletion_timestamp = Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
        pod
    };
    let spec = |policy: &str| json!({ "completions": 1, "podReplacementPolicy": policy, "template": {} });
    let at = "2026-01-01T00:02:00Z".parse().unwrap();
    assert_eq!(
        plan(&job(spec("TerminatingOrFailed")), &[going("Running")], at)
            .create
            .len(),
        1
    );
    assert!(plan(&job(spec("Failed")), &[going("Running")], at).create.is_empty());
    assert_eq!(plan(&job(spec("Failed")), &[going("Failed")], at).create.len(), 1);
}

#[test]
fn an_index_beyond_the_last_is_removed() {
    let job = job(json!({ "completions": 1, "parallelism": 1, "completionMode": "Indexed", "template": {} }));
    let pods = [pod("a", "Running", true, Some(0)), pod("b", "Running", true, Some(4))];
    assert_eq!(plan(&job, &pods, now()).remove, ["b"]);
}

#[test]
fn no_number_is_too_large() {
    let mut job = job(json!({
        "completions": 2, "parallelism": 1, "activeDeadlineSeconds": i64::MAX, "ttlSecondsAfterFinished": i32::MAX,
        "backoffLimit": i32::MAX,
    }));
    let status = job.status.as_mut().unwrap();
    (status.failed, status.succeeded) = (Some(i32::MAX), Some(i32::MAX));
    let mut pods = [pod("a", "Failed", true, None), pod("b", "Succeeded", true, None)];
    for _ in 0..3 {
        let plan = plan(&job, &pods, now());
        carry_on(&mut job, &mut pods, &plan);
    }
    assert_eq!(job.status.unwrap().failed, Some(i32::MAX));
}
