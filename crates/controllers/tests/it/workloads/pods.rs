//! Scheduling, and the life of Pods.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod};
use kubewright_runtime::client::Patch;
use kubewright_runtime::object::ObjectKey;
use serde_json::{Value, json};

use super::support::{Cluster, advance, deployment, key, settle, template};

fn pod(name: &str, change: &Value) -> Value {
    let mut pod = template("web", "nginx");
    pod["metadata"]["name"] = name.into();
    pod["metadata"]["namespace"] = "default".into();
    for (key, value) in change.as_object().unwrap() {
        pod["spec"][key] = value.clone();
    }
    pod
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().unwrap().phase.as_deref().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_scheduled_runs_and_goes() {
    let cluster = Cluster::whole(1);
    cluster.create::<Pod>(pod("a", &json!({}))).await;
    settle().await;
    let running = cluster.get::<Pod>("a").await;
    assert_eq!(phase(&running), "Running");
    assert_eq!(running.spec.as_ref().unwrap().node_name.as_deref(), Some("node-1"));
    assert_eq!(
        cluster.events("Pod").await,
        [
            "Scheduled Successfully assigned default/a to node-1",
            "Pulled Container image \"nginx\" already present on machine and can be accessed by the pod",
            "Created Container created",
            "Started Container started"
        ]
    );
    cluster.user.delete::<Pod>(&key("a")).await.unwrap();
    settle().await;
    assert!(cluster.pods().await.is_empty());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_fits_nowhere_waits_for_a_node() {
    let cluster = Cluster::whole(1);
    cluster
        .create::<Pod>(pod("a", &json!({ "nodeSelector": { "disk": "ssd" } })))
        .await;
    settle().await;
    let waiting = cluster.get::<Pod>("a").await;
    assert_eq!(phase(&waiting), "Pending");
    let event = &cluster.events("Pod").await[0];
    assert!(
        event.starts_with(
            "FailedScheduling 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
        ),
        "{event}"
    );
    let patch = Patch::Merge(json!({ "metadata": { "labels": { "disk": "ssd" } } }));
    cluster
        .user
        .patch::<Node>(&ObjectKey::cluster("node-1"), &patch)
        .await
        .unwrap();
    settle().await;
    assert_eq!(phase(&*cluster.get::<Pod>("a").await), "Running");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn pods_share_nodes_and_wait_for_room() {
    let cluster = Cluster::whole(2);
    let big = json!({ "containers": [{ "name": "web", "image": "x", "resources": { "requests": { "cpu": "40" } } }] });
    for name in ["a", "b", "c"] {
        cluster.create::<Pod>(pod(name, &big)).await;
        settle().await;
    }
    let node = |pod: &Pod| pod.spec.as_ref().unwrap().node_name.clone();
    let pods = cluster.pods().await;
    let nodes: Vec<_> = pods.iter().map(|pod| node(pod)).collect();
    assert_eq!(nodes, [Some("node-1".to_owned()), Some("node-2".to_owned()), None]);
    cluster.user.delete::<Pod>(&key("b")).await.unwrap();
    settle().await;
    assert_eq!(node(&*cluster.get::<Pod>("c").await).as_deref(), Some("node-2"));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_crashing_container_is_restarted_until_it_holds() {
    let cluster = Cluster::whole(1);
    let mut crashing = pod("a", &json!({}));
    crashing["metadata"]["annotations"] = json!({ "kubewright.dev/exit-code": "1", "kubewright.dev/restarts": "2" });
    cluster.create::<Pod>(crashing).await;
    advance(5).await;
    let waiting = |pod: &Pod| {
        pod.status.as_ref().unwrap().container_statuses.as_ref().unwrap()[0]
            .state
            .clone()
            .unwrap()
    };
    let state = waiting(&*cluster.get::<Pod>("a").await);
    assert_eq!(state.waiting.unwrap().reason.as_deref(), Some("CrashLoopBackOff"));
    advance(20).await;
    let pod = cluster.get::<Pod>("a").await;
    assert!(waiting(&pod).running.is_some());
    assert_eq!(
        pod.status.as_ref().unwrap().container_statuses.as_ref().unwrap()[0].restart_count,
        2
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn equal_seeds_give_equal_clusters() {
    let mut names = Vec::new();
    for _ in 0..2 {
        let cluster = Cluster::whole(3);
        cluster.create::<Deployment>(deployment("web", 7)).await;
        settle().await;
        let pods = cluster.pods().await;
        let described: Vec<_> = pods
            .iter()
            .map(|pod| {
                let status = pod.status.as_ref().unwrap();
                (
                    pod.key().to_string(),
                    pod.spec.as_ref().unwrap().node_name.clone(),
                    status.pod_ip.clone(),
                )
            })
            .collect();
        names.push((described, cluster.server.revision()));
        cluster.stop().await;
    }
    assert_eq!(names[0], names[1]);
}
