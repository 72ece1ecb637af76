//! Nodes that fail.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kubewright_testing::matchers::condition;
use kubewright_testing::{ControllerName, Controllers, Mode, TestEnv};

use crate::shop::{operator, sample};

async fn hosts(env: &TestEnv) -> Vec<String> {
    let pods = env.list::<Pod>().await;
    let live = pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
    live.filter_map(|pod| pod.spec.as_ref()?.node_name.clone()).collect()
}

async fn open(env: &TestEnv) -> Option<String> {
    env.get::<ConfigMap>("bakery").await.data?.remove("open")
}

#[kubewright_testing::test(virtual_time)]
async fn pods_of_a_node_that_fails_are_replaced_elsewhere() {
    let env = TestEnv::builder()
        .operator(operator())
        .nodes(2)
        .embedded()
        .start()
        .await;
    env.apply(sample(4)).await;
    env.settle().await;
    let both: BTreeSet<String> = hosts(&env).await.into_iter().collect();
    assert_eq!(both.len(), 2);

    env.fail_node("node-1").await;
    env.advance(Duration::from_secs(40)).await;
    assert_eq!(open(&env).await.as_deref(), Some("4")); // nobody knows yet
    env.advance(Duration::from_secs(20)).await;
    env.eventually_matches::<Node>("node-1", condition("Ready", "Unknown"))
        .await;
    let taints = env.get::<Node>("node-1").await.spec.unwrap().taints.unwrap_or_default();
    let taints: BTreeSet<_> = taints
        .into_iter()
        .map(|taint| format!("{}:{}", taint.key, taint.effect))
        .collect();
    let unreachable = ["NoExecute", "NoSchedule"].map(|effect| format!("node.kubernetes.io/unreachable:{effect}"));
    assert_eq!(taints, BTreeSet::from(unreachable));
    assert_eq!(open(&env).await.as_deref(), Some("2"));

    env.advance(Duration::from_secs(310)).await; // Pods tolerate that for five minutes
    assert_eq!(hosts(&env).await, ["node-2"; 4]);
    assert_eq!(open(&env).await.as_deref(), Some("4"));

    env.recover_node("node-1").await;
    env.eventually_matches::<Node>("node-1", condition("Ready", "True"))
        .await;
    env.advance(Duration::from_mins(1)).await;
    assert_eq!(env.get::<Node>("node-1").await.spec.unwrap().taints, None);
    assert_eq!(env.list::<Pod>().await.len(), 4); // those that were stuck there are gone
}

#[kubewright_testing::test(virtual_time)]
async fn a_node_that_is_back_in_time_keeps_its_pods() {
    let env = TestEnv::builder().operator(operator()).embedded().start().await;
    env.apply(sample(2)).await;
    env.settle().await;
    let names = async || -> BTreeSet<_> {
        env.list::<Pod>()
            .await
            .into_iter()
            .filter_map(|pod| pod.metadata.uid)
            .collect()
    };
    let before = names().await;
    env.fail_node("node-1").await;
    env.advance(Duration::from_mins(2)).await;
    assert_eq!(open(&env).await.as_deref(), Some("0"));
    env.recover_node("node-1").await;
    env.advance(Duration::from_mins(10)).await;
    assert_eq!(open(&env).await.as_deref(), Some("2"));
    assert_eq!(names().await, before);
}

#[kubewright_testing::test(virtual_time)]
async fn a_node_can_fail_before_the_controllers_are_at_work() {
    let env = TestEnv::builder().nodes(2).embedded().start().await;
    env.fail_node("node-2").await;
    env.advance(Duration::from_mins(1)).await;
    env.eventually_matches::<Node>("node-2", condition("Ready", "Unknown"))
        .await;
    env.eventually_matches::<Node>("node-1", condition("Ready", "True"))
        .await;
}

#[kubewright_testing::test(virtual_time)]
async fn a_node_that_cannot_fail_is_refused_with_the_reason() {
    let env = TestEnv::builder().nodes(2).embedded().start().await;
    let error = env.try_fail_node("node-3").await.unwrap_err().text();
    assert_eq!(error, "there is no node \"node-3\"; there are node-1, node-2");
    let unwatched = Controllers::all().without(ControllerName::NodeLifecycle);
    let env = TestEnv::builder().controllers(unwatched).embedded().start().await;
    let error = env.try_fail_node("node-1").await.unwrap_err().text();
    assert!(error.starts_with("failing a node needs the node-lifecycle"), "{error}");
}

/// Run by `existing::an_existing_cluster_runs_the_same_tests`.
#[kubewright_testing::test]
async fn a_node_of_a_cluster_is_not_ours_to_fail() {
    if Mode::from_environment() != Mode::Existing {
        return;
    }
    let env = TestEnv::start(operator()).await;
    let error = env.try_fail_node("node-1").await.unwrap_err().text();
    assert!(
        error.starts_with(
            "failing a node is not possible on an existing cluster (USE_EXISTING_CLUSTER): its nodes are real"
        ),
        "{error}"
    );
    let error = env.try_set_logs("web", "app", "x").await.unwrap_err().text();
    assert!(
        error.starts_with("setting logs is possible on the embedded server only"),
        "{error}"
    );
}
