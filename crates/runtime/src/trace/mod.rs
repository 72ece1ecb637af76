//! What happens in an operator, as one bounded stream of small typed records with causes.
//!
//! A [`Trace`] is off unless somebody reads it: [`Manager::trace`](crate::manager::Manager::trace) turns it on. Then it has, in the order
//! in which they happened, the events that reached the cache, the keys that were queued and why, the reconciles with what each of them
//! read, asked of the API server and logged, how they ended, and the calls of webhooks. What belongs to a reconcile carries its
//! [`ReconcileId`]; what a reconciler hands to a task of its own making does not, and is shown as unattributed.
//!
//! A trace keeps as many bytes as it was given and forgets the oldest records. What happens is kept as handles and copies of bytes; text
//! and the comparison of objects are made when somebody reads. The contents of Secrets and tokens never enter it, in either form:
//! of a refusal that is about one of them the code and the reason are kept, and of a reconcile that fails with such an error, too. What a
//! reconciler logs, and an error that it makes of nothing but text, are recorded as they are.

mod call;
mod change;
#[cfg(feature = "otlp")]
mod context;
mod follow;
#[cfg(feature = "log")]
mod logs;
mod raw;
mod record;
mod redact;
mod requests;
mod ring;
mod scope;
#[cfg(test)]
mod tests;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

pub use change::FieldChange;
pub use follow::Follower;
#[cfg(feature = "log")]
pub use logs::LogLayer;
#[cfg(feature = "log")]
pub(crate) use logs::is_recorded;
pub use record::{
    ApiCall, CacheRead, Cause, Change, Found, LogLevel, LogLine, ObjectChange, Outcome, ReadTarget, TraceEvent,
    TraceRecord, WebhookCall,
};
pub use scope::ReconcileId;

pub(crate) use call::{CallTarget, CalledObjects, RawCall, WriteAnswer};
#[cfg(feature = "otlp")]
pub(crate) use context::{Sampler, SpanContext, TraceContext};
#[cfg(test)]
pub(crate) use raw::RawLine;
pub(crate) use raw::{RawCause, RawChange, RawEvent, RawRead, RawTarget, RawWebhook};
pub(crate) use redact::{REDACTED, Sent, changes, is_confidential, redact_words, sent};
pub(crate) use requests::traced;
pub(crate) use scope::{in_reconcile, with_context};

use ring::{Entry, Place, Ring};

/// What takes more than this part of a trace as it is, is made into text at once: it would displace too much else.
const LARGEST_PART: usize = 64;

/// A bounded record of what happens in an operator. Cloning shares it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
/// use k8s_openapi::api::core::v1::Namespace;
/// use kubewright_runtime::controller::{Action, Controller, Request};
/// use kubewright_runtime::manager::Manager;
/// use kubewright_runtime::stop::Stopper;
/// use kubewright_runtime::trace::{Outcome, Trace, TraceEvent};
///
/// let trace = Trace::bounded(1 << 20);
/// let manager = Manager::new()
///     .controller(Controller::of::<Namespace>().reconcile_with(|_| |_: Request| async { Ok(Action::done()) }))
///     .trace(trace.clone());
/// let (stopper, stop) = Stopper::new();
/// let running = tokio::spawn(manager.run(server.client(), stop));
/// tokio::time::sleep(std::time::Duration::from_secs(1)).await;
///
/// let records = trace.records();
/// let ended = records.iter().filter(|record| matches!(&record.event, TraceEvent::Ended { outcome: Outcome::Success, .. }));
/// assert!(ended.count() >= 4); // the namespaces of every cluster
/// # stopper.stop();
/// # running.await??;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Trace(Option<Arc<Shared>>);

struct Shared {
    began: Instant,
    ring: Mutex<Ring>,
    /// At most so many bytes are kept.
    limit: usize,
    /// Whether it has what the cache learns of, too.
    has_cache_events: AtomicBool,
    /// How many reconciles began.
    reconciles: AtomicU64,
    /// The sequence number of the next record, as far as anybody waits for it.
    next: watch::Sender<u64>,
    /// Tells the newest revision of the server.
    server: Option<Box<dyn Fn() -> u64 + Send + Sync>>,
    /// What the ids of spans are made of, once they are exported.
    #[cfg(feature = "otlp")]
    context: std::sync::OnceLock<TraceContext>,
}

impl Trace {
    /// A trace that records nothing.
    pub const fn off() -> Self {
        Trace(None)
    }

    /// A trace of at most so many bytes; the oldest records go first.
    pub fn bounded(bytes: usize) -> Self {
        Self::new(bytes, None)
    }

    /// As [`bounded`](Self::bounded), of an operator whose server is in this process: `revision` tells the server's newest revision, and
    /// each record says which it was.
    pub fn bounded_beside(bytes: usize, revision: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self::new(bytes, Some(Box::new(revision)))
    }

    fn new(bytes: usize, server: Option<Box<dyn Fn() -> u64 + Send + Sync>>) -> Self {
        Trace(Some(Arc::new(Shared {
            began: Instant::now(),
            ring: Mutex::new(Ring::new(bytes)),
            limit: bytes,
            has_cache_events: AtomicBool::new(true),
            reconciles: AtomicU64::new(0),
            next: watch::Sender::new(0),
            server,
            #[cfg(feature = "otlp")]
            context: std::sync::OnceLock::new(),
        })))
    }

