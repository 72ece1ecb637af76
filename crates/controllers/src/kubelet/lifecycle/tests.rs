//! Lifecycles of Pods, second by second.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use serde_json::{Value, json};

use super::{ContainerProcess, Next, PodPlacement, ProcessState, ProcessStates, script, step};
use crate::support::time::later;

fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn pod(annotations: Value, policy: &str) -> Pod {
    serde_json::from_value(json!({
        "metadata": { "name": "a", "namespace": "shop", "uid": "1", "annotations": annotations },
        "spec": { "restartPolicy": policy, "nodeName": "node-1", "containers": [{ "name": "web", "image": "nginx" }] },
        "status": { "phase": "Pending", "conditions": [{ "type": "PodScheduled", "status": "True" }] },
    }))
    .unwrap()
}

fn next(pod: &Pod, second: i64) -> Next {
    let placement = PodPlacement {
        host_ip: "192.168.0.1",
        pod_ip: "10.244.0.2",
        now: later(start(), second),
    };
    step(pod, &script::of_pod(pod).0, &ProcessStates::default(), &placement)
}

/// Lives on until nothing changes at this second.
fn live(pod: &mut Pod, second: i64) -> Next {
    for _ in 0..20 {
        match next(pod, second) {
            Next::Status(status) => pod.status = Some(*status),
            next => return next,
        }
    }
    panic!("it does not come to rest");
}

fn status(pod: &Pod) -> &PodStatus {
    pod.status.as_ref().unwrap()
}

fn phase(pod: &Pod) -> &str {
    status(pod).phase.as_deref().unwrap()
}

fn is_ready(pod: &Pod) -> bool {
    crate::support::pods::is_ready(pod)
}

fn waits_for(pod: &Pod) -> Option<&str> {
    let state = status(pod).container_statuses.as_ref()?[0].state.as_ref()?;
    state.waiting.as_ref()?.reason.as_deref()
}

