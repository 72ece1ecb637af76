//! What containers print, as a test sets it.

use k8s_openapi::api::core::v1::Pod;
use kubewright_testing::{Mode, TestEnv};

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, image: a}, {name: log, image: b}]}}";

#[kubewright_testing::test(virtual_time)]
async fn a_log_is_what_the_test_set_for_each_container() {
    let env = TestEnv::builder().embedded().start().await;
    env.apply(POD).await;
    env.settle().await;
    assert_eq!(env.container_logs("web", "app").await, "");
    env.set_logs("web", "app", "one\ntwo\n").await;
    env.set_logs("web", "log", "three\n").await;
    assert_eq!(env.container_logs("web", "app").await, "one\ntwo\n");
    assert_eq!(env.container_logs("web", "log").await, "three\n");
    let fork = env.fork().await;
    fork.set_logs("web", "app", "four\n").await;
    assert_eq!(env.container_logs("web", "app").await, "one\ntwo\n");
}

#[kubewright_testing::test(virtual_time)]
async fn a_log_of_nobody_is_refused_with_what_there_is() {
    let env = TestEnv::builder().embedded().start().await;
    env.apply(POD).await;
    let error = env.try_set_logs("web", "web", "x").await.unwrap_err().text();
    assert!(error.ends_with("/web has no container web; it has app, log"), "{error}");
    let error = env.try_set_logs("none", "app", "x").await.unwrap_err().text();
    assert!(error.contains("none") && error.contains("not found"), "{error}");
    let error = env.try_logs("web", None).await.unwrap_err().text();
    assert!(error.contains("choose one of: [app log]"), "{error}");
}

#[kubewright_testing::test]
async fn logs_are_refused_where_nobody_runs_containers() {
    let Mode::Binaries(_) = Mode::from_environment() else {
        return;
    };
    let env = TestEnv::builder().start().await;
    env.apply(POD).await;
    let error = env.try_set_logs("web", "app", "x").await.unwrap_err().text();
    assert!(
        error.starts_with("setting logs is possible on the embedded server only"),
        "{error}"
    );
    let error = env.try_logs("web", Some("app")).await.unwrap_err().text();
    assert!(
        error.starts_with("reading logs is not possible on real binaries"),
        "{error}"
    );
    assert!(env.get_opt::<Pod>("web").await.is_some());
}
