//! Explorations of small operators: what is right passes, what is wrong is told.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_runtime::client::helpers::{ConditionUpdate, set_condition, set_controller_reference};
use kubewright_runtime::controller::{Action, Controller, Failure, Request};
use kubewright_runtime::operator::{Operator, Rule};
use kubewright_testing::TestEnv;
use kubewright_testing::explore::{Class, Exploration, explore};

use crate::garden::{Garden, SAMPLE};
use crate::{garden, shop};

fn gardens() -> Exploration {
    explore(garden::operator)
        .step("plant", |env| async move {
            env.apply(SAMPLE).await;
        })
        .step("dig up", |env| async move { env.delete::<Garden>("roses").await })
}

fn shops() -> Exploration {
    explore(shop::operator)
        .step("open", |env| async move {
            env.apply(shop::sample(2)).await;
        })
        .step("grow", |env| async move {
            env.apply(shop::sample(3)).await;
        })
        .step("close", |env| async move { env.delete::<ConfigMap>("bakery").await })
}

#[kubewright_testing::test]
async fn the_same_seed_gives_the_same_run_twenty_times() {
    for exploration in [gardens(), shops()] {
        let summary = exploration.repeats(20).classes([]).run().await;
        assert_eq!(summary.runs(), 0);
    }
}

#[kubewright_testing::test]
async fn an_operator_that_is_right_passes() {
    let classes = [Class::Restart, Class::Crash, Class::Requests, Class::Watches];
    let summary = gardens().classes(classes).run().await;
    // Two restarts, two steps while it is down, and sixteen disturbances of each of the two writes.
    assert_eq!(summary.runs(), 36, "{summary}");
    assert_eq!(summary.runs_of(Class::Crash), 8, "{summary}");
}

