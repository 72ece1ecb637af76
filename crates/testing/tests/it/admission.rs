//! Admission plugins that a test turns on and off.

use k8s_openapi::api::core::v1::Pod;
use kubewright_testing::{AdmissionPlugin, Controllers, Mode, TestEnv};

fn pod(account: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: web}}, spec: {{serviceAccountName: {account}, containers: [{{name: a, image: b}}]}}}}"
    )
}

async fn env(is_on: bool) -> TestEnv {
    let builder = TestEnv::builder().admission(AdmissionPlugin::ServiceAccount, is_on);
    builder.controllers(Controllers::none()).embedded().start().await
}

#[tokio::test]
async fn a_pod_with_a_mistyped_account_is_refused_where_accounts_are_admitted() {
    let strict = env(true).await;
    for env in [&strict, &strict.fork().await] {
        let error = env.try_apply(pod("defualt")).await.unwrap_err();
        assert!(
            error.text().contains("error looking up service account"),
            "{}",
            error.text()
        );
    }
    env(false).await.apply(pod("defualt")).await;
}

#[tokio::test]
async fn namespaces_of_a_test_have_their_account_from_the_beginning() {
    let env = env(true).await;
    let bare = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: a, image: b}]}}";
    env.apply(bare).await;
    let made: Pod = env.get("web").await;
    let spec = made.spec.unwrap();
    assert_eq!(spec.service_account_name.as_deref(), Some("default"));
    assert!(spec.volumes.unwrap()[0].name.starts_with("kube-api-access-"));

    let other = env.create_namespace().await;
    let there = bare.replace("name: web", &format!("name: web, namespace: {other}"));
    env.apply(there).await;
}

#[tokio::test]
async fn the_last_word_about_a_plugin_counts() {
    let plugin = AdmissionPlugin::ServiceAccount;
    let builder = TestEnv::builder().admission(plugin, true).admission(plugin, false);
    let env = builder.controllers(Controllers::none()).embedded().start().await;
    env.apply(pod("nobody")).await;
}

#[tokio::test]
async fn plugins_of_somebody_elses_server_are_left_to_it() {
    let builder = TestEnv::builder().admission(AdmissionPlugin::Priority, false);
    let error = builder.mode(Mode::Existing).try_start().await.unwrap_err();
    assert!(
        error
            .text()
            .starts_with("turning admission plugins on and off is possible on the embedded server only"),
        "{}",
        error.text()
    );
}
