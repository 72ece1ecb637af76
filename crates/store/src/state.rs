//! What the store's lock protects: all resources, the revision counter and the bound of the history.
//! What a change leaves to be done outside the lock (waking, freeing) is handed back as [`DeferredWork`].

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::log::{Entry, EvictedEvent, Log};
use crate::record::namespace_of;
use crate::table::Table;
use crate::topic::{Topic, Topics};
use crate::{CommitError, Compacted, Event, EventKind, Record, ResourceId, Revision, Snapshot, SnapshotError};

#[derive(Debug)]
pub(crate) struct State {
    revision: Revision,
    compacted: Revision,
    resources: BTreeMap<ResourceId, Resource>,
    /// The oldest retained event of every resource that has one: where eviction goes on.
    oldest: BTreeMap<Revision, ResourceId>,
    history_bytes: usize,
}

#[derive(Debug)]
struct Resource {
    current: Table,
    log: Log,
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
    forgotten: Vec<EvictedEvent>,
}

impl DeferredWork {
    pub(crate) fn settle(self) {
        for topic in self.wake.into_iter().flatten() {
            topic.wake().notify_waiters();
        }
        drop(self.forgotten);
    }
}

/// The watches that were ended, and the resource if it was dropped, to be freed outside the lock.
#[must_use]
#[derive(Debug, Default)]
pub(crate) struct EndedWatches {
    wake: Vec<Arc<Topic>>,
    dropped: Option<Resource>,
}

impl EndedWatches {
    pub(crate) fn settle(self) {
        for topic in self.wake {
            topic.wake().notify_waiters();
        }
        drop(self.dropped);
    }
}

impl State {
    /// An empty store is at revision 1, as an empty etcd is: 0 means "any" in the Kubernetes API.
    pub(crate) fn new() -> State {
        State {
            revision: Revision(1),
            compacted: Revision(0),
            resources: BTreeMap::new(),
            oldest: BTreeMap::new(),
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
            resources: self
                .resources
                .iter()
                .map(|(&id, resource)| (id, resource.fork()))
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
        if revision > self.revision {
            return Err(SnapshotError::Future { current: self.revision });
        }
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
        limit: usize,
    ) -> Result<(Arc<Record>, DeferredWork), CommitError> {
        let table = self.table(id);
        if let Some(current) = table.get(&record.key) {
            return Err(CommitError::Exists(current.clone()));
        }
        Ok(self.put(id, &table, record, None, limit))
    }

    pub(crate) fn update(
        &mut self,
        id: ResourceId,
        record: Arc<Record>,
        expect: Revision,
        limit: usize,
    ) -> Result<(Arc<Record>, DeferredWork), CommitError> {
        let table = self.table(id);
        let current = expected(&table, &record.key, expect)?;
        Ok(self.put(id, &table, record, Some(current), limit))
    }

    pub(crate) fn delete(
        &mut self,
        id: ResourceId,
        key: &str,
        expect: Revision,
        limit: usize,
    ) -> Result<(Arc<Record>, Revision, DeferredWork), CommitError> {
        let table = self.table(id);
        let record = expected(&table, key, expect)?;
        let revision = self.next_revision();
        let event = Event {
            revision,
            kind: EventKind::Deleted,
            record: record.clone(),
            previous: Some(record.clone()),
        };
        let aftermath = self.append(
            id,
            Entry {
                event,
                table: table.without(key),
            },
            limit,
        );
        Ok((record, revision, aftermath))
    }

    /// Forgets up to `at_most` events that are not newer than `target`, which becomes the oldest readable revision.
    pub(crate) fn compact(&mut self, target: Revision, at_most: usize) -> Vec<EvictedEvent> {
        self.compacted = self.compacted.max(target.min(self.revision));
        let mut forgotten = Vec::new();
        while forgotten.len() < at_most
            && self
                .oldest
                .first_key_value()
                .is_some_and(|(&oldest, _)| oldest <= self.compacted)
        {
            forgotten.extend(self.forget_oldest());
        }
        forgotten
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
            dropped: None,
        }
    }

    pub(crate) fn drop_resource(&mut self, id: ResourceId) -> EndedWatches {
        let Some(resource) = self.resources.get_mut(&id) else {
            return EndedWatches::default();
        };
        let wake = resource.topics.end(&resource.log);
        let dropped = std::mem::replace(resource, Resource::new(self.revision));
        if let Some(oldest) = dropped.log.oldest() {
            self.oldest.remove(&oldest);
        }
        self.history_bytes -= dropped.history_bytes;
        EndedWatches {
            wake,
            dropped: Some(dropped),
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
        limit: usize,
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
        };
        let aftermath = self.append(
            id,
            Entry {
                event,
                table: table.with(record.clone()),
            },
            limit,
        );
        (record, aftermath)
    }

    fn append(&mut self, id: ResourceId, entry: Entry, limit: usize) -> DeferredWork {
        let revision = entry.event.revision;
        let resource = self.resources.entry(id).or_insert_with(|| Resource::new(Revision(0)));
        let wake = resource.topics.advance(namespace_of(&entry.event.record.key), revision);
        let bytes = entry.footprint();
        resource.history_bytes += bytes;
        self.history_bytes += bytes;
        resource.current = entry.table.clone();
        if resource.log.oldest().is_none() {
            self.oldest.insert(revision, id);
        }
        resource.log.push(entry);
        DeferredWork {
            wake,
            forgotten: self.enforce(limit),
        }
    }

    /// Forgets the oldest events until the history fits. The newest always stays: its watchers are yet to be woken.
    fn enforce(&mut self, limit: usize) -> Vec<EvictedEvent> {
        let mut forgotten = Vec::new();
        while self.history_bytes > limit
            && self
                .oldest
                .first_key_value()
                .is_some_and(|(&oldest, _)| oldest < self.revision)
        {
            forgotten.extend(self.forget_oldest());
        }
        forgotten
    }

    fn forget_oldest(&mut self) -> Option<EvictedEvent> {
        let (_, id) = self.oldest.pop_first()?;
        let resource = self.resources.get_mut(&id)?;
        let forgotten = resource.log.pop_oldest()?;
        if let Some(next) = resource.log.oldest() {
            self.oldest.insert(next, id);
        }
        resource.history_bytes -= forgotten.bytes;
        self.history_bytes -= forgotten.bytes;
        let Event { revision, record, .. } = &forgotten.event;
        resource.topics.evict(namespace_of(&record.key), *revision);
        self.compacted = self.compacted.max(*revision);
        Some(forgotten)
    }
}

fn expected(table: &Table, key: &str, expect: Revision) -> Result<Arc<Record>, CommitError> {
    match table.get(key) {
        Some(current) if current.revision == expect => Ok(current.clone()),
        Some(current) => Err(CommitError::Changed(current.clone())),
        None => Err(CommitError::Gone),
    }
}
