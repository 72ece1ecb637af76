// SPDX-License-Identifier: Apache-2.0

//! Every mistake is found with the defaults of an exploration, and the fixed twins pass.

mod scenarios;

use broken_operators::{
    counter, create_again, creates_only, deletes_foreign, early_release, edge_triggered, first_of_two, forbidden,
    generated_name, gives_up, ignores_deletion, late_finalizer, made_once, never_rests, no_owner, noted_first,
    old_generation, old_transition, optional_webhook, own_watch, remembers, retries_blindly, status_first, sticks,
    swallows, sweeps, takes_over, touches, trusts_clock, unobserved, unwraps,
};
use kubewright::k8s_openapi::api::core::v1::Service;
use kubewright::prelude::*;
use kubewright::testing::explore::{Class, Exploration, explore};
use kubewright::testing::{ControllerName, Controllers};

/// An exploration with its defaults, but not with all of the cluster's controllers: they start and stop with every run.
fn exploration(operator: fn() -> Operator) -> Exploration {
    let controllers = Controllers::only([ControllerName::GarbageCollector, ControllerName::EndpointSlice]);
    explore(operator).environment(move |builder| builder.controllers(controllers.clone()))
}

fn scenario(operator: fn() -> Operator) -> Exploration {
    scenarios::app(exploration(operator))
}

/// The report on an operator has these lines.
async fn is_found(broken: Exploration, lines: &[&str]) {
    let report = broken.try_run().await.expect_err("the mistake is not found").text();
    for line in lines {
        assert!(report.contains(line), "no {line:?} in\n{report}");
    }
}

/// A fixed twin passes where its mistake was found, and with every crash. `.ci/full broken-operators` tries all other classes, too.
async fn passes(fixed: Exploration, found_by: Class) {
    let summary = fixed.classes([Class::Restart, Class::Crash, found_by]).run().await;
    assert!(summary.runs() > 5, "{summary}");
}

/// What most of the fixed twins are: they compare what is there with what should be.
#[kubewright::test]
async fn what_compares_passes() {
    let summary = scenario(unobserved::fixed).run().await;
    assert!(summary.runs() > 50, "{summary}");
}

#[kubewright::test]
async fn a_name_that_is_written_down_too_late_leaks_an_object() {
    is_found(
        scenario(generated_name::broken),
        &[
            "unexpected services/web-*2",
            ".replay(\"crash after create services/web-* #1 in step create of create\")",
        ],
    )
    .await;
    passes(scenario(generated_name::fixed), Class::Crash).await;
}

/// Without the right to write the name down, each Service wakes the reconcile that makes the next one.
#[kubewright::test]
async fn what_makes_more_and_more_is_stopped_soon() {
    let report = scenario(generated_name::broken)
        .classes([Class::Rights])
        .invariant("hardly more than a hundred Services", |cluster| {
            cluster.list::<Service>().len() <= 110
        })
        .try_run()
        .await
        .expect_err("the mistake is not found")
        .text();
    assert!(report.contains("writes on and on"), "{report}");
    assert!(!report.contains("invariant broken"), "{report}");
}

#[kubewright::test]
async fn a_count_of_what_was_done_is_wrong_after_a_crash() {
    is_found(
        scenario(counter::broken),
        &[
            "different apps.broken.example.com/app",
            "status",
            ".replay(\"crash after create configmaps/app #1 in step create of create\")",
        ],
    )
    .await;
    passes(scenario(counter::fixed), Class::Crash).await;
}

#[kubewright::test]
async fn a_create_that_was_made_before_fails_for_ever() {
    is_found(
        scenario(create_again::broken),
        &[
            "fails on and on",
            "already exists",
            ".replay(\"crash after create configmaps/app #1 in step create of create\")",
        ],
    )
    .await;
    passes(scenario(create_again::fixed), Class::Crash).await;
}

#[kubewright::test]
async fn a_finalizer_that_comes_too_late_cleans_nothing_up() {
    is_found(
        scenario(late_finalizer::broken),
        &[
            "left behind configmaps/app",
            "delete owners after create configmaps/app #1",
        ],
    )
    .await;
    passes(scenario(late_finalizer::fixed), Class::World).await;
}

#[kubewright::test]
async fn what_is_being_deleted_gets_nothing_new() {
    is_found(
        scenario(ignores_deletion::broken),
        &[
            "made again configmaps/app",
            ".replay(\"hold apps.broken.example.com/app after step create of create\")",
        ],
    )
    .await;
    passes(scenario(ignores_deletion::fixed), Class::World).await;
}

#[kubewright::test]
async fn a_status_that_comes_too_early_is_believed() {
    is_found(
        scenario(status_first::broken),
        &[
            "missing configmaps/app",
            ".replay(\"crash after update apps.broken.example.com/status/app #1 in step create of create\")",
        ],
    )
    .await;
    passes(scenario(status_first::fixed), Class::Requests).await;
}

