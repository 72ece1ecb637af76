//! The handle: reads take a short shared lock, writes a short exclusive one, and nothing is awaited under either.
//! What a write allocates is made before the lock, what it frees is freed and whom it wakes is woken after it.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::sync::Notify;

use crate::log::Log;
use crate::state::{Commit, DeferredWork, State};
use crate::{
    CommitError, Compacted, Event, Record, RecordDraft, ResourceId, Revision, Snapshot, SnapshotError, Watcher,
};

/// How many events one hold of the lock forgets when the history is compacted on demand.
const COMPACTION_STEP: usize = 512;

/// How much past the store keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// About how many bytes the history of all resources may take beyond their present state (64 MiB by default);
    /// the oldest events are forgotten first, the newest one never is. Bytes beyond the first 64 KiB of a state count sixteenfold:
    /// of definitions of a megabyte, four are kept by default.
    pub history_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            history_bytes: 64 << 20,
        }
    }
}

/// A record that was deleted.
#[derive(Clone, Debug)]
pub struct Deleted {
    /// The last state, under the revision that wrote it.
    pub record: Arc<Record>,
    /// The revision of the deletion.
    pub revision: Revision,
}

/// What time it is, in a unit of the caller's. Every event keeps what it says, but never less than the event before.
pub type TimeSource = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Writes to several resources, in the order of their revisions.
#[derive(Clone, Debug)]
pub struct History {
    /// Each event with its resource. A resource that was dropped is among them with what was written to it before.
    pub events: Vec<(ResourceId, Event)>,
    /// The revision up to which no event is missing.
    pub revision: Revision,
}

/// A handle to a store: clones share it, [`fork`](Store::fork) makes another.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    state: RwLock<State>,
    limits: Limits,
    now: TimeSource,
    /// Notified behind every write.
    written: Notify,
}

impl Store {
    /// An empty store, at revision 1, in which it is always the time 0.
    pub fn new(limits: Limits) -> Store {
        Store::of(State::new(), limits, Arc::new(|| 0))
    }

    /// An empty store whose history begins at a revision: earlier ones answer [`Compacted`].
    pub fn starting_at(limits: Limits, revision: Revision) -> Store {
        Store::of(State::starting_at(revision), limits, Arc::new(|| 0))
    }

    fn of(state: State, limits: Limits, now: TimeSource) -> Store {
        Store {
            shared: Arc::new(Shared {
                state: RwLock::new(state),
                limits,
                now,
                written: Notify::new(),
            }),
        }
    }

    pub(crate) fn state(&self) -> &RwLock<State> {
        &self.shared.state
    }

    /// How much past the store keeps.
    pub fn limits(&self) -> Limits {
        self.shared.limits
    }

    /// The revision of the newest write.
    pub fn revision(&self) -> Revision {
        self.state().read().revision()
    }

    /// The record under a key (`namespace/name`, or `name` in a resource without namespaces).
    pub fn get(&self, resource: ResourceId, key: &str) -> Option<Arc<Record>> {
        self.state().read().get(resource, key).cloned()
    }

    /// Writes a new record.
    pub fn create(&self, resource: ResourceId, key: &str, draft: RecordDraft) -> Result<Arc<Record>, CommitError> {
        let record = Arc::new(Record::new(key, draft));
        let commit = self.commit();
        let committed = self.state().write().create(resource, record, commit);
        let (record, aftermath) = committed?;
        self.settle(aftermath);
        Ok(record)
    }

    /// Replaces the record that revision `expect` wrote.
    pub fn update(
        &self,
        resource: ResourceId,
        key: &str,
        expect: Revision,
        draft: RecordDraft,
    ) -> Result<Arc<Record>, CommitError> {
        let record = Arc::new(Record::new(key, draft));
        let commit = self.commit();
        let committed = self.state().write().update(resource, record, expect, commit);
        let (record, aftermath) = committed?;
        self.settle(aftermath);
        Ok(record)
    }

    /// Deletes the record that revision `expect` wrote.
    pub fn delete(&self, resource: ResourceId, key: &str, expect: Revision) -> Result<Deleted, CommitError> {
        let commit = self.commit();
        let committed = self.state().write().delete(resource, key, expect, commit);
        let (record, revision, aftermath) = committed?;
        self.settle(aftermath);
        Ok(Deleted { record, revision })
    }

    fn commit(&self) -> Commit {
        Commit {
            limit: self.shared.limits.history_bytes,
            time: (self.shared.now)(),
        }
    }

    /// Wakes whom a write concerns, and frees what it made superfluous.
    fn settle(&self, aftermath: DeferredWork) {
        aftermath.settle();
        self.shared.written.notify_waiters();
    }

    /// Waits until something was written after a revision, to any resource. May be cancelled at any time.
    pub async fn written_after(&self, revision: Revision) {
        loop {
            let mut written = pin!(self.shared.written.notified());
            // Registered before looking, so that a write in between is not missed.
            written.as_mut().enable();
            if self.revision() > revision {
                return;
            }
            written.await;
        }
    }

    /// The resource as it is now, under the store's present revision.
    pub fn snapshot(&self, resource: ResourceId) -> Snapshot {
        self.state().read().snapshot(resource)
    }

