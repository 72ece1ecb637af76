//! The same on real binaries, where there are any.

use k8s_openapi::api::core::v1::ConfigMap;
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
    let Some(mode) = assets() else { return };
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