#[kubewright::test]
async fn what_is_not_watched_is_not_put_right() {
    is_found(
        scenario(unobserved::broken),
        &[
            "missing configmaps/app",
            ".replay(\"delete configmaps/app after step create of create\")",
        ],
    )
    .await;
}

#[kubewright::test]
async fn what_has_no_owner_stays() {
    is_found(
        scenario(no_owner::broken),
        &["left behind configmaps/app (without any disturbance)"],
    )
    .await;
}

#[kubewright::test]
async fn what_belongs_to_others_is_taken_over() {
    is_found(
        scenario(takes_over::broken),
        &[
            "took over foreign configmaps/app",
            ".replay(\"foreign configmaps/app before step create",
        ],
    )
    .await;
    passes(scenario(takes_over::fixed), Class::World).await;
}

#[kubewright::test]
async fn what_writes_on_is_told_so() {
    is_found(
        scenario(never_rests::broken),
        &["writes on and on", "update apps.broken.example.com/status/app"],
    )
    .await;
    passes(scenario(never_rests::fixed), Class::Restart).await;
}

#[kubewright::test]
async fn an_error_that_is_swallowed_is_never_made_good() {
    is_found(scenario(swallows::broken), &["missing configmaps/app"]).await;
}

#[kubewright::test]
async fn a_right_that_comes_later_is_used() {
    is_found(
        scenario(forbidden::broken),
        &[
            "missing configmaps/app",
            ".replay(\"forbid create configmaps in step create of create\")",
        ],
    )
    .await;
}

#[kubewright::test]
async fn a_retry_under_another_name_makes_two() {
    is_found(
        scenario(retries_blindly::broken),
        &[
            "unexpected configmaps/app-1",
            ".replay(\"take over blindly after create configmaps/app-0 #1 in step create of create\")",
        ],
    )
    .await;
}

#[kubewright::test]
async fn a_change_that_is_noted_first_is_never_made() {
    is_found(
        scenario(noted_first::broken),
        &[
            "different configmaps/app",
            "crash after update apps.broken.example.com/status/app #1 in step change",
        ],
    )
    .await;
    passes(scenario(noted_first::fixed), Class::Crash).await;
}

#[kubewright::test]
async fn the_first_of_two_is_not_both() {
    is_found(
        scenario(first_of_two::broken),
        &[
            "missing configmaps/app-users",
            ".replay(\"crash after create configmaps/app #1 in step create of create\")",
        ],
    )
    .await;
    passes(scenario(first_of_two::fixed), Class::Crash).await;
}

#[kubewright::test]
async fn a_finalizer_that_goes_too_early_leaves_something() {
    is_found(
        scenario(early_release::broken),
        &[
            "left behind configmaps/app",
            "crash before delete configmaps/app #1 in step delete",
        ],
    )
    .await;
    passes(scenario(early_release::fixed), Class::World).await;
}

#[kubewright::test]
async fn a_clock_that_is_ahead_makes_new_things_old() {
    is_found(
        scenario(trusts_clock::broken),
        &["missing configmaps/app", "clock an hour ahead in step create"],
    )
    .await;
}

#[kubewright::test]
async fn what_should_be_there_and_is_not_is_no_panic() {
    is_found(
        scenario(unwraps::broken),
        &[
            "a reconcile panicked",
            "crash after create configmaps/app #1 in step create",
        ],
    )
    .await;
    passes(scenario(unwraps::fixed), Class::Crash).await;
}

#[kubewright::test]
async fn a_change_that_nobody_saw_is_made() {
    is_found(
        scenario(edge_triggered::broken),
        &[
            "different configmaps/app",
            ".replay(\"operator down in step change of create, change\")",
        ],
    )
    .await;
}

#[kubewright::test]
async fn a_failed_state_is_left() {
    is_found(scenario(sticks::broken), &["missing configmaps/app"]).await;
    passes(scenario(sticks::fixed), Class::Requests).await;
}

#[kubewright::test]
async fn what_belongs_to_others_is_not_deleted() {
    is_found(
        scenario(deletes_foreign::broken),
        &[
            "foreign configmaps/app",
            ".replay(\"foreign configmaps/app before step create",
        ],
    )
    .await;
}

#[kubewright::test]
async fn what_others_change_is_put_right() {
    is_found(
        scenario(creates_only::broken),
        &[
            "different configmaps/app",
            ".replay(\"edit configmaps/app after step create of create\")",
        ],
    )
    .await;
}

#[kubewright::test]
async fn what_is_remembered_may_be_gone() {
    is_found(
        scenario(remembers::broken),
        &[
            "missing configmaps/app",
            ".replay(\"recreate apps.broken.example.com/app after step create of create\")",
        ],
    )
    .await;
}

#[kubewright::test]
async fn a_status_says_which_generation_it_is_of() {
    is_found(
        scenario(old_generation::broken),
        &[
            "not observed: apps.broken.example.com/app (without any disturbance)",
            "status.observedGeneration is 1, the generation is 2",
        ],
    )
    .await;
    passes(scenario(old_generation::fixed), Class::Restart).await;
}

