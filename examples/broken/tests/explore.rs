// SPDX-License-Identifier: Apache-2.0

//! Every mistake is found with the defaults of an exploration, and the fixed twins pass.

use broken_operators::{
    App, AppSpec, counter, create_again, creates_only, deletes_foreign, early_release, edge_triggered, first_of_two,
    forbidden, generated_name, ignores_deletion, late_finalizer, never_rests, no_owner, noted_first, old_generation,
    old_transition, remembers, retries_blindly, status_first, sticks, swallows, sweeps, takes_over, touches,
    trusts_clock, unobserved, unwraps,
};
use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;
use kubewright::testing::explore::{Exploration, explore};

fn scenario(operator: fn() -> Operator) -> Exploration {
    explore(operator)
        .step("create", |env| async move {
            let spec = AppSpec {
                text: "hello".to_owned(),
            };
            env.create(&App::new("app", spec)).await;
        })
        .step("change", |env| async move {
            env.edit::<App>("app", |app| app.spec.text = "world".to_owned()).await;
        })
        .step("delete", |env| async move { env.delete::<App>("app").await })
}

/// The report on the broken one has these lines, and the fixed one passes.
async fn is_found(broken: fn() -> Operator, fixed: fn() -> Operator, lines: &[&str]) {
    are_told_apart(scenario, broken, fixed, lines).await;
}

async fn are_told_apart(
    scenario: fn(fn() -> Operator) -> Exploration,
    broken: fn() -> Operator,
    fixed: fn() -> Operator,
    lines: &[&str],
) {
    let report = scenario(broken)
        .try_run()
        .await
        .expect_err("the mistake is not found")
        .text();
    for line in lines {
        assert!(report.contains(line), "no {line:?} in\n{report}");
    }
    let summary = scenario(fixed).run().await;
    assert!(summary.runs() > 10, "{summary}");
}

#[kubewright::test]
async fn a_name_that_is_written_down_too_late_leaks_an_object() {
    is_found(
        generated_name::broken,
        generated_name::fixed,
        &[
            "unexpected services/web-*2",
            ".replay(\"crash after create services/web-* #1 in step create of create\")",
        ],
    )
    .await;
}

#[kubewright::test]
async fn a_count_of_what_was_done_is_wrong_after_a_crash() {
    is_found(
        counter::broken,
        counter::fixed,
        &[
            "different apps.broken.example.com/app",
            "status",
            ".replay(\"crash after create configmaps/app #1 in step create of create\")",
        ],
    )
    .await;
}

#[kubewright::test]
async fn a_create_that_was_made_before_fails_for_ever() {
    is_found(
        create_again::broken,
        create_again::fixed,
        &[
            "fails on and on",
            "already exists",
            ".replay(\"crash after create configmaps/app #1 in step create of create\")",
        ],
    )
    .await;
}

#[kubewright::test]
async fn a_finalizer_that_comes_too_late_cleans_nothing_up() {
    is_found(
        late_finalizer::broken,
        late_finalizer::fixed,
        &[
            "left behind configmaps/app",
            "delete owners after create configmaps/app #1",
        ],
    )
    .await;
}

#[kubewright::test]
async fn a_status_that_comes_too_early_is_believed() {
    is_found(
        status_first::broken,
        status_first::fixed,
        &[
            "missing configmaps/app",
            ".replay(\"crash after update apps.broken.example.com/status/app #1 in step create of create\")",
        ],
    )
    .await;
}

#[kubewright::test]
async fn what_is_not_watched_is_not_put_right() {
    is_found(
        unobserved::broken,
        unobserved::fixed,
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
        no_owner::broken,
        no_owner::fixed,
        &["left behind configmaps/app (without any disturbance)"],
    )
    .await;
}

#[kubewright::test]
async fn what_belongs_to_others_is_taken_over() {
    is_found(
        takes_over::broken,
        takes_over::fixed,
        &[
            "took over foreign configmaps/app",
            ".replay(\"foreign configmaps/app before step create",
        ],
    )
    .await;
}

#[kubewright::test]
async fn what_writes_on_is_told_so() {
    is_found(
        never_rests::broken,
        never_rests::fixed,
        &["writes on and on", "update apps.broken.example.com/status/app"],
    )
    .await;
}

#[kubewright::test]
async fn an_error_that_is_swallowed_is_never_made_good() {
    is_found(swallows::broken, swallows::fixed, &["missing configmaps/app"]).await;
}

