//! Owners and dependents: what goes with whom, and in which order.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kubewright_runtime::client::{DeleteOptions, Propagation};
use kubewright_runtime::object::{Kind, ObjectKey};
use serde_json::{Value, json};

use super::support::{Cluster, deployment, key, settle};

fn config(name: &str, owners: &[&ConfigMap]) -> Value {
    let owners: Vec<_> = owners
        .iter()
        .map(|owner| {
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "name": owner.metadata.name, "uid": owner.metadata.uid,
                "blockOwnerDeletion": true,
            })
        })
        .collect();
    json!({ "metadata": { "name": name, "namespace": "default", "ownerReferences": owners } })
}

async fn delete(cluster: &Cluster, name: &str, policy: Propagation) {
    let options = DeleteOptions {
        propagation_policy: Some(policy),
        ..DeleteOptions::default()
    };
    cluster
        .user
        .delete_with::<ConfigMap>(&key(name), &options)
        .await
        .unwrap();
    settle().await;
}

async fn names(cluster: &Cluster) -> Vec<String> {
    let all = cluster.all::<ConfigMap>().await;
    let names = all.iter().map(|config| config.key().name().to_owned());
    names.filter(|name| name != "kube-root-ca.crt").collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_deployment_owns_goes_with_it() {
    let cluster = Cluster::whole(1);
    cluster.create::<Deployment>(deployment("web", 3)).await;
    settle().await;
    assert_eq!(cluster.pods().await.len(), 3);
    cluster.user.delete::<Deployment>(&key("web")).await.unwrap();
    settle().await;
    assert!(cluster.pods().await.is_empty());
    assert!(cluster.all::<ReplicaSet>().await.is_empty());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn in_the_foreground_dependents_go_first() {
    let cluster = Cluster::whole(1);
    cluster.create::<Deployment>(deployment("web", 2)).await;
    settle().await;
    let options = DeleteOptions {
        propagation_policy: Some(Propagation::Foreground),
        ..DeleteOptions::default()
    };
    for pod in cluster.pods().await {
        cluster
            .patch::<Pod>(
                pod.key().name(),
                json!({ "metadata": { "finalizers": ["example.com/hold"] } }),
            )
            .await;
    }
    cluster
        .user
        .delete_with::<Deployment>(&key("web"), &options)
        .await
        .unwrap();
    settle().await;
    assert_eq!(cluster.pods().await.len(), 2);
    let waiting = cluster.get::<Deployment>("web").await;
    assert_eq!(waiting.metadata.finalizers, Some(vec!["foregroundDeletion".to_owned()]));
    for pod in cluster.pods().await {
        cluster
            .patch::<Pod>(pod.key().name(), json!({ "metadata": { "finalizers": null } }))
            .await;
    }
    settle().await;
    assert!(cluster.user.get_opt::<Deployment>(&key("web")).await.unwrap().is_none());
    assert!(cluster.pods().await.is_empty());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn orphans_stay_without_their_owner() {
    let cluster = Cluster::with("gc", 0);
    let owner = cluster.create::<ConfigMap>(config("owner", &[])).await;
    cluster.create::<ConfigMap>(config("child", &[&owner])).await;
    settle().await;
    delete(&cluster, "owner", Propagation::Orphan).await;
    assert_eq!(names(&cluster).await, ["child"]);
    assert_eq!(cluster.get::<ConfigMap>("child").await.metadata.owner_references, None);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_child_lives_as_long_as_one_of_its_owners() {
    let cluster = Cluster::with("gc", 0);
    let one = cluster.create::<ConfigMap>(config("one", &[])).await;
    let two = cluster.create::<ConfigMap>(config("two", &[])).await;
    cluster.create::<ConfigMap>(config("child", &[&one, &two])).await;
    settle().await;
    delete(&cluster, "one", Propagation::Background).await;
    assert_eq!(names(&cluster).await, ["child", "two"]);
    delete(&cluster, "two", Propagation::Background).await;
    assert!(names(&cluster).await.is_empty());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_circle_of_owners_can_be_deleted() {
    for policy in [Propagation::Background, Propagation::Foreground] {
        let cluster = Cluster::with("gc", 0);
        let one = cluster.create::<ConfigMap>(config("one", &[])).await;
        let two = cluster.create::<ConfigMap>(config("two", &[&one])).await;
        let three = cluster.create::<ConfigMap>(config("three", &[&two])).await;
        let owners = config("one", &[&three])["metadata"]["ownerReferences"].clone();
        cluster
            .patch::<ConfigMap>("one", json!({ "metadata": { "ownerReferences": owners } }))
            .await;
        settle().await;
        delete(&cluster, "one", policy).await;
        assert!(names(&cluster).await.is_empty(), "{policy:?}");
        cluster.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_child_of_an_owner_that_never_was_goes() {
    let cluster = Cluster::with("gc", 0);
    let mut ghost = ConfigMap::default();
    ghost.metadata.name = Some("ghost".to_owned());
    ghost.metadata.uid = Some("00000000-0000-0000-0000-000000000000".to_owned());
    cluster.create::<ConfigMap>(config("child", &[&ghost])).await;
    settle().await;
    assert!(names(&cluster).await.is_empty());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_owner_in_another_namespace_is_told_of_and_does_not_count() {
    let cluster = Cluster::with("gc", 0);
    let owner = json!({ "metadata": { "name": "owner", "namespace": "kube-system" } });
    let owner = cluster.create::<ConfigMap>(owner).await;
    settle().await;
    cluster.create::<ConfigMap>(config("child", &[&owner])).await;
    settle().await;
    assert!(names(&cluster).await.is_empty());
    let events = cluster.events("ConfigMap").await;
    assert!(
        events[0]
            .starts_with("OwnerRefInvalidNamespace ownerRef [v1/ConfigMap, namespace: default, name: owner, uid: ")
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kinds_that_are_defined_later_are_collected_too() {
    let cluster = Cluster::with("gc", 0);
    settle().await;
    cluster
        .create::<CustomResourceDefinition>(json!({
            "metadata": { "name": "toys.example.com" },
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": { "plural": "toys", "kind": "Toy" },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                    "type": "object",
                } } }],
            },
        }))
        .await;
    settle().await;
    let kind = Kind::named("example.com", "v1", "Toy", "toys", true);
    let toys = cluster.user.dynamic(kind);
    let toy = json!({ "apiVersion": "example.com/v1", "kind": "Toy", "metadata": { "name": "owner", "namespace": "default" } });
    let toy = toys.create(&serde_json::from_value(toy).unwrap()).await.unwrap();
    let mut child = config("child", &[]);
    child["metadata"]["ownerReferences"] = json!([
        { "apiVersion": "example.com/v1", "kind": "Toy", "name": "owner", "uid": toy.metadata.uid },
    ]);
    cluster.create::<ConfigMap>(child).await;
    settle().await;
    assert_eq!(names(&cluster).await, ["child"]);
    toys.delete(&ObjectKey::namespaced("default", "owner")).await.unwrap();
    settle().await;
    assert!(names(&cluster).await.is_empty());
    cluster.stop().await;
}
