//! Managers that stop and start, clusters that are copied, and environments without an operator.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResourceExt as _;
use kubewright_runtime::client::Patch;
use kubewright_runtime::controller::{Action, Controller, Failure, Request};
use kubewright_runtime::operator::{Operator, Rule};
use kubewright_runtime::webhook::{AdmissionRequest, Webhook};
use kubewright_testing::TestEnv;
use kubewright_testing::matchers::condition;
use serde_json::json;

use crate::garden::{Garden, SAMPLE, embedded, operator, operator_with_webhooks};

#[kubewright_testing::test]
async fn a_manager_that_missed_everything_catches_up() {
    let env = TestEnv::start(operator()).await;
    env.stop_manager().await;
    env.apply(SAMPLE).await;
    env.consistently_matches::<Garden>("roses", kubewright_testing::matchers::field("spec.plants", 2))
        .await;
    assert!(env.get_opt::<ConfigMap>("roses").await.is_none());
    env.start_manager().await;
    env.eventually_matches::<Garden>("roses", condition("Ready", "True"))
        .await;
    env.restart_manager().await;
    env.edit::<Garden>("roses", |garden| garden.spec.plants = 1).await;
    env.eventually::<ConfigMap>("roses", |map| map.data.as_ref().is_some_and(|data| data.len() == 1))
        .await;
}

#[kubewright_testing::test]
async fn a_fork_goes_its_own_way_with_a_manager_and_webhooks_of_its_own() {
    let env = embedded(operator_with_webhooks()).await;
    env.apply(SAMPLE).await;
    env.eventually_matches::<Garden>("roses", condition("Ready", "True"))
        .await;
    let fork = env.fork().await;
    env.stop_manager().await;
    fork.edit::<Garden>("roses", |garden| garden.spec.plants = 5).await;
    fork.eventually::<ConfigMap>("roses", |map| map.data.as_ref().is_some_and(|data| data.len() == 5))
        .await;
    assert_eq!(env.get::<Garden>("roses").await.spec.plants, 2);
    fork.apply(SAMPLE.replace("roses", "tulips")).await;
    assert_eq!(
        fork.get::<Garden>("tulips").await.spec.gardener.as_deref(),
        Some("somebody")
    );
}

/// The server calls the webhooks, and they have a client of the server: who forgets neither of them keeps the whole cluster.
#[kubewright_testing::test(virtual_time)]
async fn an_environment_that_has_ended_keeps_nothing() {
    let held = Arc::new(());
    let of_webhook = Arc::clone(&held);
    let webhook = Webhook::of::<Garden>().defaulter(move |garden: &mut Garden, _: &AdmissionRequest| {
        let count = u32::try_from(Arc::strong_count(&of_webhook)).unwrap_or(u32::MAX);
        garden.spec.plants = garden.spec.plants.min(count);
        Ok(())
    });
    let env = embedded(operator().webhook(webhook)).await;
    env.apply(SAMPLE).await;
    let fork = env.fork().await;
    fork.settle().await;
    drop((env, fork));
    // Tasks that are asked to end do so when they are scheduled.
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    assert_eq!(Arc::strong_count(&held), 1);
}

#[kubewright_testing::test(virtual_time)]
async fn reconciling_again_changes_nothing() {
    let env = embedded(operator()).await;
    env.apply(SAMPLE).await;
    env.assert_idempotent().await;
}

#[kubewright_testing::test(virtual_time)]
async fn a_reconcile_that_always_changes_something_is_found_with_its_field() {
    let starts = Arc::new(AtomicU64::new(0));
    let controller = Controller::of::<ConfigMap>().reconcile_with(move |context| {
        let (client, start) = (context.client(), starts.fetch_add(1, Ordering::Relaxed));
        move |request: Request| {
            let client = client.clone();
            async move {
                if request.name() != "bed" {
                    return Ok(Action::done());
                }
                let patch = Patch::Merge(json!({ "data": { "start": start.to_string() } }));
                client.patch::<ConfigMap>(&request, &patch).await?;
                Ok::<_, Failure>(Action::done())
            }
        }
    });
    let restless = Operator::new("restless")
        .controller(controller)
        .rule(Rule::new([""], ["configmaps"], ["patch"]));
    let env = embedded(restless).await;
    env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: bed}}")
        .await;
    let text = env.check_idempotent().await.unwrap_err().text();
    let namespace = env.namespace();
    assert_eq!(
        text,
        format!(
            "reconciling again changed what was reconciled already\n  configmaps {namespace}/bed: data.start from \"0\" to \"1\""
        )
    );
}

#[kubewright_testing::test]
async fn an_environment_without_operator_has_definitions_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let text = serde_json::to_string(&Garden::crd()).unwrap();
    std::fs::write(folder.path().join("garden.yaml"), text).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "not a manifest").unwrap();
    let env = TestEnv::builder().definitions(folder.path()).start().await;
    env.apply(SAMPLE).await;
    assert_eq!(env.get::<Garden>("roses").await.spec.plants, 2);
    env.stop().await;
}

#[kubewright_testing::test]
async fn an_operator_that_cannot_run_says_why() {
    let unfinished = Operator::new("unfinished").controller(Controller::of::<ConfigMap>());
    let error = TestEnv::try_start(unfinished).await.unwrap_err().text();
    assert!(error.contains("has no reconciler"), "{error}");
    let failing = Operator::new("failing").runnable("failure", |_| async { Err("no coffee".into()) });
    let env = TestEnv::builder().operator(failing).try_start().await;
    let error = match env {
        Err(error) => error.text(),
        Ok(env) => env
            .eventually::<ConfigMap>("x", |_| true)
            .outcome()
            .await
            .unwrap_err()
            .text(),
    };
    assert!(error.contains("failure failed: no coffee"), "{error}");
}
