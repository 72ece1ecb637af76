//! The handle: reads take a short shared lock, writes a short exclusive one, and nothing is awaited under either.
//! What a write allocates is made before the lock, what it frees is freed and whom it wakes is woken after it.

use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::state::State;
use crate::{CommitError, Compacted, Record, RecordDraft, ResourceId, Revision, Snapshot, SnapshotError, Watcher};

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

/// A handle to a store: clones share it, [`fork`](Store::fork) makes another.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    state: RwLock<State>,
    limits: Limits,
}

impl Store {
    /// An empty store, at revision 1.
    pub fn new(limits: Limits) -> Store {
        Store::of(State::new(), limits)
    }

    /// An empty store whose history begins at a revision: earlier ones answer [`Compacted`].
    pub fn starting_at(limits: Limits, revision: Revision) -> Store {
        Store::of(State::starting_at(revision), limits)
    }

    fn of(state: State, limits: Limits) -> Store {
        Store {
            shared: Arc::new(Shared {
                state: RwLock::new(state),
                limits,
            }),
        }
    }

    pub(crate) fn state(&self) -> &RwLock<State> {
        &self.shared.state
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
        let committed = self
            .state()
            .write()
            .create(resource, record, self.shared.limits.history_bytes);
        let (record, aftermath) = committed?;
        aftermath.settle();
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
        let committed = self
            .state()
            .write()
            .update(resource, record, expect, self.shared.limits.history_bytes);
        let (record, aftermath) = committed?;
        aftermath.settle();
        Ok(record)
    }

    /// Deletes the record that revision `expect` wrote.
    pub fn delete(&self, resource: ResourceId, key: &str, expect: Revision) -> Result<Deleted, CommitError> {
        let committed = self
            .state()
            .write()
            .delete(resource, key, expect, self.shared.limits.history_bytes);
        let (record, revision, aftermath) = committed?;
        aftermath.settle();
        Ok(Deleted { record, revision })
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

    /// An independent store with the same present and past. Costs a few pointers per resource, whatever they hold.
    pub fn fork(&self) -> Store {
        Store::of(self.state().read().fork(), self.shared.limits)
    }

    /// Ends all watches of a resource, after they have read what was written until now; its records stay.
    pub fn end_watches(&self, resource: ResourceId) {
        let ended = self.state().write().end_watches(resource);
        ended.settle();
    }

    /// Forgets a resource with its records and its history, without an event for any of them, and ends its watches
    /// after they have read what was written until now.
    pub fn drop_resource(&self, resource: ResourceId) {
        let ended = self.state().write().drop_resource(resource);
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