#[kubewright::test]
async fn a_right_that_comes_later_is_used() {
    is_found(
        forbidden::broken,
        forbidden::fixed,
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
        retries_blindly::broken,
        retries_blindly::fixed,
        &[
            "unexpected configmaps/app-1",
            ".replay(\"lose the answer to create configmaps/app-0 #1 in step create of create\")",
        ],
    )
    .await;
}

#[kubewright::test]
async fn a_change_that_is_noted_first_is_never_made() {
    is_found(
        noted_first::broken,
        noted_first::fixed,
        &[
            "different configmaps/app",
            "crash after update apps.broken.example.com/status/app #1 in step change",
        ],
    )
    .await;
}

#[kubewright::test]
async fn the_first_of_two_is_not_both() {
    is_found(
        first_of_two::broken,
        first_of_two::fixed,
        &[
            "missing configmaps/app-users",
            ".replay(\"crash after create configmaps/app #1 in step create of create\")",
        ],
    )
    .await;
}

#[kubewright::test]
async fn a_finalizer_that_goes_too_early_leaves_something() {
    is_found(
        early_release::broken,
        early_release::fixed,
        &[
            "left behind configmaps/app",
            "crash after update apps.broken.example.com/app #1 in step delete",
        ],
    )
    .await;
}

#[kubewright::test]
async fn what_is_made_again_while_its_owner_goes_keeps_it() {
    is_found(
        ignores_deletion::broken,
        ignores_deletion::fixed,
        &[
            "writes on and on",
            "delete owners in the foreground after create configmaps/app #1 in step create",
        ],
    )
    .await;
}

#[kubewright::test]
async fn a_clock_that_is_ahead_makes_new_things_old() {
    is_found(
        trusts_clock::broken,
        trusts_clock::fixed,
        &["missing configmaps/app", "clock an hour ahead in step create"],
    )
    .await;
}

#[kubewright::test]
async fn what_should_be_there_and_is_not_is_no_panic() {
    is_found(
        unwraps::broken,
        unwraps::fixed,
        &[
            "a reconcile panicked",
            "crash after create configmaps/app #1 in step create",
        ],
    )
    .await;
}

#[kubewright::test]
async fn a_change_that_nobody_saw_is_made() {
    is_found(
        edge_triggered::broken,
        edge_triggered::fixed,
        &[
            "different configmaps/app",
            "crash before update configmaps/app #1 in step change",
        ],
    )
    .await;
}

#[kubewright::test]
async fn a_failed_state_is_left() {
    is_found(sticks::broken, sticks::fixed, &["missing configmaps/app"]).await;
}

#[kubewright::test]
async fn what_belongs_to_others_is_not_deleted() {
    is_found(
        deletes_foreign::broken,
        deletes_foreign::fixed,
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
        creates_only::broken,
        creates_only::fixed,
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
        remembers::broken,
        remembers::fixed,
        &[
            "missing configmaps/app",
            ".replay(\"delete configmaps/app after step create of create\")",
        ],
    )
    .await;
}

#[kubewright::test]
async fn a_status_says_which_generation_it_is_of() {
    is_found(
        old_generation::broken,
        old_generation::fixed,
        &[
            "not observed: apps.broken.example.com/app (without any disturbance)",
            "status.observedGeneration is 1, the generation is 2",
        ],
    )
    .await;
}

#[kubewright::test]
async fn a_transition_has_its_time() {
    is_found(
        old_transition::broken,
        old_transition::fixed,
        &["untrue conditions of apps.broken.example.com/app (without any disturbance)"],
    )
    .await;
}

#[kubewright::test]
async fn a_look_is_no_write() {
    is_found(
        touches::broken,
        touches::fixed,
        &["reconciling again changes something (without any disturbance)"],
    )
    .await;
}

/// Users make the ConfigMap together with the App.
fn with_a_config_map(operator: fn() -> Operator) -> Exploration {
    explore(operator)
        .step("create", |env| async move {
            let spec = AppSpec {
                text: "hello".to_owned(),
            };
            env.create(&App::new("app", spec)).await;
            let mut map = ConfigMap::default();
            map.metadata.name = Some("app".to_owned());
            map.labels_mut().insert(sweeps::LABEL.to_owned(), "app".to_owned());
            env.create(&map).await;
        })
        .step("delete", |env| async move { env.delete::<App>("app").await })
}

#[kubewright::test]
async fn what_a_late_cache_does_not_know_may_be_there() {
    are_told_apart(
        with_a_config_map,
        sweeps::broken,
        sweeps::fixed,
        &[
            "missing configmaps/app",
            ".replay(\"events of apps.broken.example.com late in step create",
            "stale: the server has it at revision",
        ],
    )
    .await;
}
