//! What a trace consists of.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::change::FieldChange;
use super::scope::ReconcileId;
use super::wire;
use crate::cache::Event;
use crate::object::{Kind, ObjectKey};

/// Something that happened, with its place in the order of all that happened.
///
/// Its JSON can be read again. A [`Kind`] is written as its name and group (`Deployment.apps`), so that one which was read has these alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceRecord {
    /// Counts all records of a trace from 0, without gaps.
    pub sequence: u64,
    /// When, from the beginning of the trace on the clock of tokio.
    #[serde(with = "wire::seconds")]
    pub at: Duration,
    /// The reconcile in which it happened. `None`: outside of all, or in a task that a reconciler spawned.
    pub reconcile: Option<ReconcileId>,
    /// The newest revision of the server at that moment, if the trace knows the server: what is read from the cache may be older.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<u64>,
    /// What.
    #[serde(flatten)]
    pub event: TraceEvent,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum TraceEvent {
    /// The cache learned of a change. An operator that is traced by its flags leaves this out, see
    /// [`Trace::without_cache_events`](super::Trace::without_cache_events).
    Observed(ObjectChange),
    /// Something asked for a reconcile. Several that ask before it begins get one.
    Queued {
        /// Of which controller.
        #[serde(with = "wire::text")]
        controller: Arc<str>,
        /// Of which object.
        #[serde(with = "wire::text")]
        key: ObjectKey,
        /// Why.
        cause: Cause,
        /// How much later, if not at once.
        #[serde(with = "wire::maybe_seconds")]
        after: Option<Duration>,
    },
    /// A reconcile begins. It covers everything that asked for it so far; what asks from now on leads to another one.
    Began {
        /// By which controller.
        #[serde(with = "wire::text")]
        controller: Arc<str>,
        /// Of which object.
        #[serde(with = "wire::text")]
        key: ObjectKey,
        /// How long it was ready before a worker took it.
        #[serde(with = "wire::seconds")]
        waited: Duration,
    },
    /// Something was read from the cache.
    Read(CacheRead),
    /// A request was sent to the API server and answered, or not.
    Called(ApiCall),
    /// A log line was written.
    Logged(LogLine),
    /// A reconcile ended.
    Ended {
        /// By which controller.
        #[serde(with = "wire::text")]
        controller: Arc<str>,
        /// Of which object.
        #[serde(with = "wire::text")]
        key: ObjectKey,
        /// How.
        outcome: Outcome,
        /// Why it failed, if it did.
        error: Option<String>,
        /// Whether it failed for good: nothing but another event leads to the next reconcile.
        #[serde(default)]
        is_terminal: bool,
        /// How long it took.
        #[serde(with = "wire::seconds")]
        took: Duration,
    },
    /// The API server called a webhook of this operator.
    Webhook(WebhookCall),
}

/// What happened to an object, as the cache learned of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectChange {
    /// Its kind.
    #[serde(with = "wire::text")]
    pub kind: Kind,
    /// Which.
    #[serde(with = "wire::text")]
    pub key: ObjectKey,
    /// Its uid: an object that is deleted and made again has another.
    #[serde(with = "wire::text")]
    pub uid: Arc<str>,
    /// The resourceVersion that the event brought.
    pub revision: Option<u64>,
    /// What happened.
    pub change: Change,
}

/// What asked for a reconcile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cause {
    /// A watched object.
    Object(ObjectChange),
    /// A source of the controller's own: a timer, a channel.
    Source,
    /// The reconcile before, which ended so.
    Again(Outcome),
}

/// What happened to a watched object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// It existed before the cache did.
    Listed,
    /// Nothing: a resync reports it again.
    Resynced,
    /// It is new.
    Created,
    /// It is another.
    Updated,
    /// It is gone.
    Deleted,
}

impl Change {
    /// As a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Change::Listed => "listed",
            Change::Resynced => "resynced",
            Change::Created => "created",
            Change::Updated => "updated",
            Change::Deleted => "deleted",
        }
    }
}

impl From<&Event> for Change {
    fn from(event: &Event) -> Self {
        match event {
            Event::Added { initial: true, .. } => Change::Listed,
            Event::Added { .. } => Change::Created,
            Event::Updated { .. } if event.is_background() => Change::Resynced,
            Event::Updated { .. } => Change::Updated,
            Event::Deleted { .. } => Change::Deleted,
        }
    }
}

/// How a reconcile ended, under controller-runtime's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Done.
    Success,
    /// Again after a delay.
    RequeueAfter,
    /// Again soon.
    Requeue,
    /// It failed.
    Error,
}

impl Outcome {
    /// The name in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Success => "success",
            Outcome::RequeueAfter => "requeue_after",
            Outcome::Requeue => "requeue",
            Outcome::Error => "error",
        }
    }
}

