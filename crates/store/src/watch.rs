//! A watcher is a cursor into a resource's log: it sleeps on its topic and reads in batches under a short shared lock.
//! It holds nothing but its position, so that a stalled watcher costs nothing and delays nobody; events may be compacted
//! before it has read them.

use std::fmt;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;

use crate::log::Log;
use crate::topic::Topic;
use crate::{Compacted, Record, ResourceId, Revision, Store, WatchEnd};

/// How many events one hold of the lock looks at: a watcher of a quiet namespace skips over the others' events.
const SCAN_STEP: usize = 512;

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The key was free before.
    Added,
    /// The record was replaced.
    Modified,
    /// The record was deleted.
    Deleted,
}

/// One write, as watchers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The revision of the write. For a deletion it is newer than the record's own.
    pub revision: Revision,
    /// What the write did.
    pub kind: EventKind,
    /// The record after the write; its last state if it was deleted.
    pub record: Arc<Record>,
    /// The record before the write; the last state, too, if it was deleted.
    pub previous: Option<Arc<Record>>,
    /// What the store's [`TimeSource`](crate::TimeSource) said before the write, or said before an earlier one if that is more.
    pub time: i64,
}

impl Event {
    /// The key that was written.
    pub fn key(&self) -> &str {
        &self.record.key
    }
}

/// The next events of a watch.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// In the order of their revisions; never more than asked for.
    pub events: Vec<Event>,
    /// Whether nothing more was there when the batch was read.
    pub caught_up: bool,
}

/// Follows the events of a resource. Made by [`Store::watch`].
pub struct Watcher {
    store: Store,
    resource: ResourceId,
    namespace: Option<Box<str>>,
    topic: Arc<Topic>,
    seen: Revision,
}

impl Watcher {
    pub(crate) fn new(
        store: Store,
        resource: ResourceId,
        namespace: Option<&str>,
        topic: Arc<Topic>,
        after: Revision,
    ) -> Watcher {
        Watcher {
            store,
            resource,
            namespace: namespace.map(Into::into),
            topic,
            seen: after,
        }
    }

    /// The revision up to which this watcher has delivered everything: what a bookmark may tell. An idle watcher
    /// moves on by calling [`try_next`](Watcher::try_next), which then costs no more than the lock.
    pub fn seen(&self) -> Revision {
        self.seen
    }

    /// Reads up to `max` (at least one) of the next events. If the batch says that it has caught up,
    /// [`seen`](Watcher::seen) is the store's revision at that moment.
    pub fn try_next(&mut self, max: usize) -> Result<Batch, WatchEnd> {
        let mut events = Vec::new();
        loop {
            match self.read(max.max(1), &mut events) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(caught_up)) => return Ok(Batch { events, caught_up }),
                // What was read before the end is delivered first; the end will still be there.
                Err(_) if !events.is_empty() => {
                    return Ok(Batch {
                        events,
                        caught_up: false,
                    });
                }
                Err(end) => return Err(end),
            }
        }
    }

    /// Waits until [`try_next`](Watcher::try_next) may have something to tell: an event, or the end of the watch. May
    /// be cancelled at any time without losing anything.
    pub async fn ready(&mut self) {
        loop {
            let mut woken = pin!(self.topic.wake().notified());
            // Registered before looking, so that a write in between is not missed.
            woken.as_mut().enable();
            if self.topic.last() > self.seen || self.topic.ended().is_some() {
                return;
            }
            woken.await;
        }
    }

    /// One step under one hold of the lock: breaks when the batch is full (`false`) or the log is read up (`true`).
    fn read(&mut self, max: usize, events: &mut Vec<Event>) -> Result<ControlFlow<bool>, WatchEnd> {
        let state = self.store.state().read();
        // Numbers and log are one picture here: both change only under the exclusive lock.
        let (last, ended) = (self.topic.last(), self.topic.ended());
        let now = if ended.is_some() { last } else { state.revision() };
        if last <= self.seen {
            if ended.is_some() {
                return if events.is_empty() {
                    Err(WatchEnd::Closed)
                } else {
                    Ok(ControlFlow::Break(true))
                };
            }
            self.seen = self.seen.max(now);
            return Ok(ControlFlow::Break(true));
        }
        if self.seen < self.topic.evicted() {
            return Err(Compacted {
                oldest: state.oldest_readable(self.resource),
            }
            .into());
        }
        let Some(log) = ended.or_else(|| state.log(self.resource)) else {
            return Err(WatchEnd::Closed);
        };
        let step = scan(log, &self.topic, self.seen, self.namespace.as_deref(), max, events);
        self.seen = match step {
            Scan::End => self.seen.max(now),
            Scan::Full(at) | Scan::Paused(at) => at,
        };
        Ok(match step {
            Scan::End => ControlFlow::Break(true),
            Scan::Full(_) => ControlFlow::Break(false),
            Scan::Paused(_) => ControlFlow::Continue(()),
        })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.store
            .state()
            .write()
            .unsubscribe(self.resource, self.namespace.as_deref(), &self.topic);
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher")
            .field("resource", &self.resource)
            .field("namespace", &self.namespace)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

/// Where a scan of the log stopped.
enum Scan {
    /// At the end of the log.
    End,
    /// Behind this revision, because the batch is full.
    Full(Revision),
    /// Behind this revision, to let writers in.
    Paused(Revision),
}

fn scan(
    log: &Log,
    topic: &Topic,
    seen: Revision,
    namespace: Option<&str>,
    max: usize,
    events: &mut Vec<Event>,
) -> Scan {
    // The usual case of a watcher that keeps up: exactly one event is new, however many others had in between.
    if seen >= topic.before_last() {
        events.extend(log.get(topic.last()).cloned());
        return Scan::End;
    }
    for (scanned, event) in log.after(seen).enumerate() {
        let at = Revision(event.revision.0 - 1);
        if events.len() == max {
            return Scan::Full(at);
        }
        if scanned == SCAN_STEP {
            return Scan::Paused(at);
        }
        if namespace.is_none() || event.record.namespace() == namespace {
            events.push(event.clone());
        }
    }
    Scan::End
}