fn seconds(next: &Next) -> u64 {
    match next {
        Next::Wait(wait) => wait.as_secs(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_plain_pod_runs_and_is_ready_in_one_step() {
    let mut pod = pod(json!({}), "Always");
    let Next::Status(first) = next(&pod, 0) else {
        panic!("it does not start");
    };
    pod.status = Some(*first);
    assert_eq!((phase(&pod), is_ready(&pod)), ("Running", true));
    assert_eq!(status(&pod).pod_ip.as_deref(), Some("10.244.0.2"));
    let types: Vec<_> = status(&pod)
        .conditions
        .iter()
        .flatten()
        .map(|condition| condition.type_.as_str())
        .collect();
    assert_eq!(
        types,
        [
            "PodReadyToStartContainers",
            "Initialized",
            "Ready",
            "ContainersReady",
            "PodScheduled"
        ]
    );
    assert_eq!(live(&mut pod, 0), Next::Nothing);
}

#[test]
fn delays_are_waited_for() {
    let mut pod = pod(
        json!({ "kubewright.dev/start-delay": "5s", "kubewright.dev/ready-delay": "10s" }),
        "Always",
    );
    assert_eq!(seconds(&live(&mut pod, 0)), 5);
    assert_eq!((phase(&pod), waits_for(&pod)), ("Pending", Some("ContainerCreating")));
    assert_eq!(seconds(&live(&mut pod, 5)), 10);
    assert_eq!((phase(&pod), is_ready(&pod)), ("Running", false));
    assert_eq!(live(&mut pod, 15), Next::Nothing);
    assert!(is_ready(&pod));
}

#[test]
fn a_pod_that_is_there_to_finish_is_seen_running_and_finishes() {
    let mut pod = pod(json!({}), "Never");
    let Next::Status(first) = next(&pod, 0) else {
        panic!("it does not start");
    };
    assert_eq!(first.phase.as_deref(), Some("Running"));
    assert_eq!(live(&mut pod, 0), Next::Nothing);
    assert_eq!((phase(&pod), is_ready(&pod)), ("Succeeded", false));

    let mut failing = super::tests::pod(json!({ "kubewright.dev/exit-code": "3" }), "Never");
    assert_eq!(live(&mut failing, 0), Next::Nothing);
    assert_eq!(phase(&failing), "Failed");
}

#[test]
fn a_container_that_keeps_ending_is_restarted_ever_later_until_it_holds() {
    let mut pod = pod(
        json!({ "kubewright.dev/exit-code": "1", "kubewright.dev/restarts": "3" }),
        "Always",
    );
    assert_eq!(seconds(&live(&mut pod, 0)), 10);
    assert_eq!((phase(&pod), waits_for(&pod)), ("Running", Some("CrashLoopBackOff")));
    assert_eq!(seconds(&live(&mut pod, 10)), 20);
    assert_eq!(live(&mut pod, 30), Next::Nothing);
    assert!(is_ready(&pod));
    assert_eq!(status(&pod).container_statuses.as_ref().unwrap()[0].restart_count, 3);
}

#[test]
fn an_image_that_cannot_be_pulled_is_tried_again() {
    let mut pod = pod(json!({ "kubewright.dev/image-error": "no such image" }), "Always");
    assert_eq!(seconds(&live(&mut pod, 0)), 10);
    assert_eq!((phase(&pod), waits_for(&pod)), ("Pending", Some("ErrImagePull")));
    assert_eq!(live(&mut pod, 10), Next::Nothing);
    assert_eq!(waits_for(&pod), Some("ImagePullBackOff"));
    pod.metadata.annotations = None;
    live(&mut pod, 20);
    assert_eq!((phase(&pod), is_ready(&pod)), ("Running", true));
}

#[test]
fn a_pod_whose_image_cannot_be_pulled_is_pending_also_when_its_status_was_read_back() {
    let mut pod = pod(json!({ "kubewright.dev/image-error": "no such image" }), "Always");
    live(&mut pod, 0);
    // The API server writes an empty state where there is none.
    let mut read = serde_json::to_value(&pod).unwrap();
    read["status"]["containerStatuses"][0]["lastState"] = json!({});
    let mut pod: Pod = serde_json::from_value(read).unwrap();
    live(&mut pod, 10);
    assert_eq!((phase(&pod), waits_for(&pod)), ("Pending", Some("ImagePullBackOff")));
}

#[test]
fn no_number_of_seconds_or_restarts_is_too_large() {
    let longest = i64::MAX;
    let mut pod = pod(
        json!({ "kubewright.dev/exit-code": "1", "kubewright.dev/stop-delay": "1h" }),
        "Always",
    );
    let spec = pod.spec.as_mut().unwrap();
    (spec.active_deadline_seconds, spec.termination_grace_period_seconds) = (Some(longest), Some(longest));
    live(&mut pod, 0);
    let status = pod.status.as_mut().unwrap();
    status.container_statuses.as_mut().unwrap()[0].restart_count = i32::MAX;
    live(&mut pod, 600);
    for deletion in [later(start(), 30), Timestamp::MAX, Timestamp::MIN] {
        pod.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(deletion));
        for grace in [longest, i64::MIN, 0] {
            pod.metadata.deletion_grace_period_seconds = Some(grace);
            assert!(matches!(next(&pod, 600), Next::Remove | Next::Wait(_)));
        }
    }
}

#[test]
fn a_deleted_pod_ends_when_it_likes_but_not_after_its_grace_period() {
    let mut pod = pod(json!({ "kubewright.dev/stop-delay": "1h" }), "Always");
    live(&mut pod, 0);
    let deletion = later(start(), 30);
    pod.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(deletion));
    pod.metadata.deletion_grace_period_seconds = Some(30);
    assert_eq!(seconds(&next(&pod, 10)), 20);
    assert_eq!(next(&pod, 30), Next::Remove);
    pod.metadata.annotations = None;
    assert_eq!(next(&pod, 0), Next::Remove);
}

#[test]
fn a_pod_that_is_active_for_too_long_fails() {
    let mut pod = pod(json!({ "kubewright.dev/run-time": "forever" }), "Never");
    pod.spec.as_mut().unwrap().active_deadline_seconds = Some(60);
    assert_eq!(seconds(&live(&mut pod, 0)), 60);
    live(&mut pod, 60);
    assert_eq!(
        (phase(&pod), status(&pod).reason.as_deref()),
        ("Failed", Some("DeadlineExceeded"))
    );
}

#[test]
fn a_pod_is_ready_when_its_gates_are_open() {
    let mut pod = pod(json!({}), "Always");
    pod.spec.as_mut().unwrap().readiness_gates =
        serde_json::from_value(json!([{ "conditionType": "example.com/gate" }])).unwrap();
    live(&mut pod, 0);
    assert!(!is_ready(&pod));
    let gate = serde_json::from_value(json!({ "type": "example.com/gate", "status": "True" })).unwrap();
    pod.status.as_mut().unwrap().conditions.as_mut().unwrap().push(gate);
    live(&mut pod, 0);
    assert!(is_ready(&pod));
}

/// The Pod's only container is a process of which this is seen.
fn process_states(run: i32, seen: ProcessState) -> ProcessStates {
    let image_id = "sha256:1".to_owned();
    ProcessStates([("web".to_owned(), ContainerProcess { run, seen, image_id })].into())
}

fn process_next(pod: &Pod, process_states: &ProcessStates, second: i64) -> Next {
    let placement = PodPlacement {
        host_ip: "192.168.0.1",
        pod_ip: "10.244.0.2",
        now: later(start(), second),
    };
    step(pod, &script::of_pod(pod).0, process_states, &placement)
}

fn process_live(pod: &mut Pod, process_states: &ProcessStates, second: i64) -> Next {
    for _ in 0..20 {
        match process_next(pod, process_states, second) {
            Next::Status(status) => pod.status = Some(*status),
            next => return next,
        }
    }
    panic!("it does not come to rest");
}

fn running(ready: bool) -> ProcessState {
    ProcessState::Running {
        since: start(),
        started: true,
        ready,
    }
}

fn ended(exit_code: i32, second: i64) -> ProcessState {
    ProcessState::Ended {
        since: start(),
        at: later(start(), second),
        exit_code,
        message: None,
    }
}

#[test]
fn a_process_is_started_before_it_is_said_to_run() {
    let mut pod = pod(json!({}), "Always");
    let first = Next::Start(vec![("web".to_owned(), 0)]);
    assert_eq!(process_next(&pod, &process_states(-1, ProcessState::Nothing), 0), first);
    assert_eq!(
        process_live(&mut pod, &process_states(0, running(false)), 0),
        Next::Nothing
    );
    assert_eq!((phase(&pod), is_ready(&pod)), ("Running", false));
    let container = &status(&pod).container_statuses.as_ref().unwrap()[0];
    assert_eq!(container.container_id.as_deref(), Some("process://1-web-0"));
    assert_eq!(container.image_id, "sha256:1");
    process_live(&mut pod, &process_states(0, running(true)), 1);
    assert!(is_ready(&pod));
}

#[test]
fn a_process_that_ended_is_started_again_after_its_pause() {
    let mut pod = pod(json!({}), "Always");
    process_live(&mut pod, &process_states(0, running(true)), 0);
    let again = |run| Next::Start(vec![("web".to_owned(), run)]);
    assert_eq!(process_live(&mut pod, &process_states(0, ended(3, 1)), 1), again(1));
    process_live(&mut pod, &process_states(1, running(true)), 1);
    assert_eq!(seconds(&process_live(&mut pod, &process_states(1, ended(3, 2)), 2)), 10);
    assert_eq!(waits_for(&pod), Some("CrashLoopBackOff"));
    let last = status(&pod).container_statuses.as_ref().unwrap()[0].last_state.clone();
    assert_eq!(last.unwrap().terminated.unwrap().exit_code, 3);
    assert_eq!(process_live(&mut pod, &process_states(1, ended(3, 2)), 12), again(2));
}

#[test]
fn a_process_that_is_there_to_finish_finishes() {
    for (code, wanted) in [(0, "Succeeded"), (1, "Failed")] {
        let mut pod = pod(json!({}), "Never");
        process_live(&mut pod, &process_states(0, running(true)), 0);
        assert_eq!(
            process_live(&mut pod, &process_states(0, ended(code, 1)), 1),
            Next::Nothing
        );
        assert_eq!(phase(&pod), wanted);
    }
}

#[test]
fn a_process_that_cannot_be_started_says_why_and_is_tried_again() {
    let mut pod = pod(json!({}), "Always");
    let refused = ProcessState::Refused {
        reason: "CreateContainerError",
        message: "port 80 is in use".to_owned(),
    };
    assert_eq!(seconds(&process_live(&mut pod, &process_states(0, refused), 0)), 5);
    assert_eq!(
        (phase(&pod), waits_for(&pod)),
        ("Pending", Some("CreateContainerError"))
    );
    let again = Next::Start(vec![("web".to_owned(), 0)]);
    assert_eq!(
        process_live(&mut pod, &process_states(0, ProcessState::Nothing), 5),
        again
    );
}

#[test]
fn a_process_of_which_nothing_is_known_any_more_has_ended() {
    let mut pod = pod(json!({}), "Never");
    process_live(&mut pod, &process_states(0, running(true)), 0);
    process_live(&mut pod, &process_states(-1, ProcessState::Nothing), 1);
    assert_eq!(phase(&pod), "Failed");
}

#[test]
fn a_deleted_pod_is_gone_when_its_processes_are() {
    let mut pod = pod(json!({}), "Always");
    process_live(&mut pod, &process_states(0, running(true)), 0);
    pod.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(later(start(), 30)));
    pod.metadata.deletion_grace_period_seconds = Some(30);
    let stop = |left| Next::Stop(std::time::Duration::from_secs(left));
    assert_eq!(process_next(&pod, &process_states(0, running(true)), 10), stop(20));
    assert_eq!(process_next(&pod, &process_states(0, ended(0, 11)), 11), Next::Remove);
}

