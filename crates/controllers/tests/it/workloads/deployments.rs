//! Rolling out, step by step and all at once.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::support::{Cluster, advance, deployment, settle, template};

#[tokio::test(start_paused = true)]
async fn a_deployment_becomes_available_in_no_time() {
    let cluster = Cluster::whole(2);
    cluster.create::<Deployment>(deployment("web", 3)).await;
    settle().await;
    let status = cluster.get::<Deployment>("web").await.status.clone().unwrap();
    assert_eq!(
        (status.replicas, status.available_replicas, status.unavailable_replicas),
        (Some(3), Some(3), None)
    );
    assert_eq!(
        cluster.conditions("web").await,
        [
            "Available=True MinimumReplicasAvailable",
            "Progressing=True NewReplicaSetAvailable"
        ]
    );
    let sets = cluster.all::<ReplicaSet>().await;
    let name = sets[0].key().name();
    let hash = &sets[0].metadata.labels.as_ref().unwrap()["pod-template-hash"];
    assert_eq!(name, format!("web-{hash}"));
    assert_eq!(
        cluster.events("Deployment").await,
        [format!("ScalingReplicaSet Scaled up replica set {name} from 0 to 3")]
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_new_template_replaces_the_pods_and_the_old_one_can_come_back() {
    let cluster = Cluster::whole(1);
    cluster.create::<Deployment>(deployment("web", 4)).await;
    settle().await;
    cluster
        .patch::<Deployment>("web", json!({ "spec": { "template": template("web", "nginx:2") } }))
        .await;
    settle().await;
    assert_eq!(cluster.sets().await, [("1".to_owned(), 0), ("2".to_owned(), 4)]);
    let image = |pod: &Pod| pod.spec.as_ref().unwrap().containers[0].image.clone().unwrap();
    assert!(cluster.pods().await.iter().all(|pod| image(pod) == "nginx:2"));

    cluster
        .patch::<Deployment>("web", json!({ "spec": { "template": template("web", "nginx:1") } }))
        .await;
    settle().await;
    assert_eq!(cluster.sets().await, [("2".to_owned(), 0), ("3".to_owned(), 4)]);
    let annotations = cluster
        .get::<Deployment>("web")
        .await
        .metadata
        .annotations
        .clone()
        .unwrap();
    assert_eq!(annotations["deployment.kubernetes.io/revision"], "3");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_rollout_that_gets_stuck_says_so_and_old_pods_stay() {
    let cluster = Cluster::whole(1);
    let mut web = deployment("web", 3);
    web["spec"]["progressDeadlineSeconds"] = 30.into();
    cluster.create::<Deployment>(web).await;
    settle().await;
    let mut broken = template("web", "nginx:2");
    broken["metadata"]["annotations"] = json!({ "kubewright.dev/ready": "false" });
    cluster
        .patch::<Deployment>("web", json!({ "spec": { "template": broken } }))
        .await;
    settle().await;
    assert_eq!(cluster.sets().await, [("1".to_owned(), 3), ("2".to_owned(), 1)]);
    advance(40).await;
    assert_eq!(
        cluster.conditions("web").await,
        [
            "Available=True MinimumReplicasAvailable",
            "Progressing=False ProgressDeadlineExceeded"
        ]
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn recreate_ends_all_old_pods_before_it_makes_new_ones() {
    let cluster = Cluster::whole(1);
    let mut web = deployment("web", 2);
    web["spec"]["strategy"] = json!({ "type": "Recreate" });
    web["spec"]["template"]["metadata"]["annotations"] = json!({ "kubewright.dev/stop-delay": "20s" });
    cluster.create::<Deployment>(web).await;
    settle().await;
    cluster
        .patch::<Deployment>("web", json!({ "spec": { "template": template("web", "nginx:2") } }))
        .await;
    advance(10).await;
    let pods = cluster.pods().await;
    assert_eq!(pods.len(), 2);
    assert!(pods.iter().all(|pod| pod.metadata.deletion_timestamp.is_some()));
    advance(15).await;
    assert_eq!(cluster.sets().await, [("1".to_owned(), 0), ("2".to_owned(), 2)]);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_deployment_scales_but_does_not_roll_out() {
    let cluster = Cluster::whole(1);
    cluster.create::<Deployment>(deployment("web", 2)).await;
    settle().await;
    let change = json!({ "spec": { "paused": true, "replicas": 4, "template": template("web", "nginx:2") } });
    cluster.patch::<Deployment>("web", change).await;
    settle().await;
    assert_eq!(cluster.sets().await, [("1".to_owned(), 4)]);
    assert!(
        cluster
            .conditions("web")
            .await
            .contains(&"Progressing=Unknown DeploymentPaused".to_owned())
    );
    cluster
        .patch::<Deployment>("web", json!({ "spec": { "paused": false } }))
        .await;
    settle().await;
    assert_eq!(cluster.sets().await, [("1".to_owned(), 0), ("2".to_owned(), 4)]);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn old_sets_beyond_the_limit_are_deleted() {
    let cluster = Cluster::whole(1);
    let mut web = deployment("web", 1);
    web["spec"]["revisionHistoryLimit"] = 1.into();
    cluster.create::<Deployment>(web).await;
    for version in 2..6 {
        settle().await;
        let image = format!("nginx:{version}");
        cluster
            .patch::<Deployment>("web", json!({ "spec": { "template": template("web", &image) } }))
            .await;
    }
    settle().await;
    assert_eq!(cluster.sets().await, [("4".to_owned(), 0), ("5".to_owned(), 1)]);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn pods_must_be_ready_for_a_while_to_be_available() {
    let cluster = Cluster::whole(1);
    let mut web = deployment("web", 2);
    web["spec"]["minReadySeconds"] = 30.into();
    cluster.create::<Deployment>(web).await;
    advance(10).await;
    let status = cluster.get::<Deployment>("web").await.status.clone().unwrap();
    assert_eq!((status.ready_replicas, status.available_replicas), (Some(2), None));
    advance(25).await;
    let status = cluster.get::<Deployment>("web").await.status.clone().unwrap();
    assert_eq!(status.available_replicas, Some(2));
    cluster.stop().await;
}
