//! Pods that nobody else deletes: their node is gone or out of service, they never had one, or too many have ended.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod};
use kubewright_controllers::{Controllers, FAILED_ANNOTATION};
use kubewright_runtime::client::Patch;
use kubewright_runtime::object::ObjectKey;
use serde_json::{Value, json};

use super::support::{Cluster, EPOCH, advance, deployment, key, settle};

fn node_of(pod: &Pod) -> &str {
    pod.spec.as_ref().unwrap().node_name.as_deref().unwrap_or_default()
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().unwrap().phase.as_deref().unwrap_or_default()
}

fn pod(name: &str, metadata: Value, spec: Value) -> Value {
    let mut pod = json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "containers": [{ "name": "main", "image": "nginx:1" }] },
    });
    for (part, more) in [("metadata", metadata), ("spec", spec)] {
        for (field, value) in more.as_object().unwrap() {
            pod[part][field] = value.clone();
        }
    }
    pod
}

async fn on_node(cluster: &Cluster, node: &str) -> usize {
    let pods = cluster.pods().await;
    pods.iter().filter(|pod| node_of(pod) == node).count()
}

async fn delete_node(cluster: &Cluster, name: &str) {
    cluster.user.delete::<Node>(&ObjectKey::cluster(name)).await.unwrap();
}

