// SPDX-License-Identifier: Apache-2.0

//! A mistake that shows outside the cluster alone is found by a fake that takes part.

use std::sync::Arc;

use broken_operators::outside::{self, Cloud};
use broken_operators::{App, AppSpec, missed_deletion};
use kubewright::prelude::*;
use kubewright::serde_json::Value;
use kubewright::testing::explore::{Class, Exploration, External, explore_with};
use kubewright::testing::{ControllerName, Controllers};

/// The fake, as an exploration asks for it.
#[derive(Default)]
struct FakeCloud(Arc<Cloud>);

impl External for FakeCloud {
    fn snapshot(&self) -> Value {
        self.0.snapshot()
    }

    fn restore(&self, snapshot: &Value) {
        self.0.restore(snapshot);
    }
}

fn scenario(operator: fn(Arc<Cloud>) -> Operator) -> Exploration {
    explore_with(FakeCloud::default, move |cloud| operator(Arc::clone(&cloud.0)))
        .environment(|builder| builder.controllers(Controllers::only([ControllerName::GarbageCollector])))
        .step("create", |env| async move {
            env.create(&App::new("app", AppSpec::default())).await;
        })
        .step("delete", |env| async move { env.delete::<App>("app").await })
}

#[kubewright::test]
async fn a_bucket_that_was_not_written_down_is_made_twice() {
    let report = scenario(outside::broken).try_run().await;
    let report = report.expect_err("the mistake is not found").text();
    assert!(report.contains("different external/system"), "{report}");
    assert!(report.contains("bucket-2: \"app\" and not nothing"), "{report}");
    let summary = scenario(outside::fixed).run().await;
    assert!(summary.runs() > 10, "{summary}");
}

/// The reconcile after a deletion writes nothing to the cluster: no crash at a write comes at the right moment.
#[kubewright::test]
async fn a_deletion_that_nobody_saw_leaves_a_bucket() {
    let report = scenario(missed_deletion::broken).try_run().await;
    let report = report.expect_err("the mistake is not found").text();
    assert!(report.contains("different external/system"), "{report}");
    assert!(report.contains("bucket-1: \"app\" and not nothing"), "{report}");
    assert!(report.contains("⚡ operator down in step delete"), "{report}");
    let plan = "operator down in step delete of create, delete";
    assert!(report.contains(&format!(".replay({plan:?})")), "{report}");
    let again = scenario(missed_deletion::broken).replay(plan).try_run().await;
    assert!(
        again
            .expect_err("the plan shows it")
            .text()
            .contains("different external/system")
    );
    let summary = scenario(missed_deletion::fixed).run().await;
    assert!(summary.runs() > 10, "{summary}");
    assert!(summary.runs_of(Class::Restart) >= 4, "{summary}");
}