#[test]
fn an_ephemeral_container_is_started_once_and_says_nothing_about_its_pod() {
    for policy in ["Always", "Never"] {
        let annotations = json!({ "kubewright.dev/run-time": "20s", "kubewright.dev/exit-code.failing": "3" });
        let mut pod = pod(annotations, policy);
        live(&mut pod, 0);
        let spec = pod.spec.as_mut().unwrap();
        let added = json!([{ "name": "debugger", "image": "busybox" }, { "name": "failing", "image": "busybox" }]);
        spec.ephemeral_containers = Some(serde_json::from_value(added).unwrap());
        assert_eq!(seconds(&live(&mut pod, 10)), 10);
        let seen = |pod: &Pod| serde_json::to_value(&status(pod).ephemeral_container_statuses).unwrap();
        let statuses = seen(&pod);
        assert!(statuses[0]["state"]["running"].is_object(), "{statuses}");
        assert_eq!(
            (&statuses[0]["ready"], &statuses[0]["started"]),
            (&json!(false), &Value::Null)
        );
        assert_eq!(statuses[0]["containerID"], "simulated://1-debugger-0");
        // It does what an annotation for it says, and is not started again.
        assert_eq!(statuses[1]["state"]["terminated"]["exitCode"], 3);
        assert_eq!((phase(&pod), is_ready(&pod)), ("Running", true));
        live(&mut pod, 20);
        assert_eq!(seen(&pod)[1], statuses[1]);
        if policy == "Never" {
            // The Pod has ended, and all in it.
            assert_eq!(phase(&pod), "Succeeded");
            assert_eq!(seen(&pod)[0]["state"]["terminated"]["exitCode"], 137);
        } else {
            assert!(seen(&pod)[0]["state"]["running"].is_object());
        }
    }
}
