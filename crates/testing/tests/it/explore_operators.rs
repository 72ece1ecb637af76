//! Explorations of operators that are more than one controller: webhooks, conversion, leader election; and of what they read and remember.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kubewright_runtime::client::Client;
use kubewright_runtime::client::helpers::{ConditionUpdate, set_condition, set_controller_reference};
use kubewright_runtime::controller::{Action, Controller, Failure, Request};
use kubewright_runtime::conversion::Conversion;
use kubewright_runtime::lease::ElectionOptions;
use kubewright_runtime::object::ObjectKey;
use kubewright_runtime::operator::{Operator, Rule};
use kubewright_runtime::webhook::FailurePolicy;
use kubewright_testing::explore::{Class, Exploration, explore};
use kubewright_testing::{ControllerName, Controllers};
use parking_lot::Mutex;

use crate::conversion::{v1, v1beta1};
use crate::garden::{self, Garden, GardenSpec};

fn with_few_controllers(exploration: Exploration) -> Exploration {
    exploration.environment(|builder| builder.controllers(Controllers::only([ControllerName::GarbageCollector])))
}

/// What is done about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Care {
    Returns,
    Swallows,
}

/// A controller of `ConfigMap`s, for those with this name.
fn controller_of_maps<F, Fut>(name: &'static str, reconcile: F) -> Controller
where
    F: Fn(Client, ConfigMap) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Action, Failure>> + Send,
{
    Controller::of::<ConfigMap>()
        .named(format!("{name}-maps"))
        .reconcile_with(move |context| {
            let (client, reconcile) = (context.client(), reconcile.clone());
            move |request: Request| {
                let (client, reconcile) = (client.clone(), reconcile.clone());
                async move {
                    match client.get_opt::<ConfigMap>(&request).await? {
                        Some(map) if request.name() == name && map.metadata.deletion_timestamp.is_none() => {
                            reconcile(client.clone(), map.into_owned()).await
                        }
                        _ => Ok(Action::done()),
                    }
                }
            }
        })
}

/// Two controllers, of which one makes what the other works for, and what it makes goes through the operator's own webhooks.
fn estates(care: Care) -> Operator {
    let estates = controller_of_maps("estate", move |client, map| async move {
        let key = ObjectKey::namespaced(&map.namespace().unwrap_or_default(), "park");
        if client.get_opt::<Garden>(&key).await?.is_some() {
            return Ok(Action::done());
        }
        let spec = GardenSpec {
            plants: 3,
            gardener: None,
        };
        let mut park = Garden::new("park", spec);
        park.metadata.namespace = map.namespace();
        set_controller_reference(&map, &mut park)?;
        match client.create(&park).await {
            Err(error) if care == Care::Returns => Err(error.into()),
            _ => Ok(Action::done()),
        }
    });
    garden::operator_with_webhooks()
        .controller(estates)
        .rule(Rule::new(["example.com"], ["gardens"], ["create"]))
        .rule(Rule::new([""], ["configmaps/finalizers"], ["update"]))
}

fn explored_estates(care: Care) -> Exploration {
    with_few_controllers(explore(move || estates(care)))
        .step("buy", |env| async move {
            env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: estate}}")
                .await;
        })
        .step("sell", |env| async move { env.delete::<ConfigMap>("estate").await })
}

#[kubewright_testing::test]
async fn two_controllers_and_their_webhooks_pass_when_errors_are_returned() {
    let classes = [Class::Restart, Class::Crash, Class::Requests, Class::Webhooks];
    let summary = explored_estates(Care::Returns).classes(classes).run().await;
    // Down and slow at the write that goes through them. Nothing else calls them.
    assert_eq!(summary.runs_of(Class::Webhooks), 2, "{summary}");
    // Three writes: of the one controller, and two of the other.
    assert_eq!(summary.runs_of(Class::Crash), 12, "{summary}");
}

