//! Policies that an operator brings, as `kubewright run`, `deploy` and `undeploy` treat them.
#![cfg(unix)]

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DynamicObject, PostParams};
use kubewright_runtime::controller::{Action, Controller, Request};
use kubewright_runtime::operator::Operator;
use kubewright_runtime::policy::Policy;
use serde_json::json;

use crate::operator_project::{ClusterClient, TestProject, boats, description};
use crate::support::Server;

const POLICY: &str = "validatingadmissionpolicy.admissionregistration.k8s.io/shop-colours";
const BINDING: &str = "validatingadmissionpolicybinding.admissionregistration.k8s.io/shop-colours";

/// A project whose operator refuses green `ConfigMap`s.
fn project() -> TestProject {
    let policy = Policy::validating("colours")
        .of::<ConfigMap>()
        .rule("object.data.?colour.orValue('') != 'green'", "no green boats");
    let controller = Controller::of::<ConfigMap>().reconcile_with(|_| |_: Request| async { Ok(Action::done()) });
    let operator = Operator::new("shop").controller(controller).policy(policy);
    let project = TestProject::new();
    project.describe(&description(&operator, &[boats()]));
    project
}

/// Whether the cluster refuses what the policy is against. What it takes is deleted again.
async fn refuses(cluster: &ClusterClient) -> bool {
    let maps = cluster.config_maps("default");
    let green = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "boat" }, "data": { "colour": "green" } });
    let green: DynamicObject = serde_json::from_value(green).unwrap();
    match maps.create(&PostParams::default(), &green).await {
        Ok(_) => {
            maps.delete("boat", &kube::api::DeleteParams::default()).await.unwrap();
            false
        }
        Err(error) => {
            assert!(error.to_string().contains("no green boats"), "{error}");
            true
        }
    }
}

#[tokio::test]
async fn a_policy_is_in_effect_while_the_operator_runs_and_gone_afterwards() {
    let (server, project) = (Server::start(), project());
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let mut run = project.start(Some(&server.kubeconfig), &["run"]);
    run.until("up with");
    assert!(refuses(&cluster).await);
    run.signal("INT");
    let (_, said) = run.end();
    for reference in [POLICY, BINDING] {
        assert!(
            said.contains(&format!("{reference} deleted: it was there for this run")),
            "{said}"
        );
    }
    assert!(!refuses(&cluster).await);
}

#[tokio::test]
async fn a_deployed_policy_outlasts_a_run_and_goes_with_undeploy() {
    let (server, project) = (Server::start(), project());
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let text = project.run(&server.kubeconfig, &["deploy", "--no-wait"]).fine();
    for reference in [POLICY, BINDING] {
        assert!(text.contains(&format!("{reference} created")), "{text}");
    }
    assert!(refuses(&cluster).await);

    let mut run = project.start(Some(&server.kubeconfig), &["run"]);
    run.until("up with");
    assert!(refuses(&cluster).await);
    run.signal("INT");
    let (_, said) = run.end();
    assert!(!said.contains("shop-colours deleted"), "{said}");
    assert!(refuses(&cluster).await);

    let text = project.run(&server.kubeconfig, &["undeploy"]).fine();
    let at = |reference: &str| {
        let line = format!("{reference} deleted");
        let place = text.lines().position(|found| found == line);
        place.unwrap_or_else(|| panic!("{line}: {text}"))
    };
    assert!(at(BINDING) < at(POLICY), "{text}");
    assert!(!refuses(&cluster).await);
}