#[kubewright::test]
async fn a_transition_has_its_time() {
    is_found(
        scenario(old_transition::broken),
        &["untrue conditions of apps.broken.example.com/app (without any disturbance)"],
    )
    .await;
    passes(scenario(old_transition::fixed), Class::Restart).await;
}

#[kubewright::test]
async fn a_look_is_no_write() {
    is_found(
        scenario(touches::broken),
        &["reconciling again changes something (without any disturbance)"],
    )
    .await;
    passes(scenario(touches::fixed), Class::Restart).await;
}

#[kubewright::test]
async fn a_watch_that_ends_is_not_the_last_one() {
    let shared = |operator| scenarios::app_with_defaults(exploration(operator));
    is_found(
        shared(own_watch::broken),
        &[
            "different configmaps/app",
            ".replay(\"drop watches at create configmaps/app #1 in step create of create, change defaults\")",
        ],
    )
    .await;
    passes(shared(own_watch::fixed), Class::Watches).await;
}

#[kubewright::test]
async fn what_only_a_webhook_knows_is_missing_where_it_was_not_called() {
    let brief = |operator| scenarios::app_without_text(exploration(operator));
    is_found(
        brief(optional_webhook::broken),
        &[
            "different apps.broken.example.com/app",
            ".replay(\"webhooks down in step create of create\")",
        ],
    )
    .await;
    passes(brief(optional_webhook::fixed), Class::Webhooks).await;
}

/// One crash is made good. Only what happens twice in one run shows the mistake.
#[kubewright::test]
async fn what_survives_one_crash_may_not_survive_two() {
    let summary = scenario(gives_up::broken)
        .classes([Class::Restart, Class::Crash])
        .run()
        .await;
    assert!(summary.runs() > 10, "{summary}");
    let pairs = |operator| scenario(operator).classes([Class::Pairs]).pairs(200);
    is_found(
        pairs(gives_up::broken),
        &[
            "missing configmaps/app",
            "and lose the answer to update apps.broken.example.com/status/app #2 in step create of create",
        ],
    )
    .await;
    let summary = pairs(gives_up::fixed).run().await;
    assert!(summary.runs_of(Class::Pairs) > 50, "{summary}");
}

/// An operator whose mistake a class finds by itself, and the name of the difference.
fn found_by(class: Class) -> (Exploration, &'static str) {
    let different = "different configmaps/app";
    let missing = "missing configmaps/app";
    match class {
        Class::Restart => (scenario(edge_triggered::broken), different),
        Class::Crash => (scenario(counter::broken), "different apps.broken.example.com/app"),
        Class::Requests => (scenario(swallows::broken), missing),
        Class::Watches => (scenarios::app_with_defaults(exploration(own_watch::broken)), different),
        Class::Staleness => (with_a_config_map(sweeps::broken), missing),
        Class::Rights => (scenario(forbidden::broken), missing),
        Class::Webhooks => (
            scenarios::app_without_text(exploration(optional_webhook::broken)),
            "different apps.broken.example.com/app",
        ),
        Class::Clock => (scenario(trusts_clock::broken), missing),
        Class::World => (scenario(creates_only::broken), different),
        Class::Edits => (scenarios::app_without_text(exploration(made_once::broken)), different),
        Class::Pairs => (scenario(gives_up::broken).pairs(200), missing),
        other => panic!("no operator has a mistake that {other} finds"),
    }
}

#[kubewright::test]
async fn every_class_finds_a_mistake_by_itself() {
    for class in Class::ALL {
        let (broken, difference) = found_by(class);
        let report = broken.classes([class]).try_run().await;
        let report = report.expect_err("the mistake is not found").text();
        let counted = format!(" {class}), seed 0");
        assert!(report.contains(&counted), "{class}: no {counted:?} in\n{report}");
        assert!(report.contains(difference), "{class}: no {difference:?} in\n{report}");
        assert!(!report.contains("without any disturbance"), "{class}: {report}");
    }
}

fn with_a_config_map(operator: fn() -> Operator) -> Exploration {
    scenarios::app_with_config_map(exploration(operator))
}

#[kubewright::test]
async fn what_a_late_cache_does_not_know_may_be_there() {
    is_found(
        with_a_config_map(sweeps::broken),
        &[
            "missing configmaps/app",
            ".replay(\"events of apps.broken.example.com late in step create",
            "stale: the server has it at revision",
        ],
    )
    .await;
    passes(with_a_config_map(sweeps::fixed), Class::Staleness).await;
}

#[kubewright::test]
async fn a_report_is_the_same_on_one_thread_and_on_four() {
    for operator in [generated_name::broken, counter::broken] {
        let report = async |jobs| {
            let classes = [Class::Restart, Class::Crash, Class::Requests];
            let explored = scenario(operator).classes(classes).jobs(jobs).try_run().await;
            explored.expect_err("the mistake is not found").text()
        };
        assert_eq!(report(1).await, report(4).await);
    }
}