fn gardens_with_webhooks(policy: FailurePolicy) -> Exploration {
    with_few_controllers(explore(move || garden::operator_whose_webhooks(policy)))
        .step("plant", |env| async move {
            env.apply(garden::SAMPLE).await;
        })
        .classes([Class::Webhooks])
}

#[kubewright_testing::test]
async fn what_webhooks_refuse_to_users_leaves_no_trace_and_what_passes_them_by_is_told() {
    let summary = gardens_with_webhooks(FailurePolicy::Fail).run().await;
    assert_eq!(summary.runs_of(Class::Webhooks), 1, "{summary}");
    assert!(!summary.to_string().contains("never came"), "{summary}");
    // Without the webhook nobody names a gardener.
    let report = gardens_with_webhooks(FailurePolicy::Ignore).try_run().await;
    let report = report.unwrap_err().text();
    assert!(report.contains("different gardens.example.com/roses"), "{report}");
    assert!(report.contains(".replay(\"webhooks down in step plant\")"), "{report}");
}

#[kubewright_testing::test]
async fn a_webhook_that_was_down_for_a_moment_must_not_be_the_end() {
    let report = explored_estates(Care::Swallows)
        .classes([Class::Webhooks])
        .try_run()
        .await;
    let report = report.unwrap_err().text();
    assert!(report.contains("missing gardens.example.com/park"), "{report}");
    let plan = "webhooks down at create gardens.example.com/park #1 in step buy of buy";
    assert!(report.contains(&format!(".replay({plan:?})")), "{report}");
}

#[kubewright_testing::test]
async fn a_request_without_answer_is_given_up_and_made_again() {
    let plan = "no answer to create gardens.example.com/park #1 in step buy of buy";
    let report = explored_estates(Care::Swallows).replay(plan).try_run().await;
    let report = report.unwrap_err().text();
    assert!(report.contains("missing gardens.example.com/park"), "{report}");
    assert!(
        report.contains("⚡ no answer comes, the server does not see it"),
        "{report}"
    );
    let summary = explored_estates(Care::Returns).replay(plan).run().await;
    assert!(!summary.to_string().contains("never came"), "{summary}");
}

/// The `ConfigMap` of a pond says how large it is. The controller reads the version that is not stored: all that it sees is converted.
fn ponds() -> Operator {
    let controller = Controller::of::<v1beta1::Pond>()
        .owns::<ConfigMap>()
        .reconcile_with(|context| {
            let client = context.client();
            move |request: Request| {
                let client = client.clone();
                async move {
                    let Some(pond) = client.get_opt::<v1beta1::Pond>(&request).await? else {
                        return Ok(Action::done());
                    };
                    if pond.metadata.deletion_timestamp.is_some() {
                        return Ok(Action::done());
                    }
                    let mut map = ConfigMap::default();
                    map.metadata.namespace.clone_from(&pond.metadata.namespace);
                    map.metadata.name.clone_from(&pond.metadata.name);
                    map.data = Some([("size".to_owned(), pond.spec.size.to_string())].into());
                    set_controller_reference(&*pond, &mut map)?;
                    client.apply(&map).await?;
                    Ok::<_, Failure>(Action::done())
                }
            }
        });
    Operator::new("ponds")
        .resource::<v1::Pond>()
        .resource::<v1beta1::Pond>()
        .conversion(Conversion::hub::<v1::Pond>().spoke::<v1beta1::Pond>())
        .controller(controller)
        .rule(Rule::new([""], ["configmaps"], ["create", "patch"]))
        .rule(Rule::new(["example.com"], ["ponds/finalizers"], ["update"]))
}

fn explored_ponds() -> Exploration {
    with_few_controllers(explore(ponds))
        .step("dig", |env| async move {
            env.apply("{apiVersion: example.com/v1, kind: Pond, metadata: {name: carp}, spec: {litres: 500}}")
                .await;
        })
        .step("fill up", |env| async move {
            env.edit::<v1::Pond>("carp", |pond| pond.spec.litres = 7).await;
        })
        .step("drain", |env| async move { env.delete::<v1::Pond>("carp").await })
}