    /// The resource exactly as it was at a retained revision.
    pub fn snapshot_at(&self, resource: ResourceId, revision: Revision) -> Result<Snapshot, SnapshotError> {
        self.state().read().snapshot_at(resource, revision)
    }

    /// Follows the events after a revision, in one namespace or in all. A revision in the future is allowed: events
    /// up to it are not delivered.
    pub fn watch(&self, resource: ResourceId, namespace: Option<&str>, after: Revision) -> Result<Watcher, Compacted> {
        let topic = self.state().write().subscribe(resource, namespace, after)?;
        Ok(Watcher::new(self.clone(), resource, namespace, topic, after))
    }

    /// The present state and the watcher that continues it: no write, however heavy, comes between the two.
    pub fn snapshot_and_watch(&self, resource: ResourceId, namespace: Option<&str>) -> (Snapshot, Watcher) {
        let (snapshot, topic) = {
            let mut state = self.state().write();
            let snapshot = state.snapshot(resource);
            let topic = state.subscribe_now(resource, namespace);
            (snapshot, topic)
        };
        let after = snapshot.revision();
        (snapshot, Watcher::new(self.clone(), resource, namespace, topic, after))
    }

    /// Forgets what happened before a revision (at most the present one): older ones then answer [`Compacted`].
    pub fn compact(&self, revision: Revision) {
        let target = revision.min(self.revision());
        loop {
            // Freed outside the lock, and in steps, so that writers get their turn.
            let forgotten = self.state().write().compact(target, COMPACTION_STEP);
            if forgotten.len() < COMPACTION_STEP {
                break;
            }
        }
    }

    /// The oldest revision that can still be read, and from which a watch can still start.
    pub fn compacted(&self) -> Revision {
        self.state().read().compacted()
    }

    /// About how many bytes the history takes at present, by the measure of [`Limits::history_bytes`].
    pub fn history_bytes(&self) -> usize {
        self.state().read().history_bytes()
    }

    /// How many topics have watchers: one per watched namespace of a resource, one per resource watched as a whole.
    pub fn watched_topics(&self) -> usize {
        self.state().read().topics()
    }

    /// What was written after a revision to the resources that are wanted.
    pub fn history(&self, after: Revision, wanted: impl Fn(ResourceId) -> bool) -> Result<History, Compacted> {
        let (logs, revision) = {
            let state = self.state().read();
            if after < state.compacted() {
                return Err(Compacted {
                    oldest: state.compacted(),
                });
            }
            let is_newer = |log: &Log| log.after(after).next().is_some();
            let logs = state.logs().filter(|(id, log)| wanted(*id) && is_newer(log));
            let logs: Vec<_> = logs.map(|(id, log)| (id, log.clone())).collect();
            (logs, state.revision())
        };
        let events = logs
            .iter()
            .flat_map(|(id, log)| log.after(after).map(|event| (*id, event.clone())));
        let mut events: Vec<_> = events.collect();
        events.sort_unstable_by_key(|(_, event)| event.revision);
        Ok(History { events, revision })
    }

    /// The time of the newest write up to a revision.
    pub fn time_at(&self, revision: Revision) -> Result<i64, SnapshotError> {
        let state = self.state().read();
        state.check_retained(revision)?;
        Ok(state.time_at(revision))
    }

    /// An independent store with the same present and past. Costs a few pointers per resource, whatever they hold.
    pub fn fork(&self) -> Store {
        let shared = &self.shared;
        Store::of(self.state().read().fork(), shared.limits, Arc::clone(&shared.now))
    }

    /// As [`fork`](Store::fork), with other limits, which count from the next write on, and another time.
    pub fn fork_with(&self, limits: Limits, now: TimeSource) -> Store {
        let mut state = self.state().read().fork();
        state.restart_time(now());
        Store::of(state, limits, now)
    }

    /// An independent store as this one was at a retained revision, with the past that it had then: the next write there has the
    /// revision after it. Resources that were dropped since are there. Costs what was written since, whatever the resources hold.
    pub fn fork_at(&self, revision: Revision) -> Result<Store, SnapshotError> {
        let mut state = {
            let state = self.state().read();
            state.check_retained(revision)?;
            state.fork()
        };
        state.rewind(revision);
        let shared = &self.shared;
        Ok(Store::of(state, shared.limits, Arc::clone(&shared.now)))
    }

    /// Ends all watches of a resource, after they have read what was written until now; its records stay.
    pub fn end_watches(&self, resource: ResourceId) {
        let ended = self.state().write().end_watches(resource);
        ended.settle();
    }

    /// Forgets a resource with its records, without an event for any of them, and ends its watches after they have read what was
    /// written until now. Its past can no longer be read; [`fork_at`](Store::fork_at) knows it as long as the history does.
    pub fn drop_resource(&self, resource: ResourceId) {
        let limit = self.shared.limits.history_bytes;
        let ended = self.state().write().drop_resource(resource, limit);
        ended.settle();
    }
}

impl Default for Store {
    fn default() -> Store {
        Store::new(Limits::default())
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (revision, compacted) = {
            let state = self.state().read();
            (state.revision(), state.compacted())
        };
        f.debug_struct("Store")
            .field("revision", &revision)
            .field("compacted", &compacted)
            .field("limits", &self.shared.limits)
            .finish()
    }
}
