//! The retained history of one resource: its events in order, each with the table it led to.
//! Below the oldest event lies `base`, the table as of the compacted revision.

use std::ops::Bound;

use rpds::RedBlackTreeMapSync;

use crate::table::Table;
use crate::{Event, Revision};

/// Bytes of a state beyond these count this many times.
const LARGE: usize = 64 << 10;
const LARGE_WEIGHT: usize = 16;

/// Cloning a log copies a pointer, so that a fork keeps its history for free.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    base: Table,
    entries: RedBlackTreeMapSync<Revision, Entry>,
}

/// An event and the table right after it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) event: Event,
    pub(crate) table: Table,
}

/// An event that left the history, with all that nobody else may hold any more: to be freed outside the lock.
#[derive(Debug)]
pub(crate) struct EvictedEvent {
    pub(crate) event: Event,
    /// Its [`Entry::footprint`].
    pub(crate) bytes: usize,
    /// The table before the event.
    #[expect(
        dead_code,
        reason = "held only to be freed late: dropping a table frees the nodes its successor copied"
    )]
    base: Table,
}

impl Entry {
    /// About how much memory forgetting this entry gives back: the state that the event replaced, the nodes of the
    /// table that it copied, and the entry itself. A large state counts for more than it is, so that a few of them do not stay
    /// for as long as thousands of small ones would.
    pub(crate) fn footprint(&self) -> usize {
        /// A node and an entry of the log's own tree.
        const LOG_NODE: usize = 56 + size_of::<Entry>() + 2 * 16;
        let replaced = self.event.previous.as_ref().map_or(0, |record| record.footprint());
        let beyond = replaced.saturating_sub(LARGE) * (LARGE_WEIGHT - 1);
        LOG_NODE + (self.table.depth() + 1) * Table::NODE_BYTES + replaced + beyond
    }
}

impl Log {
    pub(crate) fn new() -> Log {
        Log {
            base: Table::default(),
            entries: RedBlackTreeMapSync::new_sync(),
        }
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.entries.insert_mut(entry.event.revision, entry);
    }

    pub(crate) fn oldest(&self) -> Option<Revision> {
        self.entries.first().map(|(revision, _)| *revision)
    }

    /// Forgets the oldest event; its table becomes the state that the rest builds on.
    pub(crate) fn pop_oldest(&mut self) -> Option<EvictedEvent> {
        let (&revision, entry) = self.entries.first()?;
        let Entry { event, table } = entry.clone();
        let bytes = entry.footprint();
        self.entries.remove_mut(&revision);
        Some(EvictedEvent {
            event,
            bytes,
            base: std::mem::replace(&mut self.base, table),
        })
    }

    /// The table as it was at a retained revision.
    pub(crate) fn table_at(&self, revision: Revision) -> &Table {
        self.entries
            .range(..=revision)
            .next_back()
            .map_or(&self.base, |(_, entry)| &entry.table)
    }

    /// The newest event that is not newer than a revision.
    pub(crate) fn last_until(&self, revision: Revision) -> Option<&Event> {
        let (_, entry) = self.entries.range(..=revision).next_back()?;
        Some(&entry.event)
    }

    /// Forgets the events after a revision, as if they had never been. Returns their [`Entry::footprint`]s.
    pub(crate) fn truncate(&mut self, revision: Revision) -> usize {
        let mut bytes = 0;
        while let Some((&newest, entry)) = self.entries.last().filter(|(newest, _)| **newest > revision) {
            bytes += entry.footprint();
            self.entries.remove_mut(&newest);
        }
        bytes
    }

    pub(crate) fn get(&self, revision: Revision) -> Option<&Event> {
        self.entries.get(&revision).map(|entry| &entry.event)
    }

    pub(crate) fn after(&self, revision: Revision) -> impl Iterator<Item = &Event> {
        self.entries
            .range((Bound::Excluded(revision), Bound::Unbounded))
            .map(|(_, entry)| &entry.event)
    }
}