#[kubewright_testing::test]
async fn what_is_converted_by_the_operator_is_explored() {
    let classes = [Class::Restart, Class::Crash, Class::Staleness, Class::Webhooks];
    let summary = explored_ponds().classes(classes).run().await;
    // Down in each step: what users write is converted for the controller, and what it writes needs no conversion.
    assert_eq!(summary.runs_of(Class::Webhooks), 3, "{summary}");
    assert_eq!(summary.runs_of(Class::Crash), 8, "{summary}");
}

/// The controller goes by a pond that is gone, and makes again what the garbage collector takes away, until it hears of it.
#[kubewright_testing::test]
async fn what_cannot_be_converted_comes_late_and_time_passes_meanwhile() {
    let summary = explored_ponds().replay("webhooks down in step drain").run().await;
    assert_eq!(summary.runs_of(Class::Webhooks), 1, "{summary}");
    assert!(!summary.to_string().contains("never came"), "{summary}");
}

#[kubewright_testing::test]
async fn an_operator_that_elects_its_leader_is_explored() {
    let summary = explore(garden::operator)
        .environment(|builder| {
            builder
                .controllers(Controllers::only([ControllerName::GarbageCollector]))
                .configure(|manager| manager.leader_election(ElectionOptions::new("garden-system", "garden")))
        })
        .step("plant", |env| async move {
            env.apply(garden::SAMPLE).await;
        })
        .step("dig up", |env| async move { env.delete::<Garden>("roses").await })
        .classes([Class::Restart, Class::Crash])
        .run()
        .await;
    assert_eq!(summary.runs_of(Class::Crash), 8, "{summary}");
}

/// Notes in a `ConfigMap` whether there is another one, which it asks the server for.
fn lookouts(care: Care) -> Operator {
    let controller = controller_of_maps("lookout", move |client, mut map| async move {
        let is_noted = map.data.as_ref().is_some_and(|data| data.contains_key("ship"));
        if care == Care::Swallows && is_noted {
            return Ok(Action::done());
        }
        let key = ObjectKey::namespaced(&map.namespace().unwrap_or_default(), "ship");
        let ship = match client.live().get_opt::<ConfigMap>(&key).await {
            Err(error) if care == Care::Returns => return Err(error.into()),
            Err(_) => None,
            Ok(ship) => ship.map(|_| "in sight"),
        };
        let seen = ship.unwrap_or("none").to_owned();
        let data = map.data.get_or_insert_default();
        if data.insert("ship".to_owned(), seen.clone()) != Some(seen) {
            client.update(&map).await?;
        }
        Ok(Action::done())
    });
    Operator::new("lookouts")
        .controller(controller)
        .rule(Rule::new([""], ["configmaps"], ["get", "update"]))
}

fn explored_lookouts(care: Care) -> Exploration {
    explore(move || lookouts(care))
        .environment(|builder| builder.controllers(Controllers::none()))
        .step("look", |env| async move {
            env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: ship}}")
                .await;
            env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: lookout}}")
                .await;
        })
        .classes([Class::Rights])
}

#[kubewright_testing::test]
async fn a_right_to_read_that_is_missing_for_a_while_is_no_answer() {
    let report = explored_lookouts(Care::Swallows).try_run().await.unwrap_err().text();
    assert!(report.contains("different configmaps/lookout"), "{report}");
    assert!(
        report.contains(".replay(\"forbid get configmaps in step look\")"),
        "{report}"
    );
    let summary = explored_lookouts(Care::Returns).run().await;
    // Of the read and of the write.
    assert_eq!(summary.runs_of(Class::Rights), 2, "{summary}");
}

