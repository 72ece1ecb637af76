//! Services that mean Pods by several labels, and Pods whose labels change.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use super::support::{Cluster, settle, template};

/// The Pods in the slices of each Service, by name.
async fn endpoints(cluster: &Cluster) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for slice in cluster.all::<EndpointSlice>().await {
        let labels = slice.metadata.labels.clone().unwrap_or_default();
        let Some(service) = labels.get("kubernetes.io/service-name") else {
            continue;
        };
        let names = found.entry(service.clone()).or_default();
        let targets = slice
            .endpoints
            .iter()
            .flatten()
            .filter_map(|one| one.target_ref.clone());
        names.extend(targets.filter_map(|target| target.name));
        names.sort();
    }
    found.remove("kubernetes");
    found
}

async fn make_service(cluster: &Cluster, name: &str, selector: Value) {
    let service = json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "selector": selector, "ports": [{ "port": 80 }] },
    });
    cluster.create::<Service>(service).await;
}

async fn make_pod(cluster: &Cluster, name: &str, labels: Value) {
    let mut pod = template("web", "nginx");
    pod["metadata"] = json!({ "name": name, "namespace": "default", "labels": labels });
    cluster.create::<Pod>(pod).await;
}

fn expected(all: [(&str, &[&str]); 3]) -> BTreeMap<String, Vec<String>> {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    all.map(|(service, pods)| (service.to_owned(), names(pods))).into()
}

#[tokio::test(start_paused = true)]
async fn a_pod_belongs_to_every_service_whose_labels_it_has_and_leaves_with_them() {
    let cluster = Cluster::whole(1);
    make_service(&cluster, "all", json!({ "app": "web" })).await;
    make_service(&cluster, "front", json!({ "app": "web", "tier": "front" })).await;
    make_service(&cluster, "other", json!({ "app": "shop", "tier": "front" })).await;
    make_pod(&cluster, "a", json!({ "app": "web", "tier": "front", "zone": "1" })).await;
    make_pod(&cluster, "b", json!({ "app": "web" })).await;
    make_pod(&cluster, "c", json!({ "tier": "front" })).await;
    settle().await;
    let first = expected([("all", &["a", "b"]), ("front", &["a"]), ("other", &[])]);
    assert_eq!(endpoints(&cluster).await, first);
    // Labels change on either side: those that are left hear of it as well as those that are joined.
    let relabel = |app: &str, tier: Option<&str>| json!({ "metadata": { "labels": { "app": app, "tier": tier } } });
    cluster.patch::<Pod>("a", relabel("shop", Some("front"))).await;
    cluster.patch::<Pod>("b", relabel("web", Some("front"))).await;
    settle().await;
    let second = expected([("all", &["b"]), ("front", &["b"]), ("other", &["a"])]);
    assert_eq!(endpoints(&cluster).await, second);
    cluster.patch::<Pod>("b", relabel("web", None)).await;
    let selector = json!({ "spec": { "selector": { "app": null, "tier": "front" } } });
    cluster.patch::<Service>("other", selector).await;
    settle().await;
    let third = expected([("all", &["b"]), ("front", &[]), ("other", &["a", "c"])]);
    assert_eq!(endpoints(&cluster).await, third);
    cluster.stop().await;
}
