//! Kubernetes' own controllers beside the operator.

use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, ServiceAccount};
use kubewright_testing::{ControllerName, Controllers, TestEnv};
use tokio::time::Instant;

use crate::garden::embedded;
use crate::shop::{operator, sample};

fn is_open(pods: u32) -> impl Fn(&ConfigMap) -> bool {
    move |map| map.data.as_ref().and_then(|data| data.get("open")) == Some(&pods.to_string())
}

/// On every control plane that has controllers: ours beside the embedded server and real binaries, or a cluster's own.
#[kubewright_testing::test]
async fn a_deployment_gets_pods_and_what_loses_its_owner_goes() {
    let env = TestEnv::start(operator()).await;
    env.apply(sample(2)).await;
    env.eventually::<ConfigMap>("bakery", is_open(2)).await;
    let pods = env.list::<Pod>().await;
    assert_eq!(pods.len(), 2);
    env.delete::<ConfigMap>("bakery").await;
    env.eventually_gone::<Deployment>("bakery").await;
    env.eventually_list::<ReplicaSet>(<[_]>::is_empty).await;
    env.eventually_list::<Pod>(<[_]>::is_empty).await;
    env.stop().await;
}

#[kubewright_testing::test]
async fn settling_waits_for_controllers_in_real_time_too() {
    let env = TestEnv::start(operator()).await;
    env.apply(sample(3)).await;
    env.settle().await;
    let map = env.get::<ConfigMap>("bakery").await;
    assert!(is_open(3)(&map), "{:?}", map.data);
}

#[kubewright_testing::test(virtual_time)]
async fn nothing_happens_by_itself_without_controllers() {
    let env = TestEnv::builder()
        .operator(operator())
        .controllers(Controllers::none())
        .embedded()
        .start()
        .await;
    env.apply(sample(2)).await;
    env.advance(Duration::from_hours(1)).await;
    assert!(env.list::<Pod>().await.is_empty());
    assert!(env.list::<Node>().await.is_empty());
    assert!(env.list::<ServiceAccount>().await.is_empty());
    env.delete::<ConfigMap>("bakery").await;
    env.advance(Duration::from_hours(1)).await;
    assert!(env.get_opt::<Deployment>("bakery").await.is_some());
}

#[kubewright_testing::test(virtual_time)]
async fn some_controllers_run_without_the_others() {
    let env = TestEnv::builder()
        .operator(operator())
        .controllers(Controllers::all().without(ControllerName::Kubelet))
        .embedded()
        .start()
        .await;
    env.apply(sample(2)).await;
    env.settle().await;
    let pods = env.list::<Pod>().await;
    assert_eq!(pods.len(), 2);
    let is_pending = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Pending");
    assert!(pods.iter().all(is_pending));
}

/// A cluster at rest writes nothing, however long it stands: the clock has nothing to stop at.
#[kubewright_testing::test(virtual_time)]
async fn controllers_at_rest_neither_write_nor_keep_the_clock_busy() {
    let env = TestEnv::builder()
        .operator(operator())
        .nodes(3)
        .embedded()
        .start()
        .await;
    env.apply(sample(3)).await;
    let began = Instant::now();
    env.settle().await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let (revision, began) = (env.server().revision(), Instant::now());
    env.settle().await;
    assert_eq!(began.elapsed().as_millis(), 1);
    env.advance(Duration::from_hours(2)).await;
    assert_eq!(env.server().revision(), revision);
}

#[kubewright_testing::test(virtual_time)]
async fn only_the_operators_own_writes_count() {
    let env = TestEnv::builder()
        .operator(operator())
        .write_budget(10)
        .embedded()
        .start()
        .await;
    env.apply(sample(30)).await;
    let settled = env.settle().await;
    let ready = env.get::<Deployment>("bakery").await.status.unwrap().ready_replicas;
    assert_eq!(ready, Some(30));
    assert!((1..=10).contains(&settled.writes), "{settled:?}");
    env.assert_idempotent().await;
}

#[kubewright_testing::test(virtual_time)]
async fn controllers_stay_while_the_manager_is_away() {
    let env = embedded(operator()).await;
    env.apply(sample(2)).await;
    env.settle().await;
    env.stop_manager().await;
    let first = env.list::<Pod>().await.remove(0).metadata.name.unwrap();
    env.delete::<Pod>(&first).await;
    env.settle().await;
    let names: Vec<_> = env
        .list::<Pod>()
        .await
        .into_iter()
        .filter_map(|pod| pod.metadata.name)
        .collect();
    assert!(names.len() == 2 && !names.contains(&first), "{names:?}");
    env.restart_manager().await;
    env.eventually::<ConfigMap>("bakery", is_open(2)).await;
}

#[kubewright_testing::test(virtual_time)]
async fn a_fork_has_controllers_of_its_own_on_the_same_clock() {
    let env = embedded(operator()).await;
    env.apply(sample(2)).await;
    env.advance(Duration::from_hours(2)).await;
    let fork = env.fork().await;
    fork.apply(sample(4)).await;
    fork.settle().await;
    env.settle().await;
    assert_eq!((fork.list::<Pod>().await.len(), env.list::<Pod>().await.len()), (4, 2));
    for pod in fork.list::<Pod>().await {
        let status = pod.status.unwrap();
        let (created, started) = (pod.metadata.creation_timestamp.unwrap(), status.start_time.unwrap());
        assert_eq!(created.0, started.0);
        assert_eq!(status.phase.as_deref(), Some("Running"));
    }
    assert_eq!(fork.list::<Node>().await.len(), 1);
}

/// Times, uids and random ends of names differ from run to run.
fn steady(text: &str, env: &TestEnv, names: &[(&str, &str)]) -> String {
    let mut text = text.replace(env.namespace(), "test");
    for (name, stands_for) in names {
        text = text.replace(name, stands_for);
    }
    text
}

#[kubewright_testing::test(virtual_time)]
async fn a_failing_test_shows_the_pods_and_what_is_wrong_with_them() {
    let env = TestEnv::builder().operator(operator()).seed(1).embedded().start().await;
    env.apply(sample(1).replace("{image: nginx}", "{image: ngnix, script: not found}"))
        .await;
    env.settle().await;
    let pod = env.list::<Pod>().await.remove(0);
    let (pod, phase) = (pod.metadata.name.unwrap(), pod.status.unwrap().phase.unwrap());
    let set = env.list::<ReplicaSet>().await.remove(0).metadata.name.unwrap();
    let waiting = env.eventually::<ConfigMap>("bakery", is_open(1));
    let text = waiting
        .within(Duration::from_secs(5))
        .outcome()
        .await
        .unwrap_err()
        .text();
    let text = steady(&text, &env, &[(&pod, "POD"), (&set, "SET")]);
    let shown: Vec<_> = text.lines().skip_while(|line| !line.starts_with("  events:")).collect();
    let wanted = format!(
        "  events:
    Pod POD: Warning Failed: Failed to pull image \"ngnix\": not found
  owners:
    ConfigMap bakery <- this one
      Deployment bakery, Available=False, Progressing=True
        ReplicaSet SET, 0 of 1 ready
          Pod POD, {phase}, Ready=False, web: ErrImagePull
  manager:"
    );
    assert!(text.contains("expected:\n    is_open(1)\n"), "{text}");
    assert_eq!(
        shown[..wanted.lines().count().min(shown.len())].join("\n"),
        wanted,
        "{text}"
    );
}
