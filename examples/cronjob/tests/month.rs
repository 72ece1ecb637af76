//! A month on the clock of the test. It costs what its Jobs and Pods cost, so that the tutorial leaves it out.

use std::time::Duration;

use kubewright::k8s_openapi::api::batch::v1::Job;
use kubewright::k8s_openapi::api::core::v1::Pod;
use kubewright::serde_json::json;
use kubewright::testing::{Fault, TestEnv};

const HOUR: Duration = Duration::from_hours(1);

/// A schedule, and how many Jobs a month of it has: one a day, or one an hour if `KUBEWRIGHT_MONTH=hourly`, which `.ci/full month` says.
fn schedule() -> (&'static str, u64) {
    match std::env::var("KUBEWRIGHT_MONTH").as_deref() {
        Err(_) | Ok("daily") => ("30 6 * * *", 30),
        Ok("hourly") => ("0 * * * *", 30 * 24),
        Ok(other) => panic!("KUBEWRIGHT_MONTH is daily or hourly, not {other}"),
    }
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
    let started = Fault::delay(Duration::ZERO).verbs(["create"]).of("jobs");
    let started = env.inject(started.always());
    env.apply(json!({
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
    }))
    .await;
    env.advance(30 * 24 * HOUR).await;
    assert_eq!(started.hits(), jobs);
    assert_eq!(env.list::<Job>().await.len(), 3);
    assert_eq!(env.list::<Pod>().await.len(), 3);
    env.assert_idempotent().await;
}