#[kubewright_testing::test]
async fn a_read_from_the_server_that_fails_is_no_answer() {
    let explored = |care| explored_lookouts(care).classes([Class::Requests]);
    let report = explored(Care::Swallows).try_run().await.unwrap_err().text();
    assert!(report.contains("different configmaps/lookout"), "{report}");
    assert!(
        report.contains(".replay(\"fail read get configmaps #1 in step look\")"),
        "{report}"
    );
    let summary = explored(Care::Returns).run().await;
    assert!(!summary.to_string().contains("never came"), "{summary}");
    // Ten disturbances of the write, three of each of two reads: before it and after it.
    assert_eq!(summary.runs_of(Class::Requests), 16, "{summary}");
}

/// Looks every ten seconds, and takes a long time without a look for a failure of its own, which it notes.
fn watchmen() -> Operator {
    let last: Arc<Mutex<Option<Timestamp>>> = Arc::default();
    let controller = controller_of_maps("watchman", move |client, mut map| {
        let last = Arc::clone(&last);
        async move {
            let now = client.clock().now();
            let before = last.lock().replace(now);
            let slept = before.is_some_and(|before| now.duration_since(before).unsigned_abs().as_secs() > 1800);
            if slept {
                map.data
                    .get_or_insert_default()
                    .insert("slept".to_owned(), "yes".to_owned());
                client.update(&map).await?;
            }
            Ok(Action::requeue_after(std::time::Duration::from_secs(10)))
        }
    });
    Operator::new("watchmen")
        .controller(controller)
        .rule(Rule::new([""], ["configmaps"], ["update"]))
}

#[kubewright_testing::test]
async fn a_clock_that_jumps_is_noticed_by_who_measures_time_with_it() {
    let exploration = || {
        explore(watchmen)
            .environment(|builder| builder.controllers(Controllers::none()))
            .step("begin", |env| async move {
                env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: watchman}}")
                    .await;
            })
            .classes([Class::Clock])
    };
    let report = exploration().try_run().await.unwrap_err().text();
    assert!(report.contains("different configmaps/watchman"), "{report}");
    // A clock that is wrong all the time measures rightly.
    assert!(
        report.contains(".replay(\"clock jumps ahead in step begin\")"),
        "{report}"
    );
    assert!(report.contains("1 other plans show the same"), "{report}");
    let wrong = exploration().replay("clock an hour ahead in step begin").run().await;
    assert_eq!(wrong.runs_of(Class::Clock), 1, "{wrong}");
}

/// Says in a condition that a garden is not ready, and a moment later that it is.
fn announcers() -> Operator {
    let controller = Controller::of::<Garden>().reconcile_with(|context| {
        let client = context.client();
        move |request: Request| {
            let client = client.clone();
            async move {
                let Some(garden) = client.get_opt::<Garden>(&request).await? else {
                    return Ok(Action::done());
                };
                let mut garden = garden.into_owned();
                let conditions = &mut garden.status.get_or_insert_default().conditions;
                let ready = if conditions.is_empty() {
                    ConditionUpdate::is_false("Ready", "Begun")
                } else {
                    ConditionUpdate::is_true("Ready", "Done")
                };
                if set_condition(conditions, &ready, client.clock().now()) {
                    client.update_status(&garden).await?;
                }
                Ok::<_, Failure>(Action::done())
            }
        }
    });
    Operator::new("announcers")
        .resource::<Garden>()
        .controller(controller)
        .rule(Rule::new(["example.com"], ["gardens/status"], ["update"]))
}

#[kubewright_testing::test]
async fn times_of_a_clock_that_is_wrong_are_not_held_against_the_operator() {
    let summary = explore(announcers)
        .environment(|builder| builder.controllers(Controllers::none()))
        .step("plant", |env| async move {
            env.apply(garden::SAMPLE).await;
        })
        .classes([Class::Clock])
        .run()
        .await;
    assert_eq!(summary.runs_of(Class::Clock), 4, "{summary}");
}
