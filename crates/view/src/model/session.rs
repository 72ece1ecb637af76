//! What the command does with the operator: builds it, starts it, sees it end.

use jiff::Timestamp;
use serde::Serialize;

/// How the operator stands with the command that runs it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "camelCase")]
#[non_exhaustive]
pub enum OperatorState {
    /// Nothing was done yet, or the command does not run it.
    #[default]
    Waiting,
    /// It is built; one that was built before may run meanwhile.
    #[serde(rename_all = "camelCase")]
    Building {
        /// Whether one runs.
        is_running: bool,
    },
    /// It runs.
    #[serde(rename_all = "camelCase")]
    Running {
        /// How many seconds the compiler took, if it was built.
        compiler: Option<f64>,
        /// How many seconds everything else took.
        rest: Option<f64>,
    },
    /// It could not be built.
    #[serde(rename_all = "camelCase")]
    BuildFailed {
        /// What the compiler says.
        errors: String,
        /// Whether one that was built before goes on.
        is_running: bool,
    },
    /// It was built and cannot be started: what it needs cannot be read, or was refused by the cluster.
    #[serde(rename_all = "camelCase")]
    NotStarted {
        /// Why.
        why: String,
        /// Whether one that was started before goes on.
        is_running: bool,
    },
    /// It ended by itself.
    #[serde(rename_all = "camelCase")]
    Ended {
        /// How.
        how: String,
    },
}

#[derive(Debug, Default)]
pub(crate) struct SessionState {
    state: OperatorState,
    since: Option<Timestamp>,
    change: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct SessionNews<'a> {
    #[serde(skip)]
    pub(crate) change: u64,
    #[serde(flatten)]
    state: &'a OperatorState,
    since: Option<i64>,
}

impl SessionState {
    pub(crate) fn set(&mut self, state: OperatorState, now: Timestamp) {
        self.state = state;
        self.since = Some(now);
        self.change += 1;
    }

    /// How it stands, if that changed.
    pub(crate) fn since(&self, seen: u64) -> Option<SessionNews<'_>> {
        (self.change > seen).then_some(SessionNews {
            change: self.change,
            state: &self.state,
            since: self.since.map(Timestamp::as_millisecond),
        })
    }
}
