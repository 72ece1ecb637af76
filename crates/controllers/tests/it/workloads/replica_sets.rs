//! As many Pods as wanted, never more.

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::support::{Cluster, key, settle, template};

const ONLY: &str = "replicaset";

fn set(name: &str, replicas: i32) -> serde_json::Value {
    json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": {
            "replicas": replicas, "selector": { "matchLabels": { "app": name } }, "template": template(name, "nginx"),
        },
    })
}

#[tokio::test(start_paused = true)]
async fn a_set_makes_its_pods_and_counts_them() {
    let cluster = Cluster::with(ONLY, 0);
    cluster.create::<ReplicaSet>(set("web", 3)).await;
    settle().await;
    let pods = cluster.pods().await;
    assert_eq!(pods.len(), 3);
    assert!(pods[0].metadata.name.as_ref().unwrap().starts_with("web-"));
    cluster.make_ready(&pods[0]).await;
    settle().await;
    let status = cluster.get::<ReplicaSet>("web").await.status.clone().unwrap();
    assert_eq!(
        (status.replicas, status.ready_replicas, status.available_replicas),
        (3, Some(1), Some(1))
    );
    assert_eq!(
        (status.observed_generation, status.terminating_replicas),
        (Some(1), Some(0))
    );
    let mut events = cluster.events("ReplicaSet").await;
    events.truncate(1);
    assert!(events[0].starts_with("SuccessfulCreate Created pod: web-"));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn scaling_down_deletes_the_pods_that_are_not_ready_first() {
    let cluster = Cluster::with(ONLY, 0);
    cluster.create::<ReplicaSet>(set("web", 3)).await;
    settle().await;
    let ready = cluster.pods().await[1].clone();
    cluster.make_ready(&ready).await;
    cluster
        .patch::<ReplicaSet>("web", json!({ "spec": { "replicas": 1 } }))
        .await;
    settle().await;
    let left = cluster.pods().await;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].metadata.name, ready.metadata.name);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn orphans_are_adopted_and_strangers_released() {
    let cluster = Cluster::with(ONLY, 0);
    let mut orphan = template("web", "nginx");
    orphan["metadata"]["name"] = "orphan".into();
    orphan["metadata"]["namespace"] = "default".into();
    cluster.create::<Pod>(orphan).await;
    cluster.create::<ReplicaSet>(set("web", 2)).await;
    settle().await;
    assert_eq!(cluster.pods().await.len(), 2);
    let owners = |pod: &Pod| pod.metadata.owner_references.clone().unwrap_or_default();
    assert_eq!(owners(&*cluster.get::<Pod>("orphan").await)[0].name, "web");

    cluster
        .patch::<Pod>("orphan", json!({ "metadata": { "labels": { "app": "other" } } }))
        .await;
    settle().await;
    assert!(owners(&*cluster.get::<Pod>("orphan").await).is_empty());
    assert_eq!(cluster.pods().await.len(), 3); // one more was made in its place

    cluster
        .patch::<Pod>("orphan", json!({ "metadata": { "labels": { "app": "web" } } }))
        .await;
    settle().await;
    assert_eq!(cluster.pods().await.len(), 2); // it came back, and one was too many
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn pods_that_cannot_be_made_are_a_condition_of_the_set() {
    let cluster = Cluster::with(ONLY, 0);
    let mut refused = set("web", 2);
    refused["spec"]["template"]["spec"]["priorityClassName"] = "unknown".into();
    cluster.create::<ReplicaSet>(refused).await;
    settle().await;
    let status = cluster.get::<ReplicaSet>("web").await.status.clone().unwrap();
    let condition = &status.conditions.unwrap()[0];
    assert_eq!(
        (condition.type_.as_str(), condition.reason.as_deref()),
        ("ReplicaFailure", Some("FailedCreate"))
    );
    assert!(
        condition
            .message
            .as_ref()
            .unwrap()
            .contains("no PriorityClass with name unknown was found")
    );
    let said = cluster.events("ReplicaSet").await.remove(0);
    assert!(
        said.starts_with("FailedCreate Error creating: ") && said.contains("no PriorityClass"),
        "{said}"
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_pod_is_replaced_once() {
    let cluster = Cluster::with(ONLY, 0);
    cluster.create::<ReplicaSet>(set("web", 2)).await;
    settle().await;
    let gone = cluster.pods().await[0].key().name().to_owned();
    cluster.user.delete::<Pod>(&key(&gone)).await.unwrap();
    settle().await;
    let pods = cluster.pods().await;
    assert_eq!(pods.len(), 2);
    assert!(pods.iter().all(|pod| pod.key().name() != gone));
    let made = cluster.events("ReplicaSet").await;
    assert_eq!(
        made.iter()
            .filter(|event| event.starts_with("SuccessfulCreate"))
            .count(),
        3
    );
    cluster.stop().await;
}
