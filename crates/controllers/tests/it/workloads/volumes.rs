//! Claims, volumes and the Pods that use them, with a scheduler and simulated nodes at work.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kubewright_runtime::object::ObjectKey;
use serde_json::{Value, json};

use super::support::{Cluster, key, settle};

fn volume(name: &str, change: &Value) -> Value {
    let mut volume = json!({
        "metadata": { "name": name }, "spec": {
            "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteOnce"], "storageClassName": "manual",
            "hostPath": { "path": "/data" },
        },
    });
    for (key, value) in change.as_object().unwrap() {
        volume["spec"][key] = value.clone();
    }
    volume
}

/// A volume of this node alone.
fn local(name: &str, node: &str) -> Value {
    let here = json!({ "key": "kubernetes.io/hostname", "operator": "In", "values": [node] });
    let affinity = json!({ "required": { "nodeSelectorTerms": [{ "matchExpressions": [here] }] } });
    volume(
        name,
        &json!({ "hostPath": null, "local": { "path": "/data" }, "nodeAffinity": affinity }),
    )
}

fn claim(name: &str) -> Value {
    json!({
        "metadata": { "name": name, "namespace": "default" }, "spec": {
            "resources": { "requests": { "storage": "1Gi" } }, "accessModes": ["ReadWriteOnce"],
            "storageClassName": "manual",
        },
    })
}

fn waiting_class(provisioner: &str) -> Value {
    json!({
        "metadata": { "name": "manual" }, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer",
    })
}

fn pod(node: &str) -> Value {
    json!({
        "metadata": { "name": "web", "namespace": "default" }, "spec": {
            "containers": [{ "name": "main", "image": "nginx" }],
            "nodeSelector": { "kubernetes.io/hostname": node },
            "volumes": [{ "name": "data", "persistentVolumeClaim": { "claimName": "data" } }],
        },
    })
}

fn volume_of(claim: &PersistentVolumeClaim) -> Option<&str> {
    claim.spec.as_ref()?.volume_name.as_deref()
}

fn phase(volume: &PersistentVolume) -> Option<&str> {
    volume.status.as_ref()?.phase.as_deref()
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_waits_for_a_pod_gets_a_volume_that_its_node_reaches() {
    let cluster = Cluster::whole(2);
    cluster
        .create::<StorageClass>(waiting_class("kubernetes.io/no-provisioner"))
        .await;
    for (name, node) in [("a", "node-1"), ("b", "node-2")] {
        cluster.create::<PersistentVolume>(local(name, node)).await;
    }
    cluster.create::<PersistentVolumeClaim>(claim("data")).await;
    settle().await;
    let waiting = cluster.get::<PersistentVolumeClaim>("data").await;
    assert_eq!(volume_of(&waiting), None);
    cluster.create::<Pod>(pod("node-2")).await;
    settle().await;
    let bound = cluster.get::<PersistentVolumeClaim>("data").await;
    assert_eq!(volume_of(&bound), Some("b"));
    let status = bound.status.clone().unwrap();
    assert_eq!(status.phase.as_deref(), Some("Bound"));
    let pod = cluster.get::<Pod>("web").await;
    assert_eq!(pod.status.as_ref().unwrap().phase.as_deref(), Some("Running"));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn without_a_volume_the_claim_is_marked_for_its_provisioner_and_the_node() {
    let cluster = Cluster::whole(2);
    cluster.create::<StorageClass>(waiting_class("example.com/disks")).await;
    cluster.create::<PersistentVolume>(local("a", "node-1")).await;
    cluster.create::<PersistentVolumeClaim>(claim("data")).await;
    cluster.create::<Pod>(pod("node-2")).await;
    settle().await;
    let marked = cluster.get::<PersistentVolumeClaim>("data").await;
    assert_eq!(volume_of(&marked), None);
    let annotations = marked.metadata.annotations.clone().unwrap();
    assert_eq!(annotations["volume.kubernetes.io/selected-node"], "node-2");
    assert_eq!(
        annotations["volume.kubernetes.io/storage-provisioner"],
        "example.com/disks"
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_is_emptied_by_a_pod_that_ends_by_itself() {
    let cluster = Cluster::whole(1);
    let recycled = volume("disk", &json!({ "persistentVolumeReclaimPolicy": "Recycle" }));
    cluster.create::<PersistentVolume>(recycled).await;
    cluster.create::<PersistentVolumeClaim>(claim("data")).await;
    settle().await;
    cluster
        .user
        .delete::<PersistentVolumeClaim>(&key("data"))
        .await
        .unwrap();
    settle().await;
    let disk = cluster
        .user
        .get::<PersistentVolume>(&ObjectKey::cluster("disk"))
        .await
        .unwrap();
    assert_eq!(phase(&disk), Some("Available"));
    assert!(disk.spec.as_ref().unwrap().claim_ref.is_none());
    assert!(cluster.pods().await.is_empty());
    let events = cluster.events("PersistentVolume").await;
    assert_eq!(events, ["VolumeRecycled Volume recycled"]);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn of_many_claims_for_few_volumes_no_two_get_the_same() {
    let cluster = Cluster::with("persistentvolume-binder", 0);
    for index in 0..12 {
        cluster
            .create::<PersistentVolumeClaim>(claim(&format!("claim-{index}")))
            .await;
        if index % 2 == 0 {
            let disk = volume(&format!("disk-{index}"), &json!({}));
            cluster.create::<PersistentVolume>(disk).await;
        }
    }
    settle().await;
    let claims = cluster.all::<PersistentVolumeClaim>().await;
    let taken: Vec<&str> = claims.iter().filter_map(|claim| volume_of(claim)).collect();
    assert_eq!(taken.len(), 6);
    assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), 6, "{taken:?}");
    for claim in claims.iter().filter(|claim| volume_of(claim).is_some()) {
        let disk = ObjectKey::cluster(volume_of(claim).unwrap());
        let disk = cluster.user.get::<PersistentVolume>(&disk).await.unwrap();
        let reference = disk.spec.as_ref().unwrap().claim_ref.clone().unwrap();
        assert_eq!(reference.uid, claim.metadata.uid);
        assert_eq!(phase(&disk), Some("Bound"));
    }
    cluster.stop().await;
}
