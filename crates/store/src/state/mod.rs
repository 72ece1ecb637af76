//! What the store's lock protects: all resources, the revision counter and the bound of the history.
//! What a change leaves to be done outside the lock (waking, freeing) is handed back as [`DeferredWork`].
//! How the history ends, and how a state of the past is made from it, is in [`past`].

mod past;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::log::{Entry, EvictedEvent, Log};
use crate::record::namespace_of;
use crate::table::Table;
use crate::topic::{Topic, Topics};
use crate::{CommitError, Compacted, Event, EventKind, Record, ResourceId, Revision, Snapshot, SnapshotError};
use past::{DroppedResource, Forgettable};

#[derive(Debug)]
pub(crate) struct State {
    revision: Revision,
    compacted: Revision,
    /// The time of the newest event.
    written: i64,
    /// The time of the newest event that was forgotten.
    forgotten: i64,
    resources: BTreeMap<ResourceId, Resource>,
    /// Resources as they were until they were dropped, at these revisions. An id may be used again.
    dropped: BTreeMap<(ResourceId, Revision), DroppedResource>,
    /// What is forgotten next: the oldest event of every log that has one, and every dropped resource.
    oldest: BTreeSet<Forgettable>,
    history_bytes: usize,
}

/// What all writes of a store are given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Commit {
    /// How many bytes of history there may be.
    pub(crate) limit: usize,
    pub(crate) time: i64,
}

#[derive(Debug)]
pub(crate) struct Resource {
    current: Table,
    log: Log,
    /// Of the events in the log.
    history_bytes: usize,
    /// Where this resource's history begins: a dropped one must not pass for one that was always empty.
    since: Revision,
    topics: Topics,
}

impl Resource {
    fn new(since: Revision) -> Resource {
        Resource {
            current: Table::default(),
            log: Log::new(),
            history_bytes: 0,
            since,
            topics: Topics::default(),
        }
    }

    /// Whether nobody has written or watched it.
    fn is_unused(&self) -> bool {
        self.current.len() == 0 && self.log.oldest().is_none() && self.topics.len() == 0
    }

    fn fork(&self) -> Resource {
        Resource {
            current: self.current.clone(),
            log: self.log.clone(),
            history_bytes: self.history_bytes,
            since: self.since,
            topics: Topics::default(),
        }
    }
}

/// What is left to do once the lock is released.
#[must_use]
#[derive(Debug, Default)]
pub(crate) struct DeferredWork {
    wake: [Option<Arc<Topic>>; 2],
    forgotten: Vec<Forgotten>,
}

/// What left the history, to be freed outside the lock.
#[must_use]
#[derive(Debug)]
#[expect(dead_code, reason = "held only to be freed late")]
pub(crate) enum Forgotten {
    Event(EvictedEvent),
    Resource(Resource),
}

impl DeferredWork {
    pub(crate) fn settle(self) {
        for topic in self.wake.into_iter().flatten() {
            topic.wake().notify_waiters();
        }
        drop(self.forgotten);
    }
}

/// The watches that were ended, and what dropping a resource pushed out of the history, to be freed outside the lock.
#[must_use]
#[derive(Debug, Default)]
pub(crate) struct EndedWatches {
    wake: Vec<Arc<Topic>>,
    forgotten: Vec<Forgotten>,
}

impl EndedWatches {
    pub(crate) fn settle(self) {
        for topic in self.wake {
            topic.wake().notify_waiters();
        }
        drop(self.forgotten);
    }
}

impl State {
    /// An empty store is at revision 1, as an empty etcd is: 0 means "any" in the Kubernetes API.
    pub(crate) fn new() -> State {
        State {
            revision: Revision(1),
            compacted: Revision(0),
            written: 0,
            forgotten: 0,
            resources: BTreeMap::new(),
            dropped: BTreeMap::new(),
            oldest: BTreeSet::new(),
            history_bytes: 0,
        }
    }

    /// An empty store at a revision, before which nothing is known.
    pub(crate) fn starting_at(revision: Revision) -> State {
        let revision = revision.max(Revision(1));
        State {
            revision,
            compacted: revision,
            ..State::new()
        }
    }

