// SPDX-License-Identifier: Apache-2.0

//! `MarkdownView`s on a Kubernetes API in this process.

use std::time::Duration;

use kubewright::flags::{Environment, Flags};
use kubewright::k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet};
use kubewright::k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use kubewright::k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kubewright::prelude::*;
use kubewright::testing::{Controllers, Fault, TestEnv, matchers};
use markdown_view::api::v1::{MarkdownView, MarkdownViewSpec};
use markdown_view::controllers::markdown_view::FIELD_OWNER;

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

/// The status that a kubelet would write.
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
    let labels = view_labels();
    assert_eq!(deployment.metadata.labels.as_ref(), Some(&labels));
    assert_eq!(spec.selector.match_labels.as_ref(), Some(&labels));
    assert_eq!(spec.template.metadata.unwrap().labels, Some(labels));
    let pod = spec.template.spec.unwrap();
    let volume = pod.volumes.unwrap().remove(0);
    assert_eq!(
        (volume.name.as_str(), volume.config_map.unwrap().name.as_str()),
        ("markdowns", "markdowns-sample")
    );
    let container = &pod.containers[0];
    assert_eq!(container.image.as_deref(), Some("peaceiris/mdbook:0.4.10"));
    assert_eq!(container.image_pull_policy.as_deref(), Some("IfNotPresent"));
    assert_eq!(container.command.as_ref().unwrap(), &["mdbook"]);
    assert_eq!(container.args.as_ref().unwrap(), &["serve", "--hostname", "0.0.0.0"]);
    for probe in [&container.liveness_probe, &container.readiness_probe] {
        let get = probe.as_ref().unwrap().http_get.as_ref().unwrap();
        assert_eq!(
            (get.path.as_deref(), &get.port),
            (Some("/"), &IntOrString::String("http".to_owned()))
        );
    }
    let owner = &deployment.metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!((owner.controller, owner.block_owner_deletion), (Some(true), Some(true)));
    // By server-side apply, under the controller's name.
    let managers = deployment.metadata.managed_fields.unwrap();
    let ours = managers
        .iter()
        .find(|manager| manager.manager.as_deref() == Some(FIELD_OWNER));
    assert_eq!(ours.unwrap().operation.as_deref(), Some("Apply"));
}

/// What tells the Deployment, the Pods and the Service of the sample from others.
fn view_labels() -> BTreeMap<String, String> {
    let labels = [("name", "mdbook"), ("instance", "sample"), ("created-by", FIELD_OWNER)];
    let whole = |(name, value): (&str, &str)| (format!("app.kubernetes.io/{name}"), value.to_owned());
    labels.map(whole).into()
}

#[kubewright::test]
async fn the_viewers_are_behind_a_service() {
    let env = TestEnv::start(markdown_view::operator()).await;
    let view = sample(&env).await;
    let owned = matchers::controlled_by(&view);
    let service = env.eventually_matches::<Service>("viewer-sample", owned).await;
    let spec = service.spec.unwrap();
    assert_eq!(
        (spec.type_.as_deref(), spec.selector),
        (Some("ClusterIP"), Some(view_labels()))
    );
    let port = spec.ports.unwrap().remove(0);
    assert_eq!((port.port, port.target_port), (80, Some(IntOrString::Int(3000))));
}

#[kubewright::test]
async fn a_view_is_available_once_a_viewer_is() {
    let env = TestEnv::builder()
        .operator(markdown_view::operator())
        .controllers(Controllers::none())
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
    let event = env
        .eventually_event::<MarkdownView>("sample", "Available")
        .await
        .remove(0);
    let text = format!("MarkdownView({}:sample) available", env.namespace());
    assert_eq!((event.type_.as_deref(), event.note), (Some("Normal"), Some(text)));
    assert_eq!(event.reporting_controller.as_deref(), Some("markdownview-controller"));
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
    env.eventually_matches::<MarkdownView>("sample", available()).await;
    env.settle().await;
    env.assert_idempotent().await;
}

fn available() -> impl matchers::Matcher {
    matchers::condition("Available", "True").reason("OK")
}

/// How many Pods run this image and are ready.
fn ready(pods: &[Pod], image: &str) -> usize {
    let is_ready = |pod: &&Pod| {
        let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let mut ready = conditions.filter(|condition| condition.type_ == "Ready");
        ready.any(|condition| condition.status == "True")
    };
    let runs = |pod: &&Pod| pod.spec.as_ref().unwrap().containers[0].image.as_deref() == Some(image);
    pods.iter().filter(runs).filter(is_ready).count()
}

#[kubewright::test]
async fn the_pods_of_the_viewers_become_ready_and_the_view_available() {
    let env = TestEnv::start(markdown_view::operator()).await;
    sample(&env).await;
    env.eventually_matches::<MarkdownView>("sample", available()).await;
    env.eventually_list::<Pod>(|pods| ready(pods, "peaceiris/mdbook:0.4.10") == 3)
        .await;
    let labels = [("name", "sample"), ("namespace", env.namespace())];
    assert_eq!(env.metrics().value("markdownview_available", &labels), Some(1.0));
}

