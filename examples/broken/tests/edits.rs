// SPDX-License-Identifier: Apache-2.0

//! A mistake that shows when users edit what they asked for is found by edits from the schema.

use broken_operators::{App, AppSpec, keeps_removed, made_once};
use kubewright::prelude::*;
use kubewright::testing::explore::{Class, Exploration, explore};
use kubewright::testing::{ControllerName, Controllers};

fn scenario(operator: fn() -> Operator) -> Exploration {
    explore(operator)
        .environment(|builder| builder.controllers(Controllers::only([ControllerName::GarbageCollector])))
        .step("create", |env| async move {
            let text = "hello".to_owned();
            env.create(&App::new("app", AppSpec { text })).await;
        })
        .classes([Class::Edits])
}

#[kubewright::test]
async fn what_is_made_once_is_not_what_an_edit_asks_for() {
    let report = scenario(made_once::broken).try_run().await;
    let report = report.expect_err("the mistake is not found").text();
    assert!(report.contains("different configmaps/app"), "{report}");
    assert!(report.contains("data.text: \"hello\" and not \"\""), "{report}");
    let plan = r#"change apps.broken.example.com/app: /spec/text = "" after step create"#;
    assert!(report.contains(&format!("⚡ {plan}")), "{report}");
    let summary = scenario(made_once::fixed).run().await;
    assert!(summary.runs_of(Class::Edits) > 5, "{summary}");
}

#[kubewright::test]
async fn what_an_edit_takes_out_goes() {
    let report = scenario(keeps_removed::broken).try_run().await;
    let report = report.expect_err("the mistake is not found").text();
    assert!(report.contains("different configmaps/app"), "{report}");
    assert!(
        report.contains(r#"⚡ change apps.broken.example.com/app: /spec/text = """#),
        "{report}"
    );
    let summary = scenario(keeps_removed::fixed).run().await;
    assert!(summary.runs_of(Class::Edits) > 5, "{summary}");
}