    /// Leaves out what the cache learns of ([`TraceEvent::Observed`]): what wakes a reconcile is known without it. To be said before a manager
    /// has the trace.
    pub fn without_cache_events(self) -> Self {
        if let Some(shared) = &self.0 {
            shared.has_cache_events.store(false, Ordering::Relaxed);
        }
        self
    }

    /// Whether it records what the cache learns of.
    pub(crate) fn has_cache_events(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|shared| shared.has_cache_events.load(Ordering::Relaxed))
    }

    /// Whether it records.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// How long ago it began. The times of its records count from there.
    pub fn elapsed(&self) -> Duration {
        self.0.as_ref().map_or(Duration::ZERO, |shared| shared.began.elapsed())
    }

    /// All records that it still has, the oldest first.
    pub fn records(&self) -> Vec<Arc<TraceRecord>> {
        self.since(0, usize::MAX).0
    }

    /// How many records there were so far, with those that are forgotten.
    pub fn count(&self) -> u64 {
        self.0.as_ref().map_or(0, |shared| shared.ring.lock().count())
    }

    /// How many records were forgotten to stay within the bytes.
    pub fn forgotten(&self) -> u64 {
        self.0.as_ref().map_or(0, |shared| shared.ring.lock().forgotten())
    }

    /// How many bytes its records take.
    pub fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |shared| shared.ring.lock().bytes())
    }

    /// Reads on as things happen, from now on. A slow reader misses records and is told how many; it never holds anything up.
    pub fn follow(&self) -> Follower {
        Follower::new(self.clone())
    }

    /// As [`follow`](Self::follow), from a record that was there before. What is forgotten meanwhile is missed.
    pub(crate) fn follow_from(&self, sequence: u64) -> Follower {
        Follower::starting_at(self.clone(), sequence)
    }

    /// At most so many records from a sequence number on, and how many of those that were asked for are forgotten.
    pub(crate) fn since(&self, sequence: u64, most: usize) -> (Vec<Arc<TraceRecord>>, u64) {
        let Some(shared) = &self.0 else {
            return (Vec::new(), 0);
        };
        let (entries, first, missed) = shared.ring.lock().since(sequence, most);
        // The operator goes on recording while this makes text of what it recorded.
        let records = entries.iter().zip(first..);
        let records = records.map(|(entry, sequence)| Arc::new(entry.record(sequence)));
        (records.collect(), missed)
    }

    /// Changes with every record; `None` if it is off.
    fn grown(&self) -> Option<watch::Receiver<u64>> {
        self.0.as_ref().map(|shared| shared.next.subscribe())
    }

    /// Records something that belongs to the reconcile in which this is called, if it is called in one. The event is made only if
    /// the trace is on.
    pub(crate) fn record(&self, event: impl FnOnce() -> RawEvent) {
        self.record_timed(|_| event());
    }

    /// As [`record`](Self::record), of an event that needs the time: asking for it costs as much as recording.
    pub(crate) fn record_timed(&self, event: impl FnOnce(Instant) -> RawEvent) {
        if let Some(shared) = &self.0 {
            let now = Instant::now();
            shared.push(now, event(now));
        }
    }

    /// As [`record`](Self::record), for who knows what time it is.
    pub(crate) fn record_at(&self, now: Instant, event: impl FnOnce() -> RawEvent) {
        if let Some(shared) = &self.0 {
            shared.push(now, event());
        }
    }

    /// Whether so many bytes are a small part of what may be kept, so that they may stay as they are until somebody reads them.
    pub(crate) fn has_room_for(&self, bytes: usize) -> bool {
        self.0
            .as_ref()
            .is_some_and(|shared| bytes <= shared.limit / LARGEST_PART)
    }

    /// What the ids of its spans are made of, and which of them are exported. From now on requests of reconciles carry them.
    #[cfg(feature = "otlp")]
    pub(crate) fn export_context(&self, sampler: Sampler) -> TraceContext {
        let new = || TraceContext::of(&crate::random::Random::from_entropy(), sampler);
        self.0
            .as_ref()
            .map_or_else(new, |shared| *shared.context.get_or_init(new))
    }

    /// The id of the next reconcile.
    pub(crate) fn next_reconcile(&self) -> Option<ReconcileId> {
        let shared = self.0.as_ref()?;
        Some(ReconcileId(shared.reconciles.fetch_add(1, Ordering::Relaxed) + 1))
    }
}

impl Shared {
    fn push(&self, now: Instant, event: RawEvent) {
        let place = Place {
            reconcile: scope::current(),
            server: self.server.as_ref().map(|revision| revision()),
        };
        let entry = Entry::new(now.duration_since(self.began), place, event);
        // What is forgotten is dropped after the lock is.
        let (next, _forgotten) = self.ring.lock().push(entry);
        // Who begins to wait now looks into the ring before, and finds it there.
        if self.next.receiver_count() == 0 {
            return;
        }
        // Two threads may come here out of order; the number only wakes readers.
        self.next.send_if_modified(|known| {
            let grows = next > *known;
            *known = next.max(*known);
            grows
        });
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace")
            .field("is_on", &self.is_on())
            .finish_non_exhaustive()
    }
}
