//! Kubernetes' own controllers, explored as an operator is.

use k8s_openapi::api::apps::v1::Deployment;
use kubewright_runtime::operator::{Operator, Rule};
use kubewright_testing::explore::{Class, Exploration, explore};
use kubewright_testing::{ControllerName, Controllers};

const EXPLORED: [ControllerName; 3] = [
    ControllerName::Deployment,
    ControllerName::ReplicaSet,
    ControllerName::Job,
];

fn operator() -> Operator {
    let operator = Controllers::only(EXPLORED).operator();
    operator.rule(Rule::new(["*"], ["*"], ["*"]))
}

/// The others run beside them.
fn explored() -> Exploration {
    explore(operator).environment(|builder| {
        let others = EXPLORED.into_iter().fold(Controllers::all(), Controllers::without);
        builder.controllers(others)
    })
}

#[kubewright_testing::test]
async fn crashes_of_the_deployment_controller_do_no_harm() {
    let summary = explored()
        .step("create", |env| async move {
            env.apply(
                "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}},
                  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}}}",
            )
            .await;
        })
        .step("scale", |env| async move {
            env.edit::<Deployment>("web", |web| {
                web.spec.get_or_insert_default().replicas = Some(1);
            })
            .await;
        })
        .step("delete", |env| async move { env.delete::<Deployment>("web").await })
        .classes([Class::Restart, Class::Crash])
        .run()
        .await;
    assert!(summary.runs_of(Class::Crash) > 10, "{summary}");
}
