//! A month on the clock of the test. It takes a minute of processor time, so that the tutorial leaves it out.

use std::time::Duration;

use kubewright::k8s_openapi::api::batch::v1::Job;
use kubewright::k8s_openapi::api::core::v1::Pod;
use kubewright::serde_json::json;
use kubewright::testing::{Fault, TestEnv};

const HOUR: Duration = Duration::from_hours(1);

/// In a cluster with all standard controllers: the nodes run the Pods of each Job, and the garbage collector deletes those of
/// Jobs that were deleted. What is between two runs costs nothing.
#[kubewright::test(virtual_time)]
async fn a_month_has_a_job_for_every_hour() {
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
        "metadata": { "name": "hourly" },
        "spec": {
            "schedule": "0 * * * *",
            "jobTemplate": { "spec": { "template": { "spec": {
                "restartPolicy": "Never",
                "containers": [{ "name": "work", "image": "worker" }],
            } } } },
        },
    }))
    .await;
    env.advance(30 * 24 * HOUR).await;
    assert_eq!(started.hits(), 30 * 24);
    assert_eq!(env.list::<Job>().await.len(), 3);
    assert_eq!(env.list::<Pod>().await.len(), 3);
    env.assert_idempotent().await;
}