#[kubewright_testing::test]
async fn an_edit_that_is_never_put_right_is_found_and_can_be_repeated_and_accepted() {
    // The operator applies without force: the field belongs to whoever edited it.
    let report = gardens().classes([Class::World]).try_run().await.unwrap_err().text();
    assert!(report.contains("1. different configmaps/roses"), "{report}");
    assert!(
        report.contains(r#"data.plant-0: "ZWRpdGVk" and not "green""#),
        "{report}"
    );
    let plan = "edit configmaps/roses after step plant of plant";
    assert!(report.contains(&format!(".replay({plan:?})")), "{report}");
    let again = gardens().replay(plan).try_run().await.unwrap_err().text();
    assert!(again.contains("different configmaps/roses"), "{again}");
    let accepted = gardens()
        .accept("different configmaps/roses", "fields that others set are theirs")
        .accept("fails on and on", "as above")
        .replay(plan)
        .run()
        .await;
    assert!(
        accepted.to_string().contains("fields that others set are theirs"),
        "{accepted}"
    );
}

#[kubewright_testing::test]
async fn what_is_accepted_and_not_there_any_more_is_told() {
    let summary = gardens()
        .classes([Class::Restart])
        .accept("different configmaps/tulips", "they have their own mind")
        .run()
        .await;
    let told = "different configmaps/tulips: they have their own mind";
    assert_eq!(summary.disappeared(), [told]);
    assert!(
        summary.to_string().contains(&format!("not seen any more: {told}")),
        "{summary}"
    );
}

/// Keeps the time of a condition when its status changes, and never makes a second `ConfigMap` when the first one is gone.
fn careless() -> Operator {
    let controller = Controller::of::<Garden>().reconcile_with(|context| {
        let client = context.client();
        move |request: Request| {
            let client = client.clone();
            async move {
                let garden = client.get_opt::<Garden>(&request).await?;
                let Some(garden) = garden.filter(|garden| garden.metadata.deletion_timestamp.is_none()) else {
                    return Ok(Action::done());
                };
                let mut garden = garden.into_owned();
                let now = client.clock().now();
                let conditions = &mut garden.status.get_or_insert_default().conditions;
                let action = match conditions.first_mut() {
                    None => {
                        let begun = ConditionUpdate::is_false("Ready", "Begun");
                        set_condition(conditions, &begun, now);
                        let mut map = ConfigMap::default();
                        map.metadata.namespace.clone_from(&garden.metadata.namespace);
                        map.metadata.name.clone_from(&garden.metadata.name);
                        set_controller_reference(&garden, &mut map)?;
                        client.apply(&map).await?;
                        Action::requeue_after(Duration::from_secs(10))
                    }
                    Some(ready) if ready.status == "True" => return Ok(Action::done()),
                    Some(ready) if now.duration_since(ready.last_transition_time.0).as_secs() < 10 => {
                        return Ok(Action::requeue_after(Duration::from_secs(10)));
                    }
                    Some(ready) => {
                        "True".clone_into(&mut ready.status);
                        Action::done()
                    }
                };
                client.update_status(&garden).await?;
                Ok::<_, Failure>(action)
            }
        }
    });
    Operator::new("careless")
        .resource::<Garden>()
        .controller(controller)
        .rule(Rule::new([""], ["configmaps"], ["create", "patch"]))
        .rule(Rule::new(["example.com"], ["gardens/status"], ["update"]))
}

fn careless_gardens() -> Exploration {
    explore(careless).step("plant", |env| async move {
        env.apply(SAMPLE).await;
    })
}

#[kubewright_testing::test]
async fn what_is_accepted_of_the_quiet_run_hides_no_other_mistake() {
    let classes = [Class::Restart, Class::World];
    let untrue = "untrue conditions of gardens.example.com/roses";
    let report = careless_gardens().classes(classes).try_run().await.unwrap_err().text();
    assert!(
        report.contains(&format!("{untrue} (without any disturbance)")),
        "{report}"
    );
    let accepting = || {
        careless_gardens()
            .classes(classes)
            .accept("untrue conditions*", "nobody reads them")
    };
    let report = accepting().try_run().await.unwrap_err().text();
    assert!(!report.contains(untrue), "{report}");
    let plan = "delete configmaps/roses after step plant";
    assert!(report.contains("missing configmaps/roses"), "{report}");
    assert!(report.contains(&format!(".replay({plan:?})")), "{report}");
    let again = accepting().replay(plan).try_run().await.unwrap_err().text();
    assert!(again.contains("missing configmaps/roses"), "{again}");
    let summary = careless_gardens()
        .accept("untrue conditions*", "nobody reads them")
        .classes([Class::Restart, Class::Watches])
        .run()
        .await;
    assert!(summary.runs() > 1, "{summary}");
    assert!(
        summary
            .to_string()
            .contains("accepted: untrue conditions*: nobody reads them"),
        "{summary}"
    );
    assert!(summary.disappeared().is_empty(), "{summary}");
}

#[kubewright_testing::test]
async fn an_exploration_that_tries_nothing_fails() {
    let error = gardens().classes([Class::Webhooks]).try_run().await.unwrap_err().text();
    assert!(error.contains("tried nothing"), "{error}");
    assert!(error.contains("of these classes could happen to: webhooks"), "{error}");
    let late = gardens().classes([Class::Crash]).time(Duration::ZERO);
    let error = late.try_run().await.unwrap_err().text();
    assert!(error.contains("the time was over"), "{error}");
    let restless = explore(restless).step("plant", |env| async move {
        env.apply(SAMPLE).await;
    });
    let error = restless.accept("writes on and on", "it is busy").try_run().await;
    let error = error.unwrap_err().text();
    assert!(
        error.contains("cannot go on after what is accepted: writes on and on: it is busy"),
        "{error}"
    );
}

/// Each of its writes wakes the reconcile that makes the next one.
fn restless() -> Operator {
    let controller = Controller::of::<Garden>().reconcile_with(|context| {
        let client = context.client();
        move |request: Request| {
            let client = client.clone();
            async move {
                if let Some(garden) = client.get_opt::<Garden>(&request).await? {
                    let mut garden = garden.into_owned();
                    garden.spec.plants += 1;
                    client.update(&garden).await?;
                }
                Ok::<_, Failure>(Action::done())
            }
        }
    });
    Operator::new("restless")
        .resource::<Garden>()
        .controller(controller)
        .rule(Rule::new(["example.com"], ["gardens"], ["update"]))
}

#[kubewright_testing::test]
async fn that_nothing_shows_what_is_accepted_is_not_told_before_all_was_tried() {
    let summary = gardens()
        .classes([Class::Restart, Class::Crash])
        .time(Duration::ZERO)
        .accept("different configmaps/tulips", "they have their own mind")
        .run()
        .await;
    assert_eq!(summary.runs_of(Class::Restart), 2, "{summary}");
    assert!(summary.disappeared().is_empty(), "{summary}");
}

#[kubewright_testing::test]
async fn an_invariant_is_held_against_every_revision() {
    let report = gardens()
        .invariant("nothing is ever planted", |cluster| {
            cluster.get::<ConfigMap>("roses").is_none()
        })
        .try_run()
        .await;
    let report = report.unwrap_err().text();
    // It is gone in the end: only the revisions between show it.
    assert!(report.contains("invariant broken: nothing is ever planted"), "{report}");
    assert!(report.contains("without any disturbance"), "{report}");
}

#[kubewright_testing::test]
async fn an_exploration_without_steps_says_what_it_needs() {
    let error = explore(garden::operator).try_run().await.unwrap_err().text();
    assert!(error.contains("needs a step"), "{error}");
    for name in ["end of day", "plant, then water"] {
        let error = explore(garden::operator).step(name, |_| async {}).try_run().await;
        let error = error.unwrap_err().text();
        assert!(error.contains("no plan can name the step"), "{error}");
    }
    let error = gardens().replay("crash").try_run().await.unwrap_err().text();
    assert!(error.contains("names no step"), "{error}");
}

#[kubewright_testing::test(virtual_time)]
async fn what_was_owned_before_a_fork_is_collected_in_it() {
    let env = TestEnv::builder()
        .operator(garden::operator())
        .seed(0)
        .embedded()
        .start()
        .await;
    env.apply(SAMPLE).await;
    env.settle().await;
    let fork = env.fork().await;
    fork.settle().await;
    fork.delete::<Garden>("roses").await;
    fork.eventually_gone::<ConfigMap>("roses").await;
}