/// A read from the cache. Reads through a [`Lister`](crate::cache::Lister) are not recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheRead {
    /// Of which kind.
    #[serde(with = "wire::text")]
    pub kind: Kind,
    /// What was asked for.
    #[serde(flatten)]
    pub target: ReadTarget,
    /// What the cache had.
    pub found: Found,
    /// Of a list: up to which revision the cache had seen everything that belongs to it. What happened later on the server is not in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<u64>,
}

/// What a read asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReadTarget {
    /// One object.
    #[serde(with = "wire::text")]
    Key(ObjectKey),
    /// The objects of a namespace, or all of them.
    List {
        /// The namespace; all if `None`.
        namespace: Option<String>,
        /// The label selector; empty for everything.
        selector: String,
    },
}

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Found {
    /// No object.
    Nothing,
    /// The object as it was at a revision. `None`: its resourceVersion is not a number.
    Object(Option<u64>),
    /// So many objects.
    Objects(usize),
}

/// A request to the API server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiCall {
    /// `get`, `list`, `create`, `update`, `patch`, `apply`, `delete`, `deletecollection`; of a request that was sent past the client the
    /// HTTP method.
    #[serde(with = "wire::text")]
    pub verb: Arc<str>,
    /// What it is about: `Deployment.apps shop/web`, with the subresource behind a slash; of a request that was sent past the client its
    /// path.
    pub target: String,
    /// Whether nothing was to be changed.
    pub dry_run: bool,
    /// What was sent, as JSON. The contents of Secrets and tokens are left out, and a long text is cut.
    pub sent: Option<String>,
    /// The code of the answer; `None` if there was none.
    pub code: Option<u16>,
    /// Why it failed, if it did.
    pub error: Option<String>,
    /// The revision at which the cache had the object when the request was sent.
    pub cached: Option<u64>,
    /// The revision of the object in the answer.
    pub revision: Option<u64>,
    /// The fields in which the answer differs from what the cache had.
    pub changes: Vec<FieldChange>,
    /// How long it took.
    #[serde(with = "wire::seconds")]
    pub took: Duration,
}

impl ApiCall {
    /// Whether it asked for a change.
    pub fn is_write(&self) -> bool {
        is_write(&self.verb, self.dry_run)
    }

    /// Whether it was a write after which the object was as before.
    pub fn changed_nothing(&self) -> bool {
        self.is_write() && self.error.is_none() && self.revision.is_some() && self.revision == self.cached
    }
}

pub(super) fn is_write(verb: &str, dry_run: bool) -> bool {
    !dry_run && !matches!(verb, "get" | "list" | "watch")
}

/// `patch Deployment.apps shop/web: 200, unchanged`
impl fmt::Display for ApiCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: ", self.verb, self.target)?;
        match (self.code, &self.error) {
            (Some(code), Some(error)) => write!(f, "{code}: {error}"),
            (None, Some(error)) => f.write_str(error),
            (Some(code), None) if self.changed_nothing() => write!(f, "{code}, unchanged"),
            (Some(code), None) => write!(f, "{code}"),
            (None, None) => f.write_str("no answer"),
        }
    }
}

/// How much a log line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Something is not as it should be.
    Warn,
    /// Something happened that people want to know of.
    Info,
    /// For who looks for a mistake.
    Debug,
}

/// `WARN`
impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LogLevel::Error => "ERROR",
            LogLevel::Warn => "WARN",
            LogLevel::Info => "INFO",
            LogLevel::Debug => "DEBUG",
        })
    }
}

/// A log line that was written in a reconcile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogLine {
    /// How much it matters.
    pub level: LogLevel,
    /// The module that wrote it.
    #[serde(with = "wire::text")]
    pub target: Arc<str>,
    /// The message, and its fields behind it.
    pub message: String,
}

/// A call of a webhook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookCall {
    /// The path that was called.
    #[serde(with = "wire::text")]
    pub path: Arc<str>,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: String,
    /// The kind of the object, with its group: `Deployment.apps`.
    pub kind: String,
    /// The subresource, as `status` or `scale`; empty for the object itself.
    pub subresource: String,
    /// Its namespace and name, as far as the request has them.
    pub object: String,
    /// Who sent the request.
    pub user: String,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// The object that it was asked about, as JSON; of a deletion the one that was there. The contents of Secrets and tokens are left out, and
    /// a long text is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<String>,
    /// Whether it may go on.
    pub allowed: bool,
    /// The code and the message of the answer.
    pub code: u16,
    /// See `code`. One that repeats what a Secret holds is left out.
    pub message: String,
    /// What the user is warned of. See `message`.
    pub warnings: Vec<String>,
    /// How many operations its patch has.
    pub patched: usize,
    /// The fields that its patch changes. Of Secrets and tokens it is said which, not from what to what.
    pub changes: Vec<FieldChange>,
    /// How long it took.
    #[serde(with = "wire::seconds")]
    pub took: Duration,
}
