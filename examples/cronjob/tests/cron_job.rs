use std::time::Duration;

use cronjob::api::v1::CronJob;
use kubewright::k8s_openapi::api::batch::v1::Job;
use kubewright::k8s_openapi::api::core::v1::Pod;
use kubewright::serde_json::{Value, json};
use kubewright::testing::{ControllerName, Controllers, Fault, TestEnv, matchers};

const SAMPLE: &str = "config/samples/batch_v1_cronjob.yaml";
const NAME: &str = "cronjob-sample";
const HOUR: Duration = Duration::from_hours(1);

/// A cluster in which it is five past, with the operator in it. Of the standard controllers there are
/// those that run Jobs, and some more.
async fn at_five_past(more: &[ControllerName]) -> TestEnv {
    let jobs = [
        ControllerName::Job,
        ControllerName::Scheduler,
        ControllerName::Kubelet,
    ];
    let env = TestEnv::builder()
        .operator(cronjob::operator())
        .controllers(Controllers::only(jobs.iter().chain(more).copied()))
        .embedded()
        .start()
        .await;
    let seconds = env.client().clock().now().as_second() % 3600;
    let wait = Duration::from_secs(u64::try_from(3600 + 300 - seconds).unwrap());
    env.advance(wait).await;
    env
}

/// A `CronJob` that starts a Job every hour. Annotations tell the simulated node what its Pods do.
fn hourly(spec: Value, pods: Value) -> Value {
    let mut object = json!({
        "apiVersion": "batch.tutorial.kubewright.dev/v1",
        "kind": "CronJob",
        "metadata": { "name": "hourly" },
        "spec": {
            "schedule": "0 * * * *",
            "jobTemplate": { "spec": { "backoffLimit": 0, "template": {
                "metadata": { "annotations": pods },
                "spec": { "restartPolicy": "Never", "containers": [{ "name": "work", "image": "worker" }] },
            } } },
        },
    });
    let Value::Object(spec) = spec else {
        panic!("fields of a spec");
    };
    object["spec"].as_object_mut().unwrap().extend(spec);
    object
}

/// The names of the Jobs that run.
async fn active(env: &TestEnv) -> Vec<String> {
    let status = env.get::<CronJob>("hourly").await.status.unwrap();
    status
        .active
        .into_iter()
        .filter_map(|job| job.name)
        .collect()
}

#[kubewright::test]
async fn a_sample_is_accepted_and_reconciled() {
    let env = TestEnv::start(cronjob::operator()).await;
    env.apply_file(SAMPLE).await;
    let available = matchers::condition("Available", "True").reason("Scheduled");
    env.eventually_matches::<CronJob>(NAME, available).await;
    env.assert_idempotent().await;
}

#[kubewright::test(virtual_time)]
async fn every_hour_has_its_job() {
    let env = at_five_past(&[]).await;
    env.apply(hourly(
        json!({ "successfulJobsHistoryLimit": 24 }),
        json!({}),
    ))
    .await;
    env.advance(12 * HOUR).await;
    assert_eq!(env.list::<Job>().await.len(), 12);
    let status = env.get::<CronJob>("hourly").await.status.unwrap();
    let last = status.last_schedule_time.unwrap().0.to_string();
    assert!(last.ends_with(":00:00Z"), "{last}");
    assert!(status.active.is_empty());
    env.assert_idempotent().await;
}

#[kubewright::test(virtual_time)]
async fn the_last_jobs_are_kept_and_older_ones_deleted_with_their_pods() {
    let env = at_five_past(&[ControllerName::GarbageCollector]).await;
    let limits = json!({ "successfulJobsHistoryLimit": 2, "failedJobsHistoryLimit": 1 });
    env.apply(hourly(limits, json!({}))).await;
    env.advance(4 * HOUR).await;
    assert_eq!(env.list::<Job>().await.len(), 2);
    assert_eq!(env.list::<Pod>().await.len(), 2);

    // From now on they fail.
    let annotations = json!({ "kubewright.dev/exit-code": "1" });
    env.apply(hourly(json!({}), annotations)).await;
    env.advance(3 * HOUR).await;
    assert_eq!(env.list::<Job>().await.len(), 3);
    let failed = matchers::condition("Degraded", "True").reason("JobFailed");
    env.eventually_matches::<CronJob>("hourly", failed).await;
}

#[kubewright::test(virtual_time)]
async fn without_a_history_no_run_is_repeated() {
    let env = at_five_past(&[]).await;
    let limits = json!({ "successfulJobsHistoryLimit": 0 });
    env.apply(hourly(limits, json!({ "kubewright.dev/run-time": "10m" })))
        .await;
    env.advance(HOUR).await;
    assert_eq!(active(&env).await.len(), 1);
    env.advance(HOUR / 2).await;
    env.restart_manager().await;
    env.settle().await;
    assert_eq!(env.list::<Job>().await.len(), 0);
}

