//! What the demo tells: one value for each line, before anybody decides how it looks.

use std::time::Duration;

use kubewright_runtime::controller::Outcome;

/// Something that is told, and when it happened: since the demo began, and since its chapter did.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) since_start: Duration,
    pub(super) since_chapter: Duration,
    pub(super) chapter: usize,
    pub(super) what: What,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// A chapter of the story begins.
    Chapter { title: &'static str, words: &'static str },
    /// What somebody does, as they would write it.
    Command(String),
    /// Something about the cluster, such as where it is.
    Fact { subject: &'static str, text: String },
    /// Something happened to an object.
    Object(Thing),
    /// A condition of an object became another.
    Condition(Turned),
    /// The operator has reconciled an object.
    Reconcile(Work),
    /// The API server refuses a request.
    Denied { reason: String, message: String },
    /// Something to heed.
    Warning(String),
    /// How it went.
    Summary(Summary),
    /// It stays up for whoever wants to play with it.
    Serving {
        /// Where the pages are.
        pages: String,
        /// The file for kubectl, and the line by which a shell takes it.
        kubeconfig: String,
        export: String,
    },
    /// The end: how to have it again and keep it.
    End { again: String },
}

/// Something that happened to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thing {
    pub(super) change: Change,
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
    /// What controls it, as `Deployment/web`.
    pub(super) owner: Option<String>,
    /// How many owners there are above it.
    pub(super) depth: usize,
    /// What is to be said of it: `replicas 3 → 5`.
    pub(super) detail: String,
    /// The Pods of the same family at this moment, where one of them changed.
    pub(super) pods: Option<Pods>,
}

/// What happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Created,
    Changed,
    /// It does now what it is for.
    Ready,
    /// It was asked to go.
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

/// How many Pods there are: of the newest image, of others, and such that were asked to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pods {
    pub(super) old: usize,
    pub(super) new: usize,
    /// Of the new ones.
    pub(super) ready: usize,
    pub(super) leaving: usize,
}

/// A condition that became another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Turned {
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
pub(super) struct Work {
    /// The how manieth of the operator's.
    pub(super) number: u64,
    /// What was reconciled.
    pub(super) object: String,
    /// What asked for it: `Deployment updated`.
    pub(super) reasons: Vec<String>,
    pub(super) outcome: Outcome,
    pub(super) error: Option<String>,
    pub(super) took: Duration,
}

/// How it went, in numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    /// The operator's reconciles, and how long they took together.
    pub(super) reconciles: u64,
    pub(super) reconciling: Duration,
    pub(super) failed: u64,
    /// The reconciles of the cluster's own controllers.
    pub(super) others: u64,
    /// What was written at the API server, by everybody and by the operator.
    pub(super) writes: u64,
    pub(super) own_writes: u64,
    pub(super) start_up: StartUp,
    /// From beginning to end, and how much of it were pauses for whoever looks at it.
    pub(super) took: Duration,
    pub(super) paused: Duration,
}

/// How long it took until everything was there.
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