async fn change_node(cluster: &Cluster, name: &str, patch: Value) {
    let (key, patch) = (ObjectKey::cluster(name), Patch::Merge(patch));
    cluster.user.patch::<Node>(&key, &patch).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_deleted_node_are_replaced_elsewhere() {
    let cluster = Cluster::whole(2);
    settle().await;
    cluster.create::<Deployment>(deployment("web", 4)).await;
    let held = pod(
        "held",
        json!({ "finalizers": ["example.com/hold"] }),
        json!({ "nodeName": "node-1" }),
    );
    cluster.create::<Pod>(held).await;
    settle().await;
    let before = on_node(&cluster, "node-1").await;
    assert!(before >= 2, "{before}");
    delete_node(&cluster, "node-1").await;
    advance(38).await;
    assert_eq!(on_node(&cluster, "node-1").await, before);
    advance(4).await;
    assert_eq!(on_node(&cluster, "node-1").await, 1); // the one that is held
    let status = cluster.get::<Deployment>("web").await.status.clone().unwrap();
    assert_eq!((status.ready_replicas, on_node(&cluster, "node-2").await), (Some(4), 4));

    let held = cluster.get::<Pod>("held").await;
    assert_eq!(phase(&held), "Failed");
    assert!(held.metadata.deletion_timestamp.is_some());
    let conditions = held.status.as_ref().unwrap().conditions.clone().unwrap();
    let why = conditions
        .iter()
        .find(|condition| condition.type_ == "DisruptionTarget")
        .unwrap();
    assert_eq!(
        (why.status.as_str(), why.reason.as_deref(), why.message.as_deref()),
        ("True", Some("DeletionByPodGC"), Some("PodGC: node no longer exists"))
    );
    assert!(conditions.iter().any(|condition| condition.type_ == "Ready"));
    advance(3600).await;
    let later = cluster.get::<Pod>("held").await;
    assert_eq!(later.metadata.resource_version, held.metadata.resource_version);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_comes_back_in_time_keeps_its_pods() {
    let cluster = Cluster::whole(1);
    settle().await;
    cluster.create::<Deployment>(deployment("web", 2)).await;
    settle().await;
    let uids = async || {
        let pods = cluster.pods().await;
        pods.iter()
            .map(|pod| pod.metadata.uid.clone().unwrap())
            .collect::<BTreeSet<_>>()
    };
    let before = uids().await;
    for _ in 0..3 {
        delete_node(&cluster, "node-1").await;
        advance(30).await;
        cluster
            .create::<Node>(json!({ "metadata": { "name": "node-1" } }))
            .await;
        advance(30).await;
    }
    assert_eq!(uids().await, before);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_on_a_node_that_never_was_goes_and_so_does_one_that_was_deleted_there() {
    let cluster = Cluster::whole(1);
    for name in ["stays", "is-deleted"] {
        let lost = pod(name, json!({}), json!({ "nodeName": "nowhere" }));
        cluster.create::<Pod>(lost).await;
    }
    settle().await;
    cluster.user.delete::<Pod>(&key("is-deleted")).await.unwrap();
    advance(30).await;
    assert_eq!(cluster.pods().await.len(), 2);
    advance(12).await;
    assert!(cluster.pods().await.is_empty());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_was_deleted_before_it_had_a_node_has_failed() {
    let cluster = Cluster::whole(1);
    let held = pod(
        "held",
        json!({ "finalizers": ["example.com/hold"] }),
        json!({ "nodeSelector": { "no": "such-node" } }),
    );
    cluster.create::<Pod>(held).await;
    settle().await;
    assert_eq!(phase(&*cluster.get::<Pod>("held").await), "Pending");
    cluster.user.delete::<Pod>(&key("held")).await.unwrap();
    settle().await;
    assert_eq!(phase(&*cluster.get::<Pod>("held").await), "Failed");
    cluster
        .patch::<Pod>("held", json!({ "metadata": { "finalizers": null } }))
        .await;
    assert!(cluster.pods().await.is_empty());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_deleted_on_a_node_out_of_service_is_gone() {
    let cluster = Cluster::whole(2);
    settle().await;
    cluster.create::<Deployment>(deployment("web", 4)).await;
    settle().await;
    let failed = json!({ "metadata": { "annotations": { FAILED_ANNOTATION: "true" } } });
    change_node(&cluster, "node-1", failed).await;
    advance(60).await;
    assert_eq!(on_node(&cluster, "node-1").await, 2);
    let taint = json!({ "key": "node.kubernetes.io/out-of-service", "effect": "NoExecute" });
    change_node(&cluster, "node-1", json!({ "spec": { "taints": [taint] } })).await;
    advance(5).await;
    assert_eq!(on_node(&cluster, "node-1").await, 0);
    assert_eq!(on_node(&cluster, "node-2").await, 4);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_oldest_of_too_many_pods_that_have_ended_go() {
    let controllers = Controllers::all().nodes(1).terminated_pod_gc_threshold(3);
    let cluster = Cluster::running(EPOCH, controllers);
    settle().await;
    for number in 1..=5 {
        let brief = pod(
            &format!("brief-{number}"),
            json!({ "annotations": { "kubewright.dev/run-time": "1s" } }),
            json!({ "restartPolicy": "Never" }),
        );
        cluster.create::<Pod>(brief).await;
        settle().await;
    }
    let runs = pod("runs", json!({}), json!({}));
    cluster.create::<Pod>(runs).await;
    advance(30).await;
    let pods = cluster.pods().await;
    let mut names: Vec<_> = pods.iter().map(|pod| pod.key().name().to_owned()).collect();
    names.sort();
    assert_eq!(names, ["brief-3", "brief-4", "brief-5", "runs"]);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_taint_deletes_pods_that_have_ended_too() {
    let cluster = Cluster::whole(1);
    settle().await;
    let brief = pod(
        "brief",
        json!({ "annotations": { "kubewright.dev/run-time": "1s" } }),
        json!({ "restartPolicy": "Never" }),
    );
    cluster.create::<Pod>(brief).await;
    advance(5).await;
    assert_eq!(phase(&*cluster.get::<Pod>("brief").await), "Succeeded");
    let taint = json!({ "key": "maintenance", "effect": "NoExecute" });
    change_node(&cluster, "node-1", json!({ "spec": { "taints": [taint] } })).await;
    settle().await;
    assert!(cluster.pods().await.is_empty());
    cluster.stop().await;
}
