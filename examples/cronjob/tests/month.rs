//! A month on the clock of the test, with and without what the cluster makes of its Jobs. The tutorial leaves it out.

use std::time::Duration;

use cronjob::api::v1::CronJob;
use kubewright::k8s_openapi::api::batch::v1::{Job, JobCondition};
use kubewright::k8s_openapi::api::core::v1::Pod;
use kubewright::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kubewright::serde_json::{Value, json};
use kubewright::testing::{Controllers, Fault, Injected, TestEnv};

const HOUR: Duration = Duration::from_hours(1);

/// A schedule, and how many Jobs a month of it has: one a day, or one an hour if `KUBEWRIGHT_MONTH=hourly`, which `.ci/full month` says.
fn schedule() -> (&'static str, u64) {
    match std::env::var("KUBEWRIGHT_MONTH").as_deref() {
        Err(_) | Ok("daily") => ("30 6 * * *", 30),
        Ok("hourly") => ("0 * * * *", 30 * 24),
        Ok(other) => panic!("KUBEWRIGHT_MONTH is daily or hourly, not {other}"),
    }
}

/// A `CronJob` whose Pods end at once.
fn month(schedule: &str) -> Value {
    json!({
        "apiVersion": "batch.tutorial.kubewright.dev/v1",
        "kind": "CronJob",
        "metadata": { "name": "month" },
        "spec": {
            "schedule": schedule,
            "jobTemplate": { "spec": { "template": { "spec": {
                "restartPolicy": "Never",
                "containers": [{ "name": "work", "image": "worker" }],
            } } } },
        },
    })
}

/// Counts the Jobs that are created.
fn started(env: &TestEnv) -> Injected {
    let creation = Fault::delay(Duration::ZERO).verbs(["create"]).of("jobs");
    env.inject(creation.always())
}

/// In a cluster with all standard controllers: the nodes run the Pods of each Job, and the garbage collector deletes those of
/// Jobs that were deleted. What is between two runs costs nothing.
#[kubewright::test(virtual_time)]
async fn a_month_has_its_jobs() {
    let (schedule, jobs) = schedule();
    let env = TestEnv::builder()
        .operator(cronjob::operator())
        .embedded()
        .start()
        .await;
    let started = started(&env);
    env.apply(month(schedule)).await;
    env.advance(30 * 24 * HOUR).await;
    assert_eq!(started.hits(), jobs);
    assert_eq!(env.list::<Job>().await.len(), 3);
    assert_eq!(env.list::<Pod>().await.len(), 3);
    env.assert_idempotent().await;
}

/// The operator and the API server alone: nothing makes Pods of Jobs, and the test says of each Job that it is complete. So every run
/// goes through the reconciler, its cache and the server's rules, and costs some milliseconds.
#[kubewright::test(virtual_time)]
async fn a_month_of_the_operator_alone() {
    let env = TestEnv::builder()
        .operator(cronjob::operator())
        .controllers(Controllers::none())
        .embedded()
        .start()
        .await;
    let started = started(&env);
    env.apply(month("30 6 * * *")).await;
    for day in 1..=30 {
        env.advance(24 * HOUR).await;
        assert_eq!(started.hits(), day);
        let active = env.get::<CronJob>("month").await.status.unwrap().active;
        assert_eq!(active.len(), 1);
        complete(&env, active[0].name.as_deref().unwrap()).await;
    }
    env.settle().await;
    assert_eq!(env.list::<Job>().await.len(), 3);
    env.assert_idempotent().await;
}

/// Does what the controller of Jobs does when the Pods of one have ended.
async fn complete(env: &TestEnv, job: &str) {
    let now = Time(env.client().clock().now());
    let mut job = env.get::<Job>(job).await;
    let status = job.status.get_or_insert_default();
    status.start_time = Some(now.clone());
    status.completion_time = Some(now.clone());
    status.succeeded = Some(1);
    let conditions = ["SuccessCriteriaMet", "Complete"].map(|type_| JobCondition {
        type_: type_.to_owned(),
        status: "True".to_owned(),
        last_transition_time: Some(now.clone()),
        ..JobCondition::default()
    });
    status.conditions = Some(conditions.into());
    env.update_status(&job).await;
}