    /// An independent state with the same past; watchers stay with the original.
    pub(crate) fn fork(&self) -> State {
        State {
            revision: self.revision,
            compacted: self.compacted,
            written: self.written,
            forgotten: self.forgotten,
            resources: self
                .resources
                .iter()
                .map(|(&id, resource)| (id, resource.fork()))
                .collect(),
            dropped: self
                .dropped
                .iter()
                .map(|(&key, dropped)| (key, dropped.fork()))
                .collect(),
            oldest: self.oldest.clone(),
            history_bytes: self.history_bytes,
        }
    }

    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }

    pub(crate) fn compacted(&self) -> Revision {
        self.compacted
    }

    pub(crate) fn history_bytes(&self) -> usize {
        self.history_bytes
    }

    pub(crate) fn get(&self, id: ResourceId, key: &str) -> Option<&Arc<Record>> {
        self.resources.get(&id)?.current.get(key)
    }

    pub(crate) fn snapshot(&self, id: ResourceId) -> Snapshot {
        Snapshot::new(self.revision, self.table(id))
    }

    pub(crate) fn snapshot_at(&self, id: ResourceId, revision: Revision) -> Result<Snapshot, SnapshotError> {
        self.retained(id, revision)?;
        self.check_retained(revision)?;
        let table = self
            .resources
            .get(&id)
            .map(|resource| resource.log.table_at(revision).clone());
        Ok(Snapshot::new(revision, table.unwrap_or_default()))
    }

    /// Refuses a revision whose state or whose later events are no longer complete.
    pub(crate) fn retained(&self, id: ResourceId, revision: Revision) -> Result<(), Compacted> {
        let oldest = self.oldest_readable(id);
        if revision < oldest {
            Err(Compacted { oldest })
        } else {
            Ok(())
        }
    }

    pub(crate) fn oldest_readable(&self, id: ResourceId) -> Revision {
        self.resources
            .get(&id)
            .map_or(self.compacted, |resource| resource.since.max(self.compacted))
    }

    pub(crate) fn log(&self, id: ResourceId) -> Option<&Log> {
        self.resources.get(&id).map(|resource| &resource.log)
    }

    pub(crate) fn create(
        &mut self,
        id: ResourceId,
        record: Arc<Record>,
        commit: Commit,
    ) -> Result<(Arc<Record>, DeferredWork), CommitError> {
        let table = self.table(id);
        if let Some(current) = table.get(&record.key) {
            return Err(CommitError::Exists(current.clone()));
        }
        Ok(self.put(id, &table, record, None, commit))
    }

    pub(crate) fn update(
        &mut self,
        id: ResourceId,
        record: Arc<Record>,
        expect: Revision,
        commit: Commit,
    ) -> Result<(Arc<Record>, DeferredWork), CommitError> {
        let table = self.table(id);
        let current = expected(&table, &record.key, expect)?;
        Ok(self.put(id, &table, record, Some(current), commit))
    }

    pub(crate) fn delete(
        &mut self,
        id: ResourceId,
        key: &str,
        expect: Revision,
        commit: Commit,
    ) -> Result<(Arc<Record>, Revision, DeferredWork), CommitError> {
        let table = self.table(id);
        let record = expected(&table, key, expect)?;
        let revision = self.next_revision();
        let event = Event {
            revision,
            kind: EventKind::Deleted,
            record: record.clone(),
            previous: Some(record.clone()),
            time: self.time_of(commit),
        };
        let aftermath = self.append(
            id,
            Entry {
                event,
                table: table.without(key),
            },
            commit,
        );
        Ok((record, revision, aftermath))
    }

    pub(crate) fn subscribe(
        &mut self,
        id: ResourceId,
        namespace: Option<&str>,
        after: Revision,
    ) -> Result<Arc<Topic>, Compacted> {
        self.retained(id, after)?;
        Ok(self.subscribe_now(id, namespace))
    }

    pub(crate) fn subscribe_now(&mut self, id: ResourceId, namespace: Option<&str>) -> Arc<Topic> {
        let (now, oldest) = (self.revision, self.oldest_readable(id));
        let resource = self.resources.entry(id).or_insert_with(|| Resource::new(Revision(0)));
        resource.topics.subscribe(namespace, now, oldest)
    }

    pub(crate) fn unsubscribe(&mut self, id: ResourceId, namespace: Option<&str>, topic: &Arc<Topic>) {
        if let Some(resource) = self.resources.get_mut(&id) {
            resource.topics.unsubscribe(namespace, topic);
        }
    }

    pub(crate) fn end_watches(&mut self, id: ResourceId) -> EndedWatches {
        let Some(resource) = self.resources.get_mut(&id) else {
            return EndedWatches::default();
        };
        EndedWatches {
            wake: resource.topics.end(&resource.log),
            forgotten: Vec::new(),
        }
    }

    pub(crate) fn topics(&self) -> usize {
        self.resources.values().map(|resource| resource.topics.len()).sum()
    }

    fn table(&self, id: ResourceId) -> Table {
        self.resources
            .get(&id)
            .map(|resource| resource.current.clone())
            .unwrap_or_default()
    }

    fn next_revision(&mut self) -> Revision {
        self.revision.0 += 1;
        self.revision
    }

    fn put(
        &mut self,
        id: ResourceId,
        table: &Table,
        mut record: Arc<Record>,
        previous: Option<Arc<Record>>,
        commit: Commit,
    ) -> (Arc<Record>, DeferredWork) {
        let revision = self.next_revision();
        // Nobody else has this record yet: it is stamped in place.
        let stamped = Arc::make_mut(&mut record);
        stamped.revision = revision;
        stamped.created = previous.as_ref().map_or(revision, |previous| previous.created);
        let kind = if previous.is_some() {
            EventKind::Modified
        } else {
            EventKind::Added
        };
        let event = Event {
            revision,
            kind,
            record: record.clone(),
            previous,
            time: self.time_of(commit),
        };
        let aftermath = self.append(
            id,
            Entry {
                event,
                table: table.with(record.clone()),
            },
            commit,
        );
        (record, aftermath)
    }

    /// The time of an event: writers that were overtaken do not turn it back.
    fn time_of(&mut self, commit: Commit) -> i64 {
        self.written = self.written.max(commit.time);
        self.written
    }

    fn append(&mut self, id: ResourceId, entry: Entry, commit: Commit) -> DeferredWork {
        let revision = entry.event.revision;
        let resource = self.resources.entry(id).or_insert_with(|| Resource::new(Revision(0)));
        let wake = resource.topics.advance(namespace_of(&entry.event.record.key), revision);
        let bytes = entry.footprint();
        resource.history_bytes += bytes;
        self.history_bytes += bytes;
        resource.current = entry.table.clone();
        if resource.log.oldest().is_none() {
            self.oldest.insert(Forgettable::event(revision, id));
        }
        resource.log.push(entry);
        DeferredWork {
            wake,
            forgotten: self.enforce(commit.limit),
        }
    }
}

fn expected(table: &Table, key: &str, expect: Revision) -> Result<Arc<Record>, CommitError> {
    match table.get(key) {
        Some(current) if current.revision == expect => Ok(current.clone()),
        Some(current) => Err(CommitError::Changed(current.clone())),
        None => Err(CommitError::Gone),
    }
}
