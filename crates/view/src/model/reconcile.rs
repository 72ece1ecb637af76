//! One reconcile: what woke it, what it did, how it ended, and what that means in words.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;
use kubewright_runtime::trace::{ApiCall, CacheRead, Cause, Found, LogLine, ObjectChange, Outcome, ReadTarget};
use serde::Serialize;
use serde_json::{Value, json};

use super::Standing;

/// It is found by the names of so many objects that woke it.
const MOST_ABOUT: usize = 10;

/// Which reconcile of which life of the operator. Lives are counted from 1, as the reconciles of each are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ReconcileId {
    pub(crate) life: u32,
    pub(crate) number: u64,
}

/// `7` in the first life of the operator, `2.7` in the second.
impl fmt::Display for ReconcileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.life {
            1 => write!(f, "{}", self.number),
            life => write!(f, "{life}.{}", self.number),
        }
    }
}

impl FromStr for ReconcileId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (life, number) = text.split_once('.').unwrap_or(("1", text));
        Ok(ReconcileId {
            life: life.parse()?,
            number: number.parse()?,
        })
    }
}

impl Serialize for ReconcileId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[derive(Debug)]
pub(crate) struct Reconcile {
    pub(crate) id: ReconcileId,
    pub(crate) controller: String,
    pub(crate) key: String,
    pub(crate) began: Timestamp,
    /// How long it was ready before a worker took it.
    pub(crate) waited: Duration,
    pub(crate) woken_by: Vec<WokenBy>,
    /// How many more asked for it than are listed.
    pub(crate) woken_by_more: usize,
    pub(crate) steps: Vec<Step>,
    pub(crate) end: Option<End>,
    /// How much later it is tried again.
    pub(crate) again: Option<Duration>,
    /// The attempt before, if it failed and this is the next.
    pub(super) retry_of: Option<ReconcileId>,
    /// The reconciles that its writes woke.
    pub(crate) caused: Vec<ReconcileId>,
    /// Its place among all.
    pub(super) order: u64,
    /// The number of its last change.
    pub(super) change: u64,
    /// What it takes, near enough.
    pub(super) bytes: usize,
}

/// How it ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) outcome: Outcome,
    pub(crate) error: Option<String>,
    /// Whether it failed for good.
    pub(crate) is_terminal: bool,
    pub(crate) took: Duration,
}

#[derive(Clone, Debug)]
pub(crate) struct WokenBy {
    pub(crate) cause: Cause,
    /// The reconcile that wrote the revision, if it is known.
    pub(crate) writer: Option<ReconcileId>,
    /// Whether that was one of the same object by the same controller.
    pub(crate) is_own: bool,
}

/// Something that a reconcile did.
#[derive(Debug)]
pub(crate) struct Step {
    /// How long after it began.
    pub(crate) after: Duration,
    pub(crate) did: Did,
}

#[derive(Debug)]
pub(crate) enum Did {
    Read(CacheRead),
    Call(ApiCall),
    Log(LogLine),
}

impl Reconcile {
    /// One that begins.
    pub(super) fn begun(id: ReconcileId, place: (String, String), began: Timestamp, woken_by: Vec<WokenBy>) -> Self {
        Reconcile {
            id,
            controller: place.0,
            key: place.1,
            began,
            waited: Duration::ZERO,
            woken_by,
            woken_by_more: 0,
            steps: Vec::new(),
            end: None,
            again: None,
            retry_of: None,
            caused: Vec::new(),
            order: 0,
            change: 0,
            bytes: 0,
        }
    }

    /// How it ended, in a word.
    pub(crate) fn outcome(&self) -> (&'static str, Standing) {
        match self.end.as_ref().map(|end| end.outcome) {
            None => ("running", Standing::Busy),
            Some(Outcome::Success) => ("done", Standing::Good),
            Some(Outcome::Error) => ("failed", Standing::Bad),
            Some(Outcome::RequeueAfter) => ("again later", Standing::Busy),
            Some(Outcome::Requeue) => ("again", Standing::Busy),
        }
    }

