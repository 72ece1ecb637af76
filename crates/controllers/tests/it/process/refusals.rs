//! What is not run, and what one is told of it.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kubewright_controllers::process::{ImageFolder, UnloadedImages};
use serde_json::{Value, json};

use super::support::{Cluster, container_program, eventually, is_ready, main_status, phase, pod, waiting, with};

#[tokio::test]
async fn an_image_that_is_not_loaded_is_simulated_and_says_so() {
    let cluster = Cluster::start().await;
    let simulated = with(pod("web", "serve", "Always"), json!({ "image": "nginx:1" }));
    cluster.create::<Pod>(simulated).await;
    let ready = eventually(&cluster.pods, "web", is_ready).await;
    let id = main_status(&ready).unwrap().container_id.clone().unwrap();
    assert!(id.starts_with("simulated://"), "{id}");
    let log = cluster.log("web", false).await;
    assert!(log.contains("kubewright image load nginx:1 --binary PATH"), "{log}");
    cluster.stop().await;
}

#[tokio::test]
async fn an_image_that_is_not_loaded_is_waited_for_where_all_are_run() {
    let home = tempfile::tempdir().unwrap();
    let images = ImageFolder::open(home.path().join("images")).unwrap();
    let cluster = Cluster::with(images, UnloadedImages::Refused).await;
    cluster.create::<Pod>(pod("web", "succeed", "Never")).await;
    let refused = eventually(&cluster.pods, "web", |pod| waiting(pod).0 == "ErrImagePull").await;
    let message = waiting(&refused).1;
    assert!(
        message.contains("kubewright image load child:dev --binary PATH"),
        "{message}"
    );
    cluster.event("web", "kubewright image load child:dev").await;
    cluster.images.load("child:dev", &container_program(), None).unwrap();
    eventually(&cluster.pods, "web", |pod| phase(pod) == "Succeeded").await;
    cluster.stop().await;
}

#[tokio::test]
async fn what_would_run_something_else_is_refused() {
    let cluster = Cluster::start().await;
    let volume = |volume: Value| {
        let mut pod = with(
            pod("x", "look", "Never"),
            json!({ "volumeMounts": [{ "name": "v", "mountPath": "/v" }] }),
        );
        pod["spec"]["volumes"] = json!([volume]);
        pod
    };
    let mut whole = volume(json!({ "name": "v", "emptyDir": {} }));
    whole["spec"]["containers"][0]["volumeMounts"][0]["mountPath"] = "/".into();
    let changed = |fields: Value| with(pod("x", "look", "Never"), fields);
    let cases = [
        (
            "shell",
            changed(json!({ "command": ["/bin/sh", "-c", "id"] })),
            "RunContainerError",
            "no such file in image \"child:dev\"",
        ),
        (
            "loader",
            changed(json!({ "env": [{ "name": "LD_PRELOAD", "value": "/v/x.so" }] })),
            "CreateContainerConfigError",
            "the variable LD_PRELOAD is not given to processes",
        ),
        (
            "converter",
            changed(json!({ "env": [{ "name": "GCONV_PATH", "value": "/v" }] })),
            "CreateContainerConfigError",
            "the variable GCONV_PATH is not given to processes",
        ),
        (
            "grpc",
            changed(json!({ "livenessProbe": { "grpc": { "port": 1 } } })),
            "CreateContainerConfigError",
            "grpc probes are not made to processes",
        ),
        (
            "exec",
            changed(json!({ "readinessProbe": { "exec": { "command": ["cat", "/etc/passwd"] } } })),
            "CreateContainerConfigError",
            "no such file in image",
        ),
        (
            "host",
            volume(json!({ "name": "v", "hostPath": { "path": "/" } })),
            "CreateContainerConfigError",
            "configMap, secret, projected, downwardAPI and emptyDir only",
        ),
        (
            "whole",
            whole,
            "CreateContainerConfigError",
            "mountPath \"/\" is the whole container",
        ),
        (
            "nameless",
            changed(json!({ "image": "../child%3Adev" })),
            "InvalidImageName",
            "couldn't parse image name \"../child%3Adev\": invalid reference format",
        ),
        (
            "missing",
            volume(json!({ "name": "v", "configMap": { "name": "none" } })),
            "ContainerCreating",
            "MountVolume.SetUp failed for volume \"v\" : configmap \"none\" not found",
        ),
        (
            "unknown",
            changed(
                json!({ "env": [{ "name": "A", "valueFrom": { "secretKeyRef": { "name": "none", "key": "k" } } }] }),
            ),
            "CreateContainerConfigError",
            "secret \"none\" not found",
        ),
    ];
    for (name, mut pod, reason, words) in cases {
        pod["metadata"]["name"] = name.into();
        cluster.create::<Pod>(pod).await;
        let refused = eventually(&cluster.pods, name, |pod| !waiting(pod).1.is_empty()).await;
        let (why, message) = waiting(&refused);
        assert_eq!(why, reason, "{name}: {message}");
        assert!(message.contains(words), "{name}: {message}");
        cluster.event(name, words).await;
    }
    // What was missing is found when it is there.
    cluster
        .create::<ConfigMap>(json!({ "metadata": { "name": "none" } }))
        .await;
    eventually(&cluster.pods, "missing", |pod| phase(pod) == "Succeeded").await;
    cluster.stop().await;
}
