//! What was tried, and what came of it: plan by plan.

use super::class::Class;
use super::compare::Difference;
use super::observation::Observation;
use super::plan::{Disturbance, Plan, Propagation, Skew};
use crate::traffic::{ReadStrike, Strike, WebhookTrouble};

/// What came of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The run ended where the reference is.
    Passed,
    /// It did not: the names of the differences.
    Different(Vec<String>),
    /// The run never came to the place of its plan.
    Unreached,
    /// There was no time for it.
    NoTime,
    /// Its class was not asked for.
    NotAskedFor,
}

impl Outcome {
    /// What came of a run.
    pub(super) fn of(run: &Observation, differences: &[Difference]) -> Self {
        if !differences.is_empty() {
            Outcome::Different(differences.iter().map(|difference| difference.name.clone()).collect())
        } else if run.reached {
            Outcome::Passed
        } else {
            Outcome::Unreached
        }
    }

    /// One word for it.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Different(_) => "different",
            Outcome::Unreached => "unreached",
            Outcome::NoTime => "no time",
            Outcome::NotAskedFor => "not asked for",
        }
    }
}

/// A plan and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tried {
    pub(super) plan: Plan,
    pub(super) outcome: Outcome,
}

impl Tried {
    pub(super) fn class(&self) -> Class {
        self.plan.class()
    }

    /// What it happened to: a write (or two), an object, a kind, a right, or the step as a whole.
    pub(super) fn place(&self) -> String {
        let first = match &self.plan.disturbance {
            Disturbance::Write(_, address)
            | Disturbance::DeleteOwners(_, address)
            | Disturbance::Late(_, Some(address)) => address.to_string(),
            Disturbance::Delete(object)
            | Disturbance::Edit(object)
            | Disturbance::Foreign(object)
            | Disturbance::Hold(object)
            | Disturbance::FailNode(object)
            | Disturbance::LoseNode(object)
            | Disturbance::Recreate(object) => object.to_string(),
            Disturbance::Spec(edit) | Disturbance::CreatedSo(edit) => edit.object.to_string(),
            Disturbance::Read(_, address) => format!("read {address}"),
            Disturbance::Forbid(right) => right.to_string(),
            Disturbance::Restart
            | Disturbance::Down
            | Disturbance::WebhooksDown
            | Disturbance::Clock(_)
            | Disturbance::Late(_, None) => "the whole step".to_owned(),
        };
        match &self.plan.second {
            Some((_, address)) => format!("{first} and {address}"),
            None => first,
        }
    }

    /// What happened there.
    pub(super) fn fault(&self) -> String {
        let first = match &self.plan.disturbance {
            Disturbance::Restart => "restart".to_owned(),
            Disturbance::Down => "operator down".to_owned(),
            Disturbance::WebhooksDown => "webhooks down for users".to_owned(),
            Disturbance::Write(strike, _) => strike_in_words(*strike),
            Disturbance::Read(strike, _) => match strike {
                ReadStrike::Fail => "500".to_owned(),
                ReadStrike::TimeOut => "no answer".to_owned(),
                ReadStrike::Delay(_) => "late".to_owned(),
            },
            Disturbance::Late(lag, _) => lag.to_string(),
            Disturbance::Recreate(_) => "made again".to_owned(),
            Disturbance::DeleteOwners(propagation, _) => match propagation {
                Propagation::Background => "owner deleted".to_owned(),
                Propagation::Foreground => "owner deleted in the foreground".to_owned(),
                Propagation::Orphan => "owner deleted without dependents".to_owned(),
            },
            Disturbance::Forbid(_) => "right missing".to_owned(),
            Disturbance::Clock(Skew::Ahead) => "clock ahead".to_owned(),
            Disturbance::Clock(Skew::Behind) => "clock behind".to_owned(),
            Disturbance::Clock(Skew::JumpsAhead) => "clock jumps ahead".to_owned(),
            Disturbance::Clock(Skew::JumpsBack) => "clock jumps back".to_owned(),
            Disturbance::Delete(_) => "deleted by others".to_owned(),
            Disturbance::Edit(_) => "edited by others".to_owned(),
            Disturbance::Foreign(_) => "name taken".to_owned(),
            Disturbance::Hold(_) => "kept while deleted".to_owned(),
            Disturbance::FailNode(_) => "node away".to_owned(),
            Disturbance::LoseNode(_) => "node away until its Pods are evicted".to_owned(),
            Disturbance::Spec(edit) | Disturbance::CreatedSo(edit) => {
                let changes: Vec<String> = edit.changes.iter().map(ToString::to_string).collect();
                changes.join("; ")
            }
        };
        match &self.plan.second {
            Some((strike, _)) => format!("{first}, then {}", strike_in_words(*strike)),
            None => first,
        }
    }
}

fn strike_in_words(strike: Strike) -> String {
    match strike {
        Strike::Answer(code) => return code.to_string(),
        Strike::CrashBefore => "crash before",
        Strike::CrashAfter => "crash after",
        Strike::LoseAnswer => "answer lost",
        Strike::Unreachable => "no connection",
        Strike::TimeOut => "no answer",
        Strike::TimeOutAfter => "no answer after it is done",
        Strike::LateAnswer(_) => "answer late",
        Strike::Delay(_) => "late",
        Strike::DropWatches => "watches end",
        Strike::ExpireWatches => "410 Gone",
        Strike::Pause => "pause",
        Strike::Lag => "events late",
        Strike::TakeOver => "another replica takes over",
        Strike::TakeOverBlind => "another replica takes over and does not know",
        Strike::Webhooks(WebhookTrouble::Down) => "webhooks down",
        Strike::Webhooks(WebhookTrouble::Slow) => "webhooks slow",
    }
    .to_owned()
}
