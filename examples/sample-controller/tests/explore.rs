//! A controller without the toolkit can be explored, too: as the one thing that an operator runs.

// The kind is called so, and so are its objects.
#![allow(clippy::disallowed_names)]

use kubewright::manager::RunContext;
use kubewright::operator::{Operator, Rule};
use kubewright::random::Random;
use kubewright::testing::explore::{Class, explore};
use sample_controller::Sources;
use sample_controller::api::{Foo, FooSpec};
use sample_controller::controller::StatusBy;

/// The rights are those of `artifacts/rbac.yaml`.
fn operator() -> Operator {
    let group = "samplecontroller.k8s.io";
    Operator::new("sample-controller")
        .runnable("controller", |context: RunContext| async move {
            let sources = Sources {
                clock: context.client.clock(),
                random: Random::seeded(0),
            };
            let kube = context.client.kube().clone();
            sample_controller::run(kube, StatusBy::Subresource, sources, context.stop).await?;
            Ok(())
        })
        .rule(Rule::new([group], ["foos"], ["get", "list", "watch", "update"]))
        .rule(Rule::new([group], ["foos/status"], ["update"]))
        .rule(Rule::new(
            ["apps"],
            ["deployments"],
            ["get", "list", "watch", "create", "update"],
        ))
        .rule(Rule::new(["events.k8s.io"], ["events"], ["create", "patch"]))
}

#[kubewright::test]
async fn crashes_and_restarts_do_no_harm() {
    let summary = explore(operator)
        .environment(|builder| builder.definitions("artifacts/examples/crd-status-subresource.yaml"))
        .step("create", |env| async move {
            let spec = FooSpec {
                deployment_name: "web".to_owned(),
                replicas: Some(1),
            };
            env.create(&Foo::new("example", spec)).await;
        })
        .step("scale", |env| async move {
            env.edit::<Foo>("example", |foo| foo.spec.replicas = Some(3)).await;
        })
        .step("delete", |env| async move { env.delete::<Foo>("example").await })
        .classes([Class::Restart, Class::Crash])
        .run()
        .await;
    assert!(summary.runs_of(Class::Crash) >= 6, "{summary}");
}
