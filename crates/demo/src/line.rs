//! What the demo prints: one value for each line, before a format makes text of it.

use std::time::Duration;

use kubewright_runtime::controller::Outcome;

/// A line, with its time since the demo and since its chapter began.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) since_start: Duration,
    pub(super) since_chapter: Duration,
    pub(super) chapter: usize,
    pub(super) content: Content,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    /// A chapter begins.
    Chapter { title: &'static str, words: &'static str },
    /// A command that is run, as a user would type it.
    Command(String),
    /// A fact about the cluster, such as its URL.
    Fact { subject: &'static str, text: String },
    /// Something happened to an object.
    Object(ObjectChange),
    /// A condition of an object changed.
    Condition(ConditionChange),
    /// The operator has reconciled an object.
    Reconcile(FinishedReconcile),
    /// The API server refuses a request.
    Denied { reason: String, message: String },
    /// A warning.
    Warning(String),
    /// The figures of the whole demo.
    Summary(Summary),
    /// The link of the page that shows what happens inside.
    Inside { link: String },
    /// The cluster stays, for kubectl and a browser.
    Serving {
        /// The URL of the pages.
        pages: String,
        /// The kubeconfig, and the shell command that exports it.
        kubeconfig: String,
        export: String,
    },
    /// The end: the command that runs the demo and keeps the cluster.
    End { again: String },
}

/// A change of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObjectChange {
    pub(super) change: Change,
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
    /// Its controller, as `Deployment/web`.
    pub(super) owner: Option<String>,
    /// How many owners there are above it.
    pub(super) depth: usize,
    /// What changed: `replicas 3 → 5`.
    pub(super) detail: String,
    /// The numbers of Pods of the same Deployment, for a change of a Pod.
    pub(super) pods: Option<Pods>,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Created,
    Changed,
    /// It became ready.
    Ready,
    /// Its deletion began.
    Leaving,
    Deleted,
}

impl Change {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Change::Created => "created",
            Change::Changed => "changed",
            Change::Ready => "ready",
            Change::Leaving => "leaving",
            Change::Deleted => "deleted",
        }
    }
}

/// Numbers of Pods of a Deployment: with an older image, with its image, and those being deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pods {
    pub(super) old: usize,
    pub(super) new: usize,
    /// Of the new ones.
    pub(super) ready: usize,
    pub(super) leaving: usize,
}

/// A change of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConditionChange {
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) depth: usize,
    pub(super) condition: String,
    pub(super) status: String,
    pub(super) reason: String,
    pub(super) message: String,
}

/// A reconcile.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FinishedReconcile {
    /// Counts the reconciles of the operator from 1.
    pub(super) number: u64,
    /// The object that was reconciled.
    pub(super) object: String,
    /// Its causes: `Deployment updated`.
    pub(super) reasons: Vec<String>,
    pub(super) outcome: Outcome,
    pub(super) error: Option<String>,
    pub(super) took: Duration,
}

/// The figures of the whole demo.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    /// The operator's reconciles, and how long they took together.
    pub(super) reconciles: u64,
    pub(super) reconciling: Duration,
    pub(super) failed: u64,
    /// The reconciles of the cluster's own controllers.
    pub(super) others: u64,
    /// Successful writes: by everybody, and by the operator.
    pub(super) writes: u64,
    pub(super) own_writes: u64,
    pub(super) start_up: StartUp,
    /// The time of the whole demo, and how much of it were pauses.
    pub(super) took: Duration,
    pub(super) paused: Duration,
}

/// How long the parts of the start took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StartUp {
    pub(super) server: Duration,
    pub(super) nodes: Duration,
    pub(super) install: Duration,
    pub(super) operator: Duration,
}

impl StartUp {
    pub(super) fn total(&self) -> Duration {
        self.server + self.nodes + self.install + self.operator
    }
}
