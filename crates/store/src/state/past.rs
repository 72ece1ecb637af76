//! The far end of the history: what is forgotten and when, what is kept of a dropped resource, and a state of the past as a state
//! of its own.

use super::{EndedWatches, Forgotten, Resource, State};
use crate::log::Log;
use crate::record::namespace_of;
use crate::{Compacted, Event, ResourceId, Revision, SnapshotError};

/// A point of the history, in the order in which the points are forgotten: by their revisions, and at one revision the event before
/// what was dropped after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Forgettable {
    revision: Revision,
    kind: ForgettableKind,
    id: ResourceId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ForgettableKind {
    /// The oldest event of a log.
    Event,
    /// A resource was dropped.
    Drop,
}

impl Forgettable {
    pub(super) fn event(revision: Revision, id: ResourceId) -> Forgettable {
        Forgettable {
            revision,
            kind: ForgettableKind::Event,
            id,
        }
    }

    fn drop(revision: Revision, id: ResourceId) -> Forgettable {
        Forgettable {
            revision,
            kind: ForgettableKind::Drop,
            id,
        }
    }
}

/// A resource as it was before it was dropped. Only the past has it.
#[derive(Debug)]
pub(super) struct DroppedResource {
    resource: Resource,
    /// What the records take that were dropped with it, without an event of their own.
    bytes: usize,
}

impl DroppedResource {
    pub(super) fn fork(&self) -> DroppedResource {
        DroppedResource {
            resource: self.resource.fork(),
            bytes: self.bytes,
        }
    }

    fn history_bytes(&self) -> usize {
        self.resource.history_bytes + self.bytes
    }
}

impl State {
    /// Refuses a revision that is not retained, or not written yet.
    pub(crate) fn check_retained(&self, revision: Revision) -> Result<(), SnapshotError> {
        if revision < self.compacted {
            return Err(Compacted { oldest: self.compacted }.into());
        }
        if revision > self.revision {
            return Err(SnapshotError::Future { current: self.revision });
        }
        Ok(())
    }

    /// The time of the newest write up to a retained revision.
    pub(crate) fn time_at(&self, revision: Revision) -> i64 {
        let events = self.logs().filter_map(|(_, log)| log.last_until(revision));
        events
            .max_by_key(|event| event.revision)
            .map_or(self.forgotten, |event| event.time)
    }

    /// From now on times are another source's, which says `now`: they may be earlier than those of the past.
    pub(crate) fn restart_time(&mut self, now: i64) {
        self.written = now;
        if self.oldest.is_empty() {
            self.forgotten = now;
        }
    }

    /// This state as it was at a retained revision, as if nothing had been written since. Costs what was.
    pub(crate) fn rewind(&mut self, revision: Revision) {
        self.written = self.time_at(revision);
        let later: Vec<_> = self.dropped.keys().filter(|(_, at)| *at > revision).copied().collect();
        // Of an id that was dropped twice since, the first one is the resource of then: it comes last here.
        for key in later.into_iter().rev() {
            if let Some(dropped) = self.dropped.remove(&key) {
                self.resources.insert(key.0, dropped.resource);
            }
        }
        for resource in self.resources.values_mut() {
            resource.current = resource.log.table_at(revision).clone();
            resource.history_bytes -= resource.log.truncate(revision);
        }
        self.revision = revision;
        let live = self.resources.iter().map(|(&id, resource)| (id, resource));
        let dropped = self.dropped.iter().map(|(&(id, _), dropped)| (id, &dropped.resource));
        let events = live
            .chain(dropped)
            .filter_map(|(id, resource)| Some(Forgettable::event(resource.log.oldest()?, id)));
        let drops = self.dropped.keys().map(|&(id, at)| Forgettable::drop(at, id));
        self.oldest = events.chain(drops).collect();
        let live = self.resources.values().map(|resource| resource.history_bytes);
        let dropped = self.dropped.values().map(DroppedResource::history_bytes);
        self.history_bytes = live.chain(dropped).sum();
    }

    /// The logs of the resources that are there and of those that were dropped.
    pub(crate) fn logs(&self) -> impl Iterator<Item = (ResourceId, &Log)> {
        let live = self.resources.iter().map(|(&id, resource)| (id, &resource.log));
        let dropped = self
            .dropped
            .iter()
            .map(|(&(id, _), dropped)| (id, &dropped.resource.log));
        live.chain(dropped)
    }

