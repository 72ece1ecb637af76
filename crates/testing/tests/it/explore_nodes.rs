//! Explorations in which nodes fail: for a moment, and until their Pods are evicted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_runtime::controller::{Action, Controller, Failure, Request};
use kubewright_runtime::operator::{Operator, Rule};
use kubewright_testing::explore::{Class, Exploration, explore};

use crate::shop;

#[kubewright_testing::test]
async fn an_operator_that_says_what_there_is_passes_when_a_node_fails() {
    let shops = || {
        explore(shop::operator)
            .environment(|builder| builder.nodes(2))
            .step("open", |env| async move {
                env.apply(shop::sample(2)).await;
            })
    };
    for plan in ["fail nodes/node-1 after step open", "lose nodes/node-1 after step open"] {
        let summary = shops().replay(plan).run().await;
        assert_eq!(summary.runs_of(Class::World), 1, "{summary}");
        assert!(!summary.to_string().contains("never came"), "{summary}");
    }
}

/// Sounds an alarm when a Deployment is no longer as ready as it was, and never ends it.
fn alarmists() -> Operator {
    let was_ready = Arc::new(AtomicBool::new(false));
    let controller = Controller::of::<Deployment>().reconcile_with(move |context| {
        let (client, was_ready) = (context.client(), Arc::clone(&was_ready));
        move |request: Request| {
            let (client, was_ready) = (client.clone(), Arc::clone(&was_ready));
            async move {
                let deployment = client.get_opt::<Deployment>(&request).await?;
                let Some(deployment) = deployment.filter(|_| request.name() == "web") else {
                    return Ok(Action::done());
                };
                let ready = deployment.status.as_ref().and_then(|status| status.ready_replicas);
                let is_ready = ready == deployment.spec.as_ref().and_then(|spec| spec.replicas);
                if was_ready.swap(is_ready, Ordering::Relaxed) && !is_ready {
                    let mut alarm = ConfigMap::default();
                    alarm.metadata.namespace = request.namespace().map(str::to_owned);
                    alarm.metadata.name = Some("alarm".to_owned());
                    client.apply(&alarm).await?;
                }
                Ok::<_, Failure>(Action::done())
            }
        }
    });
    Operator::new("alarmists")
        .controller(controller)
        .rule(Rule::new([""], ["configmaps"], ["create", "patch"]))
}

fn deployments() -> Exploration {
    explore(alarmists)
        .environment(|builder| builder.nodes(2))
        .step("deploy", |env| async move {
            env.apply(
                "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}},
                  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}}}",
            )
            .await;
        })
        .classes([Class::World])
}

#[kubewright_testing::test]
async fn an_alarm_that_nobody_ends_is_found_when_a_node_fails() {
    let report = deployments().try_run().await.unwrap_err().text();
    assert!(report.contains("unexpected configmaps/alarm"), "{report}");
    assert!(report.contains(".replay(\"fail nodes/node-"), "{report}");
    let lost = deployments()
        .replay("lose nodes/node-1 after step deploy")
        .try_run()
        .await;
    let lost = lost.unwrap_err().text();
    assert!(lost.contains("unexpected configmaps/alarm"), "{lost}");
}
