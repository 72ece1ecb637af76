//! Waiting until nothing moves, in virtual time; and what the plan does at its write meanwhile.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::{REST, Run};
use crate::Error;
use crate::explore::observation::Boundary;
use crate::explore::plan::{Disturbance, Propagation};
use crate::traffic::Signal;

/// How long a disturbed run may take to come to where the reference is.
const PATIENCE: Duration = Duration::from_mins(10);
/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_secs(30);
/// How long a reconcile that asks to be called again is waited for while nothing changes: what it waits for does not come.
const ASKING: Duration = REST;

impl Run<'_> {
    /// Waits until nothing moves and nothing is retried; if there is a boundary to come to, until it is reached. Returns what fails
    /// on and on.
    pub(super) async fn settle(&mut self, expected: Option<&Boundary>) -> Vec<String> {
        let began = Instant::now();
        loop {
            if self.is_restless {
                return Vec::new();
            }
            let env = Arc::clone(&self.env);
            let (settled, disturbed) = self.guarded(Box::pin(env.try_settle())).await;
            let settled = match settled {
                Ok(settled) => settled,
                Err(error) => {
                    self.unsettled(&error);
                    return Vec::new();
                }
            };
            if disturbed {
                continue;
            }
            let is_late = began.elapsed() > PATIENCE;
            let failing = || settled.delayed.iter().map(ToString::to_string).collect();
            self.follow();
            // Where others do not ask to be called again, it is waited for as for a failure.
            let asks_in_vain =
                self.unchanged_for() > ASKING && expected.is_none_or(|expected| !expected.failing.is_empty());
            let awaited = settled
                .delayed
                .iter()
                .filter(|delayed| delayed.error.is_some() || !asks_in_vain);
            match awaited.map(|delayed| delayed.due).min() {
                Some(_) if is_late => return failing(),
                Some(due) => self.pass(due + Duration::from_millis(1)).await,
                None => {
                    let Some(expected) = expected else { return failing() };
                    if is_late || self.state() == expected.state {
                        return failing();
                    }
                    self.pass(LOOK).await;
                }
            }
        }
    }

    /// How long nothing has changed in the cluster, as far as that was looked at.
    pub(super) fn unchanged_for(&mut self) -> Duration {
        let (revision, now) = (self.cluster.revision(), Instant::now());
        if self.newest.0 != revision {
            self.newest = (revision, now);
        }
        now - self.newest.1
    }

    /// Lets time pass, unless the operator writes on and on: then it would never pass.
    pub(super) async fn pass(&mut self, by: Duration) {
        if self.is_restless {
            return;
        }
        let env = Arc::clone(&self.env);
        let (passed, _) = self.guarded(Box::pin(env.try_advance(by))).await;
        if let Err(error) = passed {
            self.unsettled(&error);
        }
    }

    pub(super) fn unsettled(&mut self, error: &Error) {
        self.is_restless = true;
        let text = error.text();
        let name = if text.contains("writes on and on") {
            "writes on and on"
        } else {
            "does not settle"
        };
        self.problem(name, text.lines().map(str::to_owned).collect());
    }

    /// Waits for `work`, and does meanwhile what the plan wants at its write. Returns whether there was something.
    pub(super) async fn guarded<T>(&mut self, work: impl Future<Output = T>) -> (T, bool) {
        let mut work = std::pin::pin!(work);
        let mut disturbed = false;
        loop {
            tokio::select! {
                biased;
                signal = self.signals.recv() => match signal {
                    Some(signal) => {
                        disturbed = true;
                        self.answer(signal).await;
                    }
                    None => return (work.await, disturbed),
                },
                done = &mut work => return (done, disturbed),
            }
        }
    }

    pub(super) async fn answer(&mut self, signal: Signal) {
        match signal {
            Signal::Crashed => {
                self.count_panics();
                self.env.kill_manager();
                if self.env.promote_standby() {
                    return;
                }
                if let Err(error) = Box::pin(self.env.try_start_manager()).await {
                    self.problem("the operator does not start again", vec![error.text()]);
                }
            }
            Signal::Paused(go_on) => {
                let propagation = match self.request.plan.map(|plan| &plan.disturbance) {
                    Some(Disturbance::DeleteOwners(propagation, _)) => *propagation,
                    _ => Propagation::Background,
                };
                self.delete_owners(propagation).await;
                let _ = go_on.send(());
            }
        }
    }
}
