//! Virtual time and its rules.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_runtime::client::Patch;
use kubewright_runtime::controller::{Action, Controller, Failure, Request};
use kubewright_runtime::operator::{Operator, Rule};
use kubewright_testing::{Fault, Mode, TestEnv};
use serde_json::json;

use crate::garden::{Garden, SAMPLE, embedded, operator};

/// Counts how often it looks at a `ConfigMap`, once an hour.
fn hourly(count: &Arc<AtomicU64>) -> Operator {
    let count = Arc::clone(count);
    Operator::new("clock").controller(Controller::of::<ConfigMap>().reconcile_with(move |_| {
        let count = Arc::clone(&count);
        move |request: Request| {
            let count = Arc::clone(&count);
            async move {
                if request.name() == "bell" {
                    count.fetch_add(1, Ordering::Relaxed);
                }
                Ok::<_, Failure>(Action::requeue_after(Duration::from_hours(1)))
            }
        }
    }))
}

/// Each write wakes the reconcile that makes it.
fn endless() -> Operator {
    let controller = Controller::of::<ConfigMap>().reconcile_with(|context| {
        let client = context.client();
        let count = Arc::new(AtomicU64::new(0));
        move |request: Request| {
            let (client, count) = (client.clone(), Arc::clone(&count));
            async move {
                if request.name() != "hamster" {
                    return Ok(Action::done());
                }
                let turn = count.fetch_add(1, Ordering::Relaxed);
                let patch = Patch::Merge(json!({ "data": { "turn": turn.to_string() } }));
                client.patch::<ConfigMap>(&request, &patch).await?;
                Ok::<_, Failure>(Action::done())
            }
        }
    });
    Operator::new("wheel")
        .controller(controller)
        .rule(Rule::new([""], ["configmaps"], ["patch"]))
}

/// Writes every other minute.
fn diarist() -> Operator {
    const PAUSE: Duration = Duration::from_mins(2);
    let controller = Controller::of::<ConfigMap>().reconcile_with(|context| {
        let client = context.client();
        move |request: Request| {
            let client = client.clone();
            async move {
                if request.name() != "diary" {
                    return Ok(Action::done());
                }
                let day = client
                    .get::<ConfigMap>(&request)
                    .await?
                    .data
                    .clone()
                    .unwrap_or_default();
                let page = (client.clock().now().as_second() / PAUSE.as_secs() as i64).to_string();
                if day.get("page") != Some(&page) {
                    let patch = Patch::Merge(json!({ "data": { "page": page } }));
                    client.patch::<ConfigMap>(&request, &patch).await?;
                }
                Ok::<_, Failure>(Action::requeue_after(PAUSE))
            }
        }
    });
    Operator::new("diarist")
        .controller(controller)
        .rule(Rule::new([""], ["configmaps"], ["patch"]))
}

#[kubewright_testing::test(virtual_time)]
async fn a_working_day_passes_in_no_time_and_every_timer_fires() {
    let count = Arc::new(AtomicU64::new(0));
    let env = embedded(hourly(&count)).await;
    env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: bell}}")
        .await;
    let settled = env.settle().await;
    assert!(settled.delayed.is_empty());
    assert_eq!(count.load(Ordering::Relaxed), 1);
    // Less than a period of resync, which would wake it as well.
    env.advance(Duration::from_hours(8)).await;
    assert_eq!(count.load(Ordering::Relaxed), 9);
}

#[kubewright_testing::test(virtual_time)]
async fn a_loop_of_writes_is_named_with_its_object() {
    let env = TestEnv::builder()
        .operator(endless())
        .write_budget(50)
        .embedded()
        .start()
        .await;
    env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: hamster}}")
        .await;
    let text = env.try_settle().await.unwrap_err().text();
    assert!(text.starts_with("the manager writes on and on ("), "{text}");
    assert!(
        text.contains(&format!("configmaps {}/hamster", env.namespace())),
        "{text}"
    );
}

#[kubewright_testing::test(virtual_time)]
async fn writes_that_are_minutes_apart_are_no_loop() {
    let builder = TestEnv::builder().operator(diarist()).write_budget(5).embedded();
    let env = builder.start().await;
    env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: diary}}")
        .await;
    env.settle().await;
    let page = |diary: ConfigMap| diary.data.unwrap()["page"].parse::<i64>().unwrap();
    let first = page(env.get::<ConfigMap>("diary").await);
    env.advance(Duration::from_hours(2)).await;
    assert_eq!(page(env.get::<ConfigMap>("diary").await), first + 60);
}

