//! The end of a step: what there is when nothing moves any more, and whether it may be so.

use super::{REST, Run};
use crate::explore::observation::Boundary;
use crate::explore::plan::Plan;
use crate::explore::rest;

impl Run<'_> {
    /// Lets the cluster come to rest after a step, and looks at it.
    pub(super) async fn boundary(&mut self) -> Boundary {
        self.settle(None).await;
        let before = self.journal().len();
        // Who waited in vain for what an operator asks for has seen a minute pass already.
        if self.unchanged_for() <= REST {
            self.pass(REST).await;
        }
        let reference = self.request.reference.and_then(|reference| reference.after(self.step));
        let ends_elsewhere = self.plan_of_step().is_some_and(Plan::changes_the_end) || self.refused_edit.is_some();
        let expected = reference.filter(|_| !ends_elsewhere);
        let failing = self.settle(expected).await;
        self.follow();
        self.check_foreign();
        let may_leave = self.request.plan.is_some_and(Plan::leaves_orphans);
        let left: Vec<String> = self
            .ledger
            .left_behind(&self.cluster)
            .iter()
            .filter(|_| !may_leave)
            .map(ToString::to_string)
            .collect();
        for name in left {
            self.problem(
                format!("left behind {name}"),
                vec!["all that the steps made is gone".to_owned()],
            );
        }
        let mut boundary = Boundary {
            state: self.state(),
            made: self.ledger.made(&self.cluster).cloned().collect(),
            given: self
                .ledger
                .owners(&self.cluster)
                .map(|(name, _)| name.clone())
                .collect(),
            owners: self.owners_without_finalizers(),
            cluster: self.cluster.clone(),
            failing,
            at_rest: self
                .journal()
                .read(|writes| rest::count(writes.get(before..).unwrap_or_default())),
        };
        // Where a run is not as the reference, that is what is told of it.
        let is_as_expected = expected.is_none_or(|expected| expected.state == boundary.state);
        if self.problems.is_empty() && boundary.failing.is_empty() && is_as_expected {
            self.check_generations();
            self.check_rest(&mut boundary, reference).await;
            self.check_again().await;
        }
        boundary
    }
}
