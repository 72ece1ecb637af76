// SPDX-License-Identifier: Apache-2.0

//! `MarkdownView`s on a Kubernetes API in this process.

use std::collections::BTreeMap;

use kubewright::k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
use kubewright::k8s_openapi::api::core::v1::{ConfigMap, Service};
use kubewright::k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kubewright::testing::{TestEnv, matchers};
use markdown_view::api::v1::{MarkdownView, MarkdownViewSpec};

/// A view with two documents and three viewers, in the namespace of the test.
async fn sample(env: &TestEnv) -> MarkdownView {
    let spec = MarkdownViewSpec {
        markdowns: BTreeMap::from([
            ("SUMMARY.md".to_owned(), "summary".to_owned()),
            ("page1.md".to_owned(), "page".to_owned()),
        ]),
        replicas: 3,
        viewer_image: Some("peaceiris/mdbook:0.4.10".to_owned()),
    };
    let mut view = MarkdownView::new("sample", spec);
    view.metadata.namespace = Some(env.namespace().to_owned());
    env.create(&view).await
}

/// What a kubelet would come to say.
async fn pods_run(env: &TestEnv, replicas: i32) {
    let mut deployment = env.get::<Deployment>("viewer-sample").await;
    deployment.status = Some(DeploymentStatus {
        replicas: Some(replicas),
        available_replicas: Some(replicas),
        ready_replicas: Some(replicas),
        ..DeploymentStatus::default()
    });
    env.update_status(&deployment).await;
}

#[kubewright::test]
async fn the_documents_are_in_a_config_map() {
    let env = TestEnv::start(markdown_view::operator()).await;
    let view = sample(&env).await;
    let owned = matchers::controlled_by(&view);
    let config_map = env.eventually_matches::<ConfigMap>("markdowns-sample", owned).await;
    assert_eq!(config_map.data, Some(view.spec.markdowns));
}

#[kubewright::test]
async fn the_viewers_are_a_deployment() {
    let env = TestEnv::start(markdown_view::operator()).await;
    let view = sample(&env).await;
    let owned = matchers::controlled_by(&view);
    let deployment = env.eventually_matches::<Deployment>("viewer-sample", owned).await;
    let spec = deployment.spec.unwrap();
    assert_eq!(spec.replicas, Some(3));
    let container = &spec.template.spec.unwrap().containers[0];
    assert_eq!(container.image.as_deref(), Some("peaceiris/mdbook:0.4.10"));
}

#[kubewright::test]
async fn the_viewers_are_behind_a_service() {
    let env = TestEnv::start(markdown_view::operator()).await;
    let view = sample(&env).await;
    let owned = matchers::controlled_by(&view);
    let service = env.eventually_matches::<Service>("viewer-sample", owned).await;
    let port = service.spec.unwrap().ports.unwrap().remove(0);
    assert_eq!((port.port, port.target_port), (80, Some(IntOrString::Int(3000))));
}

#[kubewright::test]
async fn a_view_is_available_once_a_viewer_is() {
    let env = TestEnv::builder()
        .operator(markdown_view::operator())
        .controllers(kubewright::testing::Controllers::none())
        .start()
        .await;
    sample(&env).await;
    env.eventually_matches::<MarkdownView>(
        "sample",
        matchers::condition("Available", "False").reason("Unavailable"),
    )
    .await;
    pods_run(&env, 3).await;
    env.eventually_matches::<MarkdownView>("sample", matchers::condition("Available", "True"))
        .await;
    env.eventually_event::<MarkdownView>("sample", "Available").await;
    let labels = [("name", "sample"), ("namespace", env.namespace())];
    assert_eq!(env.metrics().value("markdownview_available", &labels), Some(1.0));
}

#[kubewright::test]
async fn a_change_reaches_the_children_and_documents_stay() {
    let env = TestEnv::start(markdown_view::operator()).await;
    sample(&env).await;
    env.eventually::<Service>("viewer-sample", |_| true).await;
    env.edit::<MarkdownView>("sample", |view| {
        view.spec.replicas = 2;
        view.spec.markdowns.remove("page1.md");
        view.spec.markdowns.insert("page2.md".to_owned(), "new".to_owned());
    })
    .await;
    env.eventually::<Deployment>("viewer-sample", |deployment| {
        deployment.spec.as_ref().is_some_and(|spec| spec.replicas == Some(2))
    })
    .await;
    let config_map = env
        .eventually::<ConfigMap>("markdowns-sample", |object| {
            object.data.as_ref().is_some_and(|data| data.contains_key("page2.md"))
        })
        .await;
    let names: Vec<String> = config_map.data.unwrap().into_keys().collect();
    assert_eq!(names, ["SUMMARY.md", "page1.md", "page2.md"]);
}

#[kubewright::test]
async fn what_is_deleted_by_mistake_comes_back() {
    let env = TestEnv::start(markdown_view::operator()).await;
    sample(&env).await;
    let service = env.eventually::<Service>("viewer-sample", |_| true).await;
    env.delete::<Service>("viewer-sample").await;
    env.eventually::<Service>("viewer-sample", |again| again.metadata.uid != service.metadata.uid)
        .await;
}

#[kubewright::test]
async fn reconciling_again_changes_nothing() {
    let env = TestEnv::start(markdown_view::operator()).await;
    sample(&env).await;
    env.eventually::<Service>("viewer-sample", |_| true).await;
    env.settle().await;
    env.assert_idempotent().await;
}
