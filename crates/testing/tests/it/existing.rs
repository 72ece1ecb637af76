//! The same on real binaries, where there are any, and on a cluster: an embedded server that others listen to.

use std::process::Command;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kubewright_testing::matchers::condition;
use kubewright_testing::{Mode, TestEnv};

use crate::garden::{Garden, SAMPLE, operator, operator_with_webhooks};

/// The folder with etcd and kube-apiserver, if whoever runs the tests names one.
fn assets() -> Option<Mode> {
    match Mode::from_environment() {
        mode @ Mode::Binaries(_) => Some(mode),
        _ => None,
    }
}

#[kubewright_testing::test(flavor = "multi_thread")]
async fn real_binaries_run_the_same_test() {
    let Some(mode) = assets() else {
        kubewright_test_support::skip("KUBEBUILDER_ASSETS names no folder with etcd and kube-apiserver");
        return;
    };
    let env = TestEnv::builder()
        .operator(operator_with_webhooks())
        .mode(mode)
        .start()
        .await;
    env.apply(SAMPLE).await;
    let garden = env
        .eventually_matches::<Garden>("roses", condition("Ready", "True"))
        .await;
    assert_eq!(garden.spec.gardener.as_deref(), Some("somebody"));
    let error = env
        .try_apply(SAMPLE.replace("plants: 2", "plants: 13"))
        .await
        .unwrap_err()
        .text();
    assert!(error.contains("thirteen brings bad luck"), "{error}");
    let error = env
        .as_user("jane", ["staff"])
        .list::<ConfigMap>(&kubewright_runtime::cache::Query::all())
        .await;
    assert_eq!(error.unwrap_err().code(), Some(403));
    env.assert_idempotent().await; // telling the server where the webhooks are is no change
    let error = env.try_fork().await.unwrap_err().text();
    assert!(
        error.starts_with("a fork is possible on the embedded server only"),
        "{error}"
    );
    env.stop().await;
}

#[kubewright_testing::test]
async fn a_folder_without_binaries_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mode = Mode::Binaries(folder.path().to_owned());
    let error = TestEnv::builder()
        .operator(operator())
        .mode(mode)
        .try_start()
        .await
        .unwrap_err()
        .text();
    assert!(
        error.contains("etcd is missing: KUBEBUILDER_ASSETS names a folder"),
        "{error}"
    );
}

/// Runs tests of this binary again, on the cluster of a kubeconfig.
fn run_on(kubeconfig: &std::path::Path, tests: &[&str]) -> std::process::Output {
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--test-threads=1"])
        .args(tests)
        .env("USE_EXISTING_CLUSTER", "true")
        .env("KUBECONFIG", kubeconfig)
        .env_remove("KUBEBUILDER_ASSETS")
        .output();
    done.unwrap()
}

#[kubewright_testing::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_existing_cluster_runs_the_same_tests() {
    let cluster = TestEnv::builder().embedded().start().await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), cluster.kubeconfig().await).unwrap();
    let tests = [
        "objects::a_sample_is_accepted_and_reconciled",
        "objects::the_webhooks_of_the_operator_answer",
        "controllers::a_deployment_gets_pods_and_what_loses_its_owner_goes",
        "life::a_manager_that_missed_everything_catches_up",
        "nodes::a_node_of_a_cluster_is_not_ours_to_fail",
    ];
    let path = file.path().to_owned();
    let output = tokio::task::spawn_blocking(move || run_on(&path, &tests))
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("5 passed"), "{text}");
    // Namespaces of tests go away with all that is in them.
    let ours = |namespace: &&Namespace| {
        let name = namespace.metadata.name.as_deref().unwrap_or_default();
        name.starts_with("test-") && name != cluster.namespace()
    };
    cluster
        .eventually_list::<Namespace>(|namespaces| namespaces.iter().find(ours).is_none())
        .await;
}
