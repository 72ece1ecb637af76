//! Nodes that fail, and Services that know where Pods are.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kubewright_controllers::FAILED_ANNOTATION;
use kubewright_runtime::client::Patch;
use kubewright_runtime::object::ObjectKey;
use serde_json::json;

use super::support::{Cluster, advance, deployment, settle};

fn node_of(pod: &Pod) -> String {
    pod.spec.as_ref().unwrap().node_name.clone().unwrap_or_default()
}

async fn fail(cluster: &Cluster, node: &str, failed: &str) {
    let patch = Patch::Merge(json!({ "metadata": { "annotations": { FAILED_ANNOTATION: failed } } }));
    cluster
        .user
        .patch::<Node>(&ObjectKey::cluster(node), &patch)
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_failed_node_are_replaced_elsewhere() {
    let cluster = Cluster::whole(2);
    settle().await;
    cluster.create::<Deployment>(deployment("web", 4)).await;
    settle().await;
    let on_first = |pods: &[kubewright_runtime::object::View<Pod>]| {
        pods.iter()
            .filter(|pod| node_of(pod) == "node-1" && pod.metadata.deletion_timestamp.is_none())
            .count()
    };
    assert_eq!(on_first(&cluster.pods().await), 2);
    fail(&cluster, "node-1", "true").await;
    advance(60).await;
    let node = cluster.user.get::<Node>(&ObjectKey::cluster("node-1")).await.unwrap();
    let taints = node.spec.as_ref().unwrap().taints.clone().unwrap();
    assert!(taints.iter().all(|taint| taint.key == "node.kubernetes.io/unreachable") && taints.len() == 2);
    let ready = cluster
        .get::<Deployment>("web")
        .await
        .status
        .clone()
        .unwrap()
        .ready_replicas;
    assert_eq!(ready, Some(2));
    advance(310).await; // Pods tolerate that for five minutes
    assert_eq!(on_first(&cluster.pods().await), 0);
    assert_eq!(
        cluster
            .get::<Deployment>("web")
            .await
            .status
            .clone()
            .unwrap()
            .ready_replicas,
        Some(4)
    );
    fail(&cluster, "node-1", "false").await;
    advance(5).await;
    let node = cluster.user.get::<Node>(&ObjectKey::cluster("node-1")).await.unwrap();
    assert_eq!(node.spec.as_ref().unwrap().taints, None);
    assert_eq!(cluster.pods().await.len(), 4); // those that were held up there are gone
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_service_knows_its_pods() {
    let cluster = Cluster::whole(1);
    cluster.create::<Deployment>(deployment("web", 3)).await;
    cluster
        .create::<Service>(json!({
            "metadata": { "name": "web", "namespace": "default" },
            "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80, "targetPort": 8080 }] },
        }))
        .await;
    settle().await;
    let endpoints = async || {
        let slices = cluster.all::<EndpointSlice>().await;
        let own = slices.iter().filter(|slice| slice.key().name().starts_with("web-"));
        own.map(|slice| slice.endpoints.as_ref().map_or(0, Vec::len))
            .collect::<Vec<_>>()
    };
    assert_eq!(endpoints().await, [3]);
    cluster
        .patch::<Deployment>("web", json!({ "spec": { "replicas": 1 } }))
        .await;
    settle().await;
    assert_eq!(endpoints().await, [1]);
    let key = super::support::key("web");
    cluster.user.delete::<Service>(&key).await.unwrap();
    settle().await;
    assert!(endpoints().await.is_empty());
    cluster.stop().await;
}
