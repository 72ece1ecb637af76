//! A step of a run: what users do, and what the plan does to them and to the operator.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::FutureExt as _;

use super::hold::{LONG_OUTAGE, SHORT_OUTAGE};
use super::request::text_of;
use super::{REST, Run};
use crate::explore::plan::{Disturbance, ObjectName, Plan, Propagation};
use crate::explore::world;
use crate::traffic::{Lag, Lateness};

impl<'a> Run<'a> {
    /// The plan, if it is about the step that is taken.
    pub(super) fn plan_of_step(&self) -> Option<&'a Plan> {
        let step = &self.request.scenario.steps[self.step];
        self.request.plan.filter(|plan| plan.step == step.name)
    }

    pub(super) async fn take_step(&mut self) {
        let plan = self.plan_of_step();
        if let Some(Disturbance::Foreign(name)) = plan.map(|plan| &plan.disturbance) {
            self.make_foreign(name).await;
        }
        let strikes = plan.map(Plan::strikes).unwrap_or_default();
        let is_armed = !strikes.is_empty();
        if let Some(Disturbance::Forbid(right)) = plan.map(|plan| &plan.disturbance) {
            self.journal().forbid(right.clone());
        }
        let lag = plan.and_then(Plan::lag).cloned();
        self.journal().begin_step(self.step, strikes, lag.clone());
        if !is_armed && let Some(lag) = lag {
            self.env.traffic().lags().begin(lag);
        }
        if let Some(Disturbance::Read(strike, address)) = plan.map(|plan| &plan.disturbance) {
            self.journal().arm_read(address.clone(), *strike);
        }
        if matches!(plan, Some(plan) if plan.disturbance == Disturbance::Down) {
            return self.take_step_while_down().await;
        }
        if matches!(plan, Some(plan) if plan.disturbance == Disturbance::WebhooksDown) {
            if !self.take_step_without_webhooks().await {
                return;
            }
        } else if let Err(panic) = self.act().await {
            self.problem("the step fails", vec![panic]);
        }
        self.settle(None).await;
        // What is read later is read for the checks.
        let step = self.step;
        let reads = self.journal().reads().into_iter().filter(|((at, _), _)| *at == step);
        self.reads_in_steps.extend(reads);
        if is_armed {
            let is_met = !plan.is_some_and(Plan::needs_webhooks) || self.env.traffic().webhooks().is_hit();
            self.reached = !self.journal().is_armed() && is_met;
        }
        self.follow();
        match plan.map(|plan| &plan.disturbance) {
            Some(Disturbance::Restart | Disturbance::Clock(_)) => self.reached = true,
            Some(Disturbance::Read(..)) => self.reached = self.journal().disarm_read(),
            Some(Disturbance::Late(..)) => self.reached = self.env.traffic().lags().has_held(),
            Some(Disturbance::Recreate(name)) => self.recreate(name).await,
            Some(Disturbance::Delete(name)) => {
                if let Some((name, object)) = world::find(&self.cluster, name) {
                    self.reached = world::delete(&self.server, name, object).await;
                }
            }
            Some(Disturbance::Edit(name)) => {
                if let Some((name, object)) = world::find(&self.cluster, name)
                    && let Some(patch) = world::edit(object)
                {
                    self.reached = world::patch(&self.server, name, object, &patch).await;
                }
            }
            Some(Disturbance::Hold(name)) => self.hold(name).await,
            Some(Disturbance::FailNode(name)) => self.fail_node(name, SHORT_OUTAGE).await,
            Some(Disturbance::LoseNode(name)) => self.fail_node(name, LONG_OUTAGE).await,
            Some(Disturbance::Spec(edit)) => self.edit_spec(edit).await,
            Some(Disturbance::CreatedSo(_)) => {
                let done = self.is_created_so.as_ref();
                self.reached = done.is_some_and(|done| done.load(Ordering::Relaxed));
            }
            Some(Disturbance::Foreign(_)) => {
                self.pass(REST).await;
                self.settle(None).await;
                self.check_foreign();
                self.delete_owners(Propagation::Background).await;
            }
            Some(Disturbance::Forbid(_)) => {
                self.pass(REST).await;
                self.reached = self.journal().permit() > 0;
            }
            _ => {}
        }
    }

    /// Does what users do in the step. An error is the text of a panic.
    pub(super) async fn act(&mut self) -> Result<(), String> {
        let action = (self.request.scenario.steps[self.step].action)(Arc::clone(&self.env));
        // What was called before is not of this step.
        self.env.traffic().webhooks().take_calls();
        let (done, _) = self.guarded(AssertUnwindSafe(action).catch_unwind()).await;
        self.note_webhook_calls();
        done.map_err(|panic| text_of(&*panic))
    }

    /// Notes when webhooks were called.
    pub(super) fn note_webhook_calls(&mut self) {
        let calls = self.env.traffic().webhooks().take_calls();
        self.webhook_calls.extend(calls.iter().map(|call| (self.step, *call)));
    }

    pub(super) async fn delete_owners(&mut self, propagation: Propagation) {
        self.follow();
        let owners = self.ledger.owners(&self.cluster);
        let owners: Vec<_> = owners.map(|(name, object)| (name.clone(), object.clone())).collect();
        for (name, object) in owners {
            world::delete_with(&self.server, &name, &object, propagation.policy()).await;
        }
    }

    pub(super) fn owners_without_finalizers(&self) -> Vec<ObjectName> {
        let owners = self.ledger.owners(&self.cluster);
        let free = owners.filter(|(_, object)| object["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty));
        free.map(|(name, _)| name.clone()).collect()
    }

    /// Deletes what a step made and makes it again, while the operator does not look.
    pub(super) async fn recreate(&mut self, name: &ObjectName) {
        let Some(object) = self.cluster.objects().get(name).cloned() else {
            return;
        };
        let Some(created) = self.ledger.created(name).cloned() else {
            return;
        };
        self.env.traffic().lags().begin(Lag {
            resource: name.resource.clone(),
            lateness: Lateness::Missed,
        });
        self.reached = world::delete(&self.server, name, &object).await
            && world::make_again(&self.server, name, &object, &created["metadata"]).await;
    }

    pub(super) async fn make_foreign(&mut self, name: &ObjectName) {
        let reference = self.request.reference.and_then(|reference| reference.after(self.step));
        let Some((name, object)) = reference.and_then(|boundary| world::find(&boundary.cluster, name)) else {
            return;
        };
        self.reached = world::make_foreign(&self.server, name, object).await;
        self.follow();
        if self.reached {
            let made = self.cluster.objects().get(name).map(|object| world::essence(object));
            self.foreign = made.map(|made| (name.clone(), made));
        }
    }
}