    /// What woke it, in a line.
    pub(crate) fn why(&self) -> String {
        let Some(first) = self.woken_by.first() else {
            return "woken before the trace began".to_owned();
        };
        match self.woken_by.len() - 1 + self.woken_by_more {
            0 => first.to_string(),
            more => format!("{first} and {more} more"),
        }
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = &ApiCall> {
        self.steps.iter().filter_map(|step| match &step.did {
            Did::Call(call) => Some(call),
            _ => None,
        })
    }

    /// The objects that woke it, by kind and key, so that it is found by their names.
    fn about(&self) -> BTreeSet<String> {
        let objects = self.woken_by.iter().filter_map(|woken| match &woken.cause {
            Cause::Object(change) => Some(format!("{} {}", change.kind, change.key)),
            _ => None,
        });
        objects.take(MOST_ABOUT).collect()
    }

    /// What is suspicious about it.
    pub(crate) fn smells(&self) -> Vec<&'static str> {
        let mut found = Vec::new();
        if self.woken_by.iter().any(|woken| woken.is_own) {
            found.push("woken by its own write");
        }
        if self.calls().any(ApiCall::changed_nothing) {
            found.push("wrote without changing anything");
        }
        found
    }

    /// As a list shows it.
    pub(crate) fn summary(&self) -> Value {
        let (outcome, standing) = self.outcome();
        json!({
            "id": self.id, "order": self.order, "controller": self.controller, "key": self.key,
            "at": self.began.as_millisecond(), "waited": self.waited.as_secs_f64(),
            "took": self.end.as_ref().map(|end| end.took.as_secs_f64()),
            "outcome": outcome, "standing": standing, "why": self.why(), "smells": self.smells(), "about": self.about(),
            "writes": self.calls().filter(|call| call.is_write()).count(),
            "changed": self.calls().filter(|call| call.is_write() && call.error.is_none() && !call.changed_nothing()).count(),
        })
    }

    /// All of it.
    pub(crate) fn detail(&self) -> Value {
        let mut detail = self.summary();
        detail["wokenBy"] = self
            .woken_by
            .iter()
            .map(|woken| {
                let (uid, revision) = match &woken.cause {
                    Cause::Object(change) => (Some(&*change.uid), change.revision),
                    _ => (None, None),
                };
                json!({ "text": woken.to_string(), "writer": woken.writer, "uid": uid, "revision": revision })
            })
            .collect();
        detail["wokenByMore"] = self.woken_by_more.into();
        detail["steps"] = self.steps.iter().map(Step::detail).collect();
        detail["error"] = self.end.as_ref().and_then(|end| end.error.clone()).into();
        detail["isTerminal"] = self.end.as_ref().is_some_and(|end| end.is_terminal).into();
        detail["again"] = self.again.map(|after| after.as_secs_f64()).into();
        detail["caused"] = json!(self.caused);
        detail
    }
}

impl Step {
    fn detail(&self) -> Value {
        let mut detail = match &self.did {
            Did::Read(read) => json!({ "did": "read", "text": read_in_words(read) }),
            Did::Call(call) => {
                let mut detail = json!(call);
                detail["did"] = "call".into();
                detail["isWrite"] = call.is_write().into();
                detail["changedNothing"] = call.changed_nothing().into();
                detail
            }
            Did::Log(line) => json!({ "did": "log", "level": line.level, "text": line.message }),
        };
        detail["after"] = self.after.as_secs_f64().into();
        detail
    }
}

/// `Deployment.apps shop/web updated @12, written by #7`
impl fmt::Display for WokenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Source => f.write_str("a trigger of Controller::source"),
            Cause::Again(outcome) => write!(f, "again after {}", outcome.as_str().replace('_', " ")),
            Cause::Object(ObjectChange {
                kind,
                key,
                revision,
                change,
                ..
            }) => {
                write!(f, "{kind} {key} {}", change.as_str())?;
                if let Some(revision) = revision {
                    write!(f, " @{revision}")?;
                }
                match self.writer {
                    Some(writer) => write!(f, ", written by #{writer}"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// `ConfigMap shop/web: @12`
pub(crate) fn read_in_words(read: &CacheRead) -> String {
    let kind = &read.kind;
    let found = match read.found {
        Found::Nothing => "nothing".to_owned(),
        Found::Object(Some(revision)) => format!("@{revision}"),
        Found::Object(None) => "found".to_owned(),
        Found::Objects(1) => "1 object".to_owned(),
        Found::Objects(count) => format!("{count} objects"),
    };
    match &read.target {
        ReadTarget::Key(key) => format!("{kind} {key}: {found}"),
        ReadTarget::List { namespace, selector } => {
            let place = namespace.as_deref().unwrap_or("in all namespaces");
            let wanted = if selector.is_empty() {
                String::new()
            } else {
                format!(" where {selector}")
            };
            let seen = read
                .cache
                .map_or_else(String::new, |revision| format!(" as of @{revision}"));
            format!("{kind} {place}{wanted}: {found}{seen}")
        }
    }
}
