// SPDX-License-Identifier: Apache-2.0

//! `Bar`s on a Kubernetes API in this process.

use bar_controller::api::v1alpha1::{Bar, BarSpec};
use kubewright::k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
use kubewright::k8s_openapi::api::core::v1::Pod;
use kubewright::prelude::*;
use kubewright::testing::{Controllers, TestEnv, matchers};

async fn sample(env: &TestEnv, deployment_name: &str, replicas: i32) -> Bar {
    let spec = BarSpec {
        deployment_name: deployment_name.to_owned(),
        replicas: Some(replicas),
    };
    let mut bar = Bar::new("sample", spec);
    bar.metadata.namespace = Some(env.namespace().to_owned());
    env.create(&bar).await
}

#[kubewright::test]
async fn a_bar_gets_its_deployment() {
    let env = TestEnv::start(bar_controller::operator()).await;
    let bar = sample(&env, "web", 2).await;
    let deployment = env
        .eventually_matches::<Deployment>("web", matchers::controlled_by(&bar))
        .await;
    assert_eq!(deployment.spec.unwrap().replicas, Some(2));
}

#[kubewright::test]
async fn a_bar_says_how_many_of_its_pods_are_available() {
    let env = TestEnv::builder()
        .operator(bar_controller::operator())
        .controllers(Controllers::none())
        .start()
        .await;
    sample(&env, "web", 2).await;
    let mut deployment = env.eventually::<Deployment>("web", |_| true).await;
    deployment.status = Some(DeploymentStatus {
        replicas: Some(2),
        ready_replicas: Some(2),
        available_replicas: Some(2),
        ..DeploymentStatus::default()
    });
    env.update_status(&deployment).await;
    env.eventually_matches::<Bar>("sample", matchers::field("status.availableReplicas", 2))
        .await;
    env.eventually_event::<Bar>("sample", "Updated").await;
}

#[kubewright::test]
async fn the_pods_of_a_bar_run_and_are_counted() {
    let env = TestEnv::start(bar_controller::operator()).await;
    sample(&env, "web", 2).await;
    env.eventually_matches::<Bar>("sample", matchers::field("status.availableReplicas", 2))
        .await;
    assert_eq!(env.list::<Pod>().await.len(), 2);
}

#[kubewright::test]
async fn what_a_bar_made_goes_with_it() {
    let env = TestEnv::start(bar_controller::operator()).await;
    sample(&env, "web", 2).await;
    env.eventually_list::<Pod>(|pods| pods.len() == 2).await;
    env.delete::<Bar>("sample").await;
    env.eventually_gone::<Deployment>("web").await;
    env.eventually_list::<Pod>(<[Pod]>::is_empty).await;
}

#[kubewright::test]
async fn the_deployments_of_others_are_left_alone() {
    let env = TestEnv::start(bar_controller::operator()).await;
    let bar = sample(&env, "web", 1).await;
    let mut other = Bar::new("other", bar.spec.clone());
    other.spec.deployment_name = "theirs".to_owned();
    env.create(&other).await;
    env.eventually::<Deployment>("theirs", |_| true).await;
    env.eventually::<Deployment>("web", |_| true).await;
    env.edit::<Bar>("sample", |bar| bar.spec.deployment_name = "moved".to_owned())
        .await;
    env.eventually_gone::<Deployment>("web").await;
    env.settle().await;
    let mut names: Vec<String> = env
        .list::<Deployment>()
        .await
        .iter()
        .map(ResourceExt::name_any)
        .collect();
    names.sort();
    assert_eq!(names, ["moved", "theirs"]);
}

#[kubewright::test(virtual_time)]
async fn a_hundred_bars_at_once_come_about_without_an_error_and_then_rest() {
    let env = TestEnv::builder()
        .operator(bar_controller::operator())
        .controllers(Controllers::none())
        .embedded()
        .start()
        .await;
    for number in 0..100 {
        let spec = BarSpec {
            deployment_name: format!("web-{number}"),
            replicas: Some(1),
        };
        env.create(&Bar::new(&format!("bar-{number}"), spec)).await;
    }
    env.settle().await;
    assert_eq!(env.list::<Deployment>().await.len(), 100);
    let count = |name: &str| env.metrics().sum(name, &[]);
    assert!(count("controller_runtime_reconcile_errors_total") == 0.0);
    // A status of its own making wakes nobody for long.
    let reconciles = count("controller_runtime_reconcile_total");
    env.advance(std::time::Duration::from_mins(10)).await;
    assert!(count("controller_runtime_reconcile_total") - reconciles < 1.0);
}

#[kubewright::test]
async fn the_deployment_under_a_former_name_is_deleted() {
    let env = TestEnv::start(bar_controller::operator()).await;
    sample(&env, "old", 1).await;
    env.eventually::<Deployment>("old", |_| true).await;
    env.edit::<Bar>("sample", |bar| bar.spec.deployment_name = "new".to_owned())
        .await;
    env.eventually::<Deployment>("new", |_| true).await;
    env.eventually_gone::<Deployment>("old").await;
    env.eventually_event::<Bar>("sample", "Deleted").await;
}

#[kubewright::test]
async fn a_change_of_the_bar_scales_its_deployment() {
    let env = TestEnv::start(bar_controller::operator()).await;
    sample(&env, "web", 1).await;
    env.eventually::<Deployment>("web", |_| true).await;
    env.edit::<Bar>("sample", |bar| bar.spec.replicas = Some(3)).await;
    env.eventually_matches::<Deployment>("web", matchers::field("spec.replicas", 3))
        .await;
    env.settle().await;
    env.assert_idempotent().await;
}