#[kubewright_testing::test(virtual_time)]
async fn back_offs_that_are_left_are_told() {
    let env = embedded(operator()).await;
    env.apply(SAMPLE.replace("plants: 2", "plants: 101")).await;
    let settled = env.settle().await;
    assert_eq!(settled.delayed.len(), 1);
    let delayed = settled.delayed[0].to_string();
    assert!(
        delayed.contains("roses") && delayed.contains("the beds are full"),
        "{delayed}"
    );
    env.edit::<Garden>("roses", |garden| garden.spec.plants = 1).await;
    assert!(env.settle().await.delayed.is_empty());
}

#[kubewright_testing::test(virtual_time)]
async fn a_cache_that_does_not_catch_up_fails_the_test() {
    let env = embedded(operator()).await;
    // The watch is gone, and no other can be had: the manager waits for its own write in vain.
    env.inject(Fault::unreachable().verbs(["watch", "list"]).of("configmaps").always());
    env.inject(Fault::drop_watches().of("configmaps"));
    env.apply(SAMPLE).await;
    env.settle().await;
    env.edit::<Garden>("roses", |garden| garden.spec.plants = 3).await;
    let text = env.try_advance(Duration::from_mins(1)).await.unwrap_err().text();
    assert!(
        text.contains("did not see its own writes of ConfigMap in time"),
        "{text}"
    );
}

#[kubewright_testing::test(virtual_time)]
async fn what_does_not_go_with_a_paused_clock_is_refused() {
    let env = embedded(operator()).await;
    let text = env.try_kubeconfig().await.unwrap_err().text();
    assert!(text.contains("is not possible while the clock is paused"), "{text}");
    for mode in [Mode::Existing, Mode::Binaries("/nowhere".into())] {
        let error = TestEnv::builder().mode(mode).try_start().await.unwrap_err().text();
        assert!(
            error.starts_with("virtual time is possible on the embedded server only"),
            "{error}"
        );
    }
}

#[kubewright_testing::test]
async fn time_does_not_advance_by_itself_in_a_real_runtime() {
    let env = TestEnv::builder().embedded().start().await;
    let text = env.try_advance(Duration::from_secs(1)).await.unwrap_err().text();
    assert_eq!(
        text,
        "`advance` needs virtual time: use `#[kubewright::test(virtual_time)]`"
    );
}

#[kubewright_testing::test]
async fn in_real_time_a_loop_of_writes_ends_with_the_deadline() {
    let env = TestEnv::builder()
        .operator(endless())
        .deadline(Duration::from_secs(2))
        .embedded()
        .start()
        .await;
    env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: hamster}}")
        .await;
    let text = env.try_settle().await.unwrap_err().text();
    assert!(
        text.starts_with("nothing came to rest in 2s; the manager wrote "),
        "{text}"
    );
    assert!(
        text.contains(&format!("configmaps {}/hamster", env.namespace())),
        "{text}"
    );
}

/// Makes a garden and looks whether the operator calls it ready no earlier than it was made.
async fn assert_times_agree(env: &TestEnv, name: &str) {
    env.apply(SAMPLE.replace("roses", name)).await;
    env.settle().await;
    let garden = env.get::<Garden>(name).await;
    let made = garden.metadata.creation_timestamp.clone().unwrap();
    let ready = garden.status.clone().unwrap_or_default().conditions;
    assert_eq!(ready.len(), 1);
    let since = ready[0].last_transition_time.0.duration_since(made.0);
    assert!((0..=60).contains(&since.as_secs()), "{since:?}");
    let event = env.list::<k8s_openapi::api::events::v1::Event>().await;
    let event = event.into_iter().find(|event| {
        let regarding = event.regarding.clone().unwrap_or_default();
        regarding.name.as_deref() == Some(name)
    });
    assert!(event.unwrap().event_time.unwrap().0 >= made.0);
    assert!(env.client().clock().now() >= made.0);
    let jane = env.try_as_user("jane", ["staff"]).unwrap();
    assert!(jane.clock().now() >= made.0);
}

#[kubewright_testing::test(virtual_time)]
async fn a_manager_that_starts_late_and_one_of_a_fork_know_what_day_it_is() {
    let env = embedded(operator()).await;
    env.advance(Duration::from_hours(24)).await;
    env.restart_manager().await;
    assert_times_agree(&env, "tulips").await;
    env.advance(Duration::from_hours(24)).await;
    let fork = env.fork().await;
    assert_times_agree(&fork, "asters").await;
}
