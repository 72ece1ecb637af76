// SPDX-License-Identifier: Apache-2.0

//! `Bar`s on a Kubernetes API in this process.

use bar_controller::api::v1alpha1::{Bar, BarSpec};
use kubewright::k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
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