    /// Forgets up to `at_most` points that are not newer than `target`, which becomes the oldest readable revision.
    pub(crate) fn compact(&mut self, target: Revision, at_most: usize) -> Vec<Forgotten> {
        self.compacted = self.compacted.max(target.min(self.revision));
        let mut forgotten = Vec::new();
        while forgotten.len() < at_most
            && self
                .oldest
                .first()
                .is_some_and(|oldest| oldest.revision <= self.compacted)
        {
            forgotten.extend(self.forget_oldest());
        }
        forgotten
    }

    /// Empties a resource; what it was stays in the history. `limit` is that of the history.
    pub(crate) fn drop_resource(&mut self, id: ResourceId, limit: usize) -> EndedWatches {
        let at = self.revision;
        let Some(resource) = self.resources.get_mut(&id) else {
            return EndedWatches::default();
        };
        let wake = resource.topics.end(&resource.log);
        if resource.is_unused() {
            let forgotten = Vec::new();
            return EndedWatches { wake, forgotten };
        }
        let resource = std::mem::replace(resource, Resource::new(at));
        // Where nothing before this moment can be read, nobody can ask for it.
        if self.compacted >= at {
            self.resources.remove(&id);
            if let Some(oldest) = resource.log.oldest() {
                self.oldest.remove(&Forgettable::event(oldest, id));
            }
            self.history_bytes -= resource.history_bytes;
            let forgotten = vec![Forgotten::Resource(resource)];
            return EndedWatches { wake, forgotten };
        }
        let bytes = resource.current.iter_from(0).map(|record| record.footprint()).sum();
        self.history_bytes += bytes;
        self.oldest.insert(Forgettable::drop(at, id));
        self.dropped.insert((id, at), DroppedResource { resource, bytes });
        EndedWatches {
            wake,
            forgotten: self.enforce(limit),
        }
    }

    /// Forgets the oldest points until the history fits. The newest event always stays: its watchers are yet to be woken.
    pub(super) fn enforce(&mut self, limit: usize) -> Vec<Forgotten> {
        let mut forgotten = Vec::new();
        while self.history_bytes > limit
            && self
                .oldest
                .first()
                .is_some_and(|oldest| oldest.revision < self.revision)
        {
            forgotten.extend(self.forget_oldest());
        }
        forgotten
    }

    fn forget_oldest(&mut self) -> Option<Forgotten> {
        let oldest = self.oldest.pop_first()?;
        self.compacted = self.compacted.max(oldest.revision);
        match oldest.kind {
            ForgettableKind::Event => self.forget_event(oldest.id, oldest.revision),
            ForgettableKind::Drop => self.forget_dropped(oldest.id, oldest.revision),
        }
    }

    fn forget_event(&mut self, id: ResourceId, revision: Revision) -> Option<Forgotten> {
        // What was dropped has the events up to then, and the resource that has its id now those after it.
        let later = (id, revision)..=(id, Revision(u64::MAX));
        let resource = match self.dropped.range_mut(later).next() {
            Some((_, dropped)) => &mut dropped.resource,
            None => self.resources.get_mut(&id)?,
        };
        let evicted = resource.log.pop_oldest()?;
        if let Some(next) = resource.log.oldest() {
            self.oldest.insert(Forgettable::event(next, id));
        }
        resource.history_bytes -= evicted.bytes;
        self.history_bytes -= evicted.bytes;
        let Event {
            revision, record, time, ..
        } = &evicted.event;
        resource.topics.evict(namespace_of(&record.key), *revision);
        self.forgotten = *time;
        Some(Forgotten::Event(evicted))
    }

    fn forget_dropped(&mut self, id: ResourceId, at: Revision) -> Option<Forgotten> {
        let dropped = self.dropped.remove(&(id, at))?;
        self.history_bytes -= dropped.history_bytes();
        // What took its place was only there to say since when, which the whole history says from now on.
        if self.resources.get(&id).is_some_and(Resource::is_unused) {
            self.resources.remove(&id);
        }
        Some(Forgotten::Resource(dropped.resource))
    }
}
