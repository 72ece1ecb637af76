//! What was tried, and what came of it: plan by plan.

use super::class::Class;
use super::compare::Difference;
use super::observation::Observation;
use super::plan::{Disturbance, Plan};
use crate::traffic::Strike;

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

    /// What it happened to: a write, an object, or the step as a whole.
    pub(super) fn place(&self) -> String {
        match &self.plan.disturbance {
            Disturbance::Write(_, address) | Disturbance::DeleteOwners(address) => address.to_string(),
            Disturbance::Delete(object) | Disturbance::Edit(object) | Disturbance::Foreign(object) => {
                object.to_string()
            }
            Disturbance::Spec(edit) | Disturbance::CreatedSo(edit) => edit.object.to_string(),
            Disturbance::Restart => "the whole step".to_owned(),
        }
    }

    /// What happened there.
    pub(super) fn fault(&self) -> String {
        match &self.plan.disturbance {
            Disturbance::Restart => "restart".to_owned(),
            Disturbance::Write(strike, _) => match strike {
                Strike::CrashBefore => "crash before".to_owned(),
                Strike::CrashAfter => "crash after".to_owned(),
                Strike::Answer(code) => code.to_string(),
                Strike::LoseAnswer => "answer lost".to_owned(),
                Strike::Unreachable => "no connection".to_owned(),
                Strike::Delay(_) => "late".to_owned(),
                Strike::DropWatches => "watches end".to_owned(),
                Strike::ExpireWatches => "410 Gone".to_owned(),
                Strike::Pause => "pause".to_owned(),
            },
            Disturbance::DeleteOwners(_) => "owner deleted".to_owned(),
            Disturbance::Delete(_) => "deleted by others".to_owned(),
            Disturbance::Edit(_) => "edited by others".to_owned(),
            Disturbance::Foreign(_) => "name taken".to_owned(),
            Disturbance::Spec(edit) | Disturbance::CreatedSo(edit) => {
                let changes: Vec<String> = edit.changes.iter().map(ToString::to_string).collect();
                changes.join("; ")
            }
        }
    }
}
