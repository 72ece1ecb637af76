// SPDX-License-Identifier: Apache-2.0

//! Workers scaled through the subresource, as autoscalers and kubectl do.

use std::path::Path;
use std::process::Output;

use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::k8s_openapi::api::autoscaling::v1::Scale;
use kubewright::k8s_openapi::api::core::v1::Pod;
use kubewright::prelude::*;
use kubewright::serde_json::json;
use kubewright::testing::matchers;
use stream_consumer::api::{v1, v1alpha1, v1beta1};

use super::support::{Fixture, SAMPLE};

fn key(fixture: &Fixture) -> ObjectKey {
    ObjectKey::namespaced(fixture.env.namespace(), "orders")
}

async fn ready() -> Fixture {
    let fixture = Fixture::start().await;
    fixture.env.apply_file(SAMPLE).await;
    let all = matchers::condition("Ready", "True");
    fixture.env.eventually_matches::<v1::Consumer>("orders", all).await;
    fixture
}

#[kubewright::test]
async fn the_scale_of_every_version_shows_the_same_workers() {
    let fixture = ready().await;
    let client = fixture.env.client();
    let scales: [Scale; 3] = [
        client
            .of::<v1::Consumer>()
            .subresource("scale")
            .get_as(&key(&fixture))
            .await
            .unwrap(),
        client
            .of::<v1beta1::Consumer>()
            .subresource("scale")
            .get_as(&key(&fixture))
            .await
            .unwrap(),
        client
            .of::<v1alpha1::Consumer>()
            .subresource("scale")
            .get_as(&key(&fixture))
            .await
            .unwrap(),
    ];
    for scale in scales {
        assert_eq!(scale.spec.unwrap().replicas, Some(2));
        let status = scale.status.unwrap();
        assert_eq!(status.replicas, 2);
        let selector = "app.kubernetes.io/instance=orders,app.kubernetes.io/name=stream-consumer";
        assert_eq!(status.selector.as_deref(), Some(selector));
    }
}

#[kubewright::test]
async fn workers_come_and_go_with_the_scale() {
    let fixture = ready().await;
    let scale = fixture.env.client().of::<v1::Consumer>().subresource("scale");
    for number in [4_i32, 1] {
        let patch = Patch::Merge(json!({ "spec": { "replicas": number } }));
        scale.patch_as::<Scale>(&key(&fixture), &patch).await.unwrap();
        let stored: v1::Consumer = fixture.env.get("orders").await;
        assert_eq!(stored.spec.workers.replicas, number);
        let running = matchers::field("status.readyReplicas", number);
        fixture
            .env
            .eventually_matches::<Deployment>("orders-workers", running)
            .await;
        let all = usize::try_from(number).unwrap();
        fixture.env.eventually_list::<Pod>(move |pods| pods.len() == all).await;
    }
}

#[kubewright::test]
async fn the_rules_hold_for_the_scale_too() {
    let fixture = ready().await;
    let scale = fixture.env.client().of::<v1::Consumer>().subresource("scale");
    let patch = Patch::Merge(json!({ "spec": { "replicas": 5 } }));
    let error = scale
        .patch_as::<Scale>(&key(&fixture), &patch)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("orders has fewer than workers"), "{error}");
}

/// Runs the kubectl in `$KUBECTL` off this thread, so that the server in it can answer.
async fn kubectl(home: &Path, arguments: &[&str]) -> Option<Output> {
    let mut command = std::process::Command::new(kubewright_test_support::kubectl()?);
    command
        .args(arguments)
        .env("KUBECONFIG", home.join("kubeconfig"))
        .env("HOME", home);
    let output = kubewright::tokio::task::spawn_blocking(move || command.output());
    Some(output.await.unwrap().expect("kubectl runs"))
}

#[kubewright::test]
async fn kubectl_scales_it() {
    let fixture = ready().await;
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("kubeconfig"), fixture.env.kubeconfig().await).unwrap();
    let namespace = fixture.env.namespace().to_owned();
    let scale = |number: &'static str| ["-n", &namespace, "scale", "consumer/orders", number].map(str::to_owned);
    let words = scale("--replicas=3");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some(output) = kubectl(home.path(), &words).await else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said.trim(), "consumer.stream.kubewright.dev/orders scaled");
    let running = matchers::field("status.readyReplicas", 3);
    fixture
        .env
        .eventually_matches::<Deployment>("orders-workers", running)
        .await;

    let words = scale("--replicas=9");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = kubectl(home.path(), &words).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("orders has fewer than workers"),
        "{said}"
    );
}