#[kubewright::test(virtual_time)]
async fn jobs_run_side_by_side_if_they_may() {
    let env = at_five_past(&[]).await;
    env.apply(hourly(
        json!({}),
        json!({ "kubewright.dev/run-time": "90m" }),
    ))
    .await;
    env.advance(HOUR).await;
    assert_eq!(active(&env).await.len(), 1);
    env.advance(HOUR).await;
    assert_eq!(active(&env).await.len(), 2);
    let running = matchers::condition("Progressing", "True").reason("JobsRun");
    env.eventually_matches::<CronJob>("hourly", running).await;
}

#[kubewright::test(virtual_time)]
async fn the_next_job_waits_if_it_must() {
    let env = at_five_past(&[]).await;
    let policy = json!({ "concurrencyPolicy": "Forbid" });
    env.apply(hourly(policy, json!({ "kubewright.dev/run-time": "90m" })))
        .await;
    env.advance(HOUR).await;
    let first = active(&env).await;
    env.advance(HOUR).await;
    assert_eq!(active(&env).await, first);
    // The first one ends at half past, and at once there is another.
    env.advance(HOUR / 2).await;
    let second = active(&env).await;
    assert_eq!(second.len(), 1);
    assert_ne!(second, first);
}

#[kubewright::test(virtual_time)]
async fn the_next_job_takes_the_place_of_the_first_if_it_is_to() {
    let env = at_five_past(&[ControllerName::GarbageCollector]).await;
    let policy = json!({ "concurrencyPolicy": "Replace" });
    env.apply(hourly(policy, json!({ "kubewright.dev/run-time": "90m" })))
        .await;
    env.advance(HOUR).await;
    let first = active(&env).await;
    env.advance(HOUR).await;
    assert_eq!(active(&env).await.len(), 1);
    assert_ne!(active(&env).await, first);
    assert_eq!(env.list::<Pod>().await.len(), 1);
}

#[kubewright::test(virtual_time)]
async fn nothing_is_started_while_it_is_suspended() {
    let env = at_five_past(&[]).await;
    env.apply(hourly(json!({ "suspend": true }), json!({})))
        .await;
    env.advance(5 * HOUR).await;
    assert!(env.list::<Job>().await.is_empty());
    let suspended = matchers::condition("Available", "False").reason("Suspended");
    env.eventually_matches::<CronJob>("hourly", suspended).await;

    // Of all that it missed, it catches up on the last.
    env.edit::<CronJob>("hourly", |object| object.spec.suspend = false)
        .await;
    env.settle().await;
    assert_eq!(env.list::<Job>().await.len(), 1);
}

#[kubewright::test(virtual_time)]
async fn an_operator_that_was_away_catches_up_on_the_last_run() {
    let env = at_five_past(&[]).await;
    env.apply(hourly(json!({}), json!({}))).await;
    env.settle().await;
    env.stop_manager().await;
    env.advance(7 * HOUR).await;
    env.start_manager().await;
    env.settle().await;
    assert_eq!(env.list::<Job>().await.len(), 1);
}

#[kubewright::test(virtual_time)]
async fn a_run_that_is_too_late_is_missed() {
    let env = at_five_past(&[]).await;
    env.apply(hourly(json!({ "startingDeadlineSeconds": 120 }), json!({})))
        .await;
    env.settle().await;
    env.stop_manager().await;
    env.advance(7 * HOUR).await;
    env.start_manager().await;
    let missed = matchers::condition("Degraded", "True").reason("RunMissed");
    env.eventually_matches::<CronJob>("hourly", missed).await;
    assert!(env.list::<Job>().await.is_empty());

    env.advance(HOUR).await;
    assert_eq!(env.list::<Job>().await.len(), 1);
    let well = matchers::condition("Degraded", "False").reason("NothingFailed");
    env.eventually_matches::<CronJob>("hourly", well).await;
}

#[kubewright::test(virtual_time)]
async fn an_answer_that_is_lost_starts_no_second_job() {
    let env = at_five_past(&[]).await;
    env.apply(hourly(json!({}), json!({}))).await;
    env.settle().await;
    let lost = env.inject(Fault::lose_answer().verbs(["create"]).of("jobs"));
    env.advance(HOUR).await;
    assert_eq!(lost.hits(), 1);
    assert_eq!(env.list::<Job>().await.len(), 1);
}

#[kubewright::test(virtual_time)]
async fn jobs_and_pods_go_with_their_cron_job() {
    let env = at_five_past(&[ControllerName::GarbageCollector]).await;
    env.apply(hourly(
        json!({}),
        json!({ "kubewright.dev/run-time": "forever" }),
    ))
    .await;
    env.advance(2 * HOUR).await;
    assert_eq!(env.list::<Pod>().await.len(), 2);
    env.delete::<CronJob>("hourly").await;
    env.settle().await;
    assert!(env.list::<Job>().await.is_empty());
    assert!(env.list::<Pod>().await.is_empty());
}
