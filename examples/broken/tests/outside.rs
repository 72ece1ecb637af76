// SPDX-License-Identifier: Apache-2.0

//! A mistake that shows outside the cluster alone is found by a fake that takes part.

#[path = "scenarios/cloud.rs"]
mod cloud;

use std::sync::Arc;

use broken_operators::missed_deletion;
use broken_operators::outside::{self, Cloud};
use kubewright::prelude::*;
use kubewright::testing::explore::{Class, Exploration};
use kubewright::testing::{ControllerName, Controllers};

fn scenario(operator: fn(Arc<Cloud>) -> Operator) -> Exploration {
    cloud::app(operator)
        .environment(|builder| builder.controllers(Controllers::only([ControllerName::GarbageCollector])))
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
    let plan = "operator down in step delete";
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