#[kubewright::test]
async fn a_view_is_scaled_to_two_viewers() {
    let env = TestEnv::start(markdown_view::operator()).await;
    sample(&env).await;
    env.eventually_list::<Pod>(|pods| pods.len() == 3).await;
    env.edit::<MarkdownView>("sample", |view| view.spec.replicas = 2).await;
    env.eventually_list::<Pod>(|pods| pods.len() == 2 && ready(pods, "peaceiris/mdbook:0.4.10") == 2)
        .await;
    env.eventually_matches::<MarkdownView>("sample", available()).await;
}

#[kubewright::test]
async fn another_image_rolls_through_the_viewers_without_the_view_going_away() {
    let env = TestEnv::start(markdown_view::operator()).await;
    sample(&env).await;
    env.eventually_list::<Pod>(|pods| ready(pods, "peaceiris/mdbook:0.4.10") == 3)
        .await;
    env.eventually_matches::<MarkdownView>("sample", available()).await;
    let since = since_available(&env).await;
    env.edit::<MarkdownView>("sample", |view| {
        view.spec.viewer_image = Some("peaceiris/mdbook:0.4.40".to_owned());
    })
    .await;
    env.eventually_list::<Pod>(|pods| pods.len() == 3 && ready(pods, "peaceiris/mdbook:0.4.40") == 3)
        .await;
    assert_eq!(env.list::<ReplicaSet>().await.len(), 2);
    env.settle().await;
    assert_eq!(since_available(&env).await, since);
}

/// Since when the sample is available, without a break.
async fn since_available(env: &TestEnv) -> Condition {
    let status = env.get::<MarkdownView>("sample").await.status.unwrap();
    let mut condition = find_condition(&status.conditions, "Available").unwrap().clone();
    condition.observed_generation = None;
    condition
}

#[kubewright::test]
async fn everything_goes_with_the_view() {
    let env = TestEnv::start(markdown_view::operator()).await;
    sample(&env).await;
    env.eventually_matches::<MarkdownView>("sample", available()).await;
    env.delete::<MarkdownView>("sample").await;
    env.eventually_gone::<MarkdownView>("sample").await;
    env.eventually_gone::<ConfigMap>("markdowns-sample").await;
    env.eventually_gone::<Service>("viewer-sample").await;
    env.eventually_gone::<Deployment>("viewer-sample").await;
    env.eventually_list::<ReplicaSet>(<[ReplicaSet]>::is_empty).await;
    env.eventually_list::<Pod>(<[Pod]>::is_empty).await;
    // Its series too.
    let labels = [("name", "sample"), ("namespace", env.namespace())];
    env.settle().await;
    assert_eq!(env.metrics().value("markdownview_available", &labels), None);
}

#[kubewright::test]
async fn a_child_that_cannot_be_made_shows_in_the_status() {
    let env = TestEnv::builder()
        .operator(markdown_view::operator())
        .controllers(Controllers::none())
        .start()
        .await;
    env.inject(Fault::fail(500).writes().of("services").always());
    sample(&env).await;
    let degraded = matchers::condition("Degraded", "True").reason("Reconciling");
    let view = env.eventually_matches::<MarkdownView>("sample", degraded).await;
    let conditions = view.status.unwrap().conditions;
    assert_eq!(
        find_condition(&conditions, "Degraded").unwrap().message,
        "Service not found"
    );
    assert_eq!(find_condition(&conditions, "Available").unwrap().reason, "Unavailable");

    env.clear_faults();
    env.eventually_matches::<MarkdownView>("sample", matchers::condition("Degraded", "False").reason("OK"))
        .await;
    // An event tells of the change from available to degraded.
    env.inject(Fault::fail(500).writes().of("services").always());
    env.delete::<Service>("viewer-sample").await;
    let event = env
        .eventually_event::<MarkdownView>("sample", "Degraded")
        .await
        .remove(0);
    let text = format!("MarkdownView({}:sample) degraded", env.namespace());
    assert_eq!((event.type_.as_deref(), event.note), (Some("Warning"), Some(text)));
}

#[kubewright::test(virtual_time)]
async fn every_thirty_seconds_all_views_are_looked_at() {
    let env = TestEnv::builder()
        .operator(markdown_view::operator())
        .embedded()
        .start()
        .await;
    sample(&env).await;
    env.advance(Duration::from_mins(1)).await;
    let reconciles = |env: &TestEnv| env.metrics().sum("controller_runtime_reconcile_total", &[]);
    let before = reconciles(&env);
    env.advance(Duration::from_mins(5)).await;
    let after = reconciles(&env) - before;
    assert!((10.0..=11.0).contains(&after), "{after} reconciles in five minutes");
}

#[kubewright::test]
async fn a_manager_that_was_away_brings_about_what_it_missed() {
    let env = TestEnv::start(markdown_view::operator()).await;
    sample(&env).await;
    env.eventually_matches::<MarkdownView>("sample", available()).await;
    env.stop_manager().await;
    env.delete::<Service>("viewer-sample").await;
    env.start_manager().await;
    env.eventually::<Service>("viewer-sample", |_| true).await;
}

#[test]
fn its_replicas_elect_a_leader_by_the_lease_they_always_had() {
    let words = ["manager", "--leader-elect", "--leader-election-namespace=system"];
    let flags = Flags::try_parse_from(words).unwrap();
    let manager = markdown_view::operator()
        .manager_with(&flags, &Environment::of([]))
        .unwrap();
    let text = format!("{manager:?}");
    assert!(text.contains("3ca5b296.zoetrope.github.io"), "{text}");
}
