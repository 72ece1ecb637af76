// SPDX-License-Identifier: Apache-2.0

//! Every mistake is found with the defaults of an exploration, and the fixed twins pass.

use broken_operators::{
    App, AppSpec, counter, create_again, generated_name, late_finalizer, never_rests, no_owner, status_first,
    takes_over, unobserved,
};
use kubewright::prelude::*;
use kubewright::testing::explore::{Exploration, explore};
use kubewright::testing::{ControllerName, Controllers};

fn scenario(operator: fn() -> Operator) -> Exploration {
    // Not all of the cluster's controllers: they start and stop with every run.
    let controllers = Controllers::only([ControllerName::GarbageCollector, ControllerName::EndpointSlice]);
    explore(operator)
        .environment(move |builder| builder.controllers(controllers.clone()))
        .step("create", |env| async move {
            let spec = AppSpec {
                text: "hello".to_owned(),
            };
            env.create(&App::new("app", spec)).await;
        })
        .step("delete", |env| async move { env.delete::<App>("app").await })
}

/// The report on the broken one has these lines, and the fixed one passes.
async fn is_found(broken: fn() -> Operator, fixed: fn() -> Operator, lines: &[&str]) {
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
