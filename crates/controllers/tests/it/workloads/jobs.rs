//! Jobs on the virtual clock.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::support::{Cluster, advance, key, settle};

fn job(name: &str, spec: &Value, annotations: &Value) -> Value {
    let mut job = json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "template": {
            "metadata": { "annotations": annotations },
            "spec": { "restartPolicy": "Never", "containers": [{ "name": "main", "image": "busybox" }] },
        } },
    });
    for (key, value) in spec.as_object().unwrap() {
        job["spec"][key] = value.clone();
    }
    job
}

async fn conditions(cluster: &Cluster, name: &str) -> Vec<String> {
    let job = cluster.get::<Job>(name).await;
    let conditions = job.status.clone().unwrap().conditions.unwrap_or_default();
    conditions
        .into_iter()
        .map(|condition| {
            format!(
                "{}={} {}",
                condition.type_,
                condition.status,
                condition.reason.unwrap_or_default()
            )
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_job_runs_to_its_end() {
    let cluster = Cluster::whole(1);
    cluster
        .create::<Job>(job("work", &json!({ "completions": 3, "parallelism": 2 }), &json!({})))
        .await;
    settle().await;
    let status = cluster.get::<Job>("work").await.status.clone().unwrap();
    assert_eq!((status.succeeded, status.failed, status.active), (Some(3), None, None));
    assert!(status.completion_time.is_some());
    assert_eq!(
        conditions(&cluster, "work").await,
        [
            "SuccessCriteriaMet=True CompletionsReached",
            "Complete=True CompletionsReached"
        ]
    );
    let pods = cluster.pods().await;
    assert_eq!(pods.len(), 3);
    assert!(pods.iter().all(|pod| pod.metadata.finalizers.is_none()));
    assert_eq!(cluster.events("Job").await.last().unwrap(), "Completed Job completed");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_gives_up_after_so_many_failures() {
    let cluster = Cluster::whole(1);
    let failing = json!({ "kubewright.dev/exit-code": "1" });
    cluster
        .create::<Job>(job("work", &json!({ "backoffLimit": 2 }), &failing))
        .await;
    advance(5).await;
    assert_eq!(cluster.pods().await.len(), 1);
    advance(60).await;
    let status = cluster.get::<Job>("work").await.status.clone().unwrap();
    assert_eq!((status.succeeded, status.failed), (None, Some(3)));
    assert_eq!(
        conditions(&cluster, "work").await,
        [
            "FailureTarget=True BackoffLimitExceeded",
            "Failed=True BackoffLimitExceeded"
        ]
    );
    assert!(
        cluster
            .events("Job")
            .await
            .contains(&"BackoffLimitExceeded Job has reached the specified backoff limit".to_owned())
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_can_be_suspended_and_resumed() {
    let cluster = Cluster::whole(1);
    let slow = json!({ "kubewright.dev/run-time": "60s" });
    cluster
        .create::<Job>(job("work", &json!({ "parallelism": 2, "completions": 2 }), &slow))
        .await;
    advance(5).await;
    assert_eq!(cluster.pods().await.len(), 2);
    cluster
        .patch::<Job>("work", json!({ "spec": { "suspend": true } }))
        .await;
    settle().await;
    assert!(cluster.pods().await.is_empty());
    assert_eq!(conditions(&cluster, "work").await, ["Suspended=True JobSuspended"]);
    cluster
        .patch::<Job>("work", json!({ "spec": { "suspend": false } }))
        .await;
    advance(70).await;
    let status = cluster.get::<Job>("work").await.status.clone().unwrap();
    assert_eq!((status.succeeded, status.failed), (Some(2), None));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_takes_too_long_fails_and_is_deleted_in_time() {
    let cluster = Cluster::whole(1);
    let slow = json!({ "kubewright.dev/run-time": "forever" });
    let spec = json!({ "activeDeadlineSeconds": 30, "ttlSecondsAfterFinished": 100 });
    cluster.create::<Job>(job("work", &spec, &slow)).await;
    advance(35).await;
    assert_eq!(
        conditions(&cluster, "work").await,
        ["FailureTarget=True DeadlineExceeded", "Failed=True DeadlineExceeded"]
    );
    advance(60).await;
    assert!(cluster.user.get_opt::<Job>(&key("work")).await.unwrap().is_some());
    advance(60).await;
    assert!(cluster.user.get_opt::<Job>(&key("work")).await.unwrap().is_none());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_indexed_job_runs_every_index_once() {
    let cluster = Cluster::whole(1);
    let spec = json!({ "completions": 5, "parallelism": 2, "completionMode": "Indexed" });
    cluster.create::<Job>(job("work", &spec, &json!({}))).await;
    settle().await;
    let status = cluster.get::<Job>("work").await.status.clone().unwrap();
    assert_eq!(
        (status.succeeded, status.completed_indexes.as_deref()),
        (Some(5), Some("0-4"))
    );
    let mut indexes: Vec<_> = cluster
        .pods()
        .await
        .iter()
        .map(|pod: &kubewright_runtime::object::View<Pod>| {
            pod.metadata.labels.as_ref().unwrap()["batch.kubernetes.io/job-completion-index"].clone()
        })
        .collect();
    indexes.sort();
    assert_eq!(indexes, ["0", "1", "2", "3", "4"]);
    cluster.stop().await;
}
