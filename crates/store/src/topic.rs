//! What wakes watchers: a topic per watched namespace of a resource, and one for all its namespaces.
//! A topic lives as long as it has watchers, and remembers just enough that an idle watcher is never overtaken.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;

use crate::Revision;
use crate::log::Log;

/// The numbers are written under the store's write lock; the notification follows after it.
#[derive(Debug)]
pub(crate) struct Topic {
    /// The newest event of this topic (or, right after subscribing, a revision up to which there may be some).
    last: AtomicU64,
    /// No event of this topic lies between this revision and `last`.
    before_last: AtomicU64,
    /// The newest event of this topic that fell out of the history: who has not read it never will.
    evicted: AtomicU64,
    /// Set once, when the watches end: what their cursors have yet to read.
    ended: OnceLock<Log>,
    wake: Notify,
}

impl Topic {
    fn new(revision: Revision, oldest: Revision) -> Topic {
        Topic {
            last: AtomicU64::new(revision.0),
            before_last: AtomicU64::new(revision.0),
            evicted: AtomicU64::new(oldest.0),
            ended: OnceLock::new(),
            wake: Notify::new(),
        }
    }

    pub(crate) fn last(&self) -> Revision {
        Revision(self.last.load(Ordering::Acquire))
    }

    pub(crate) fn before_last(&self) -> Revision {
        Revision(self.before_last.load(Ordering::Acquire))
    }

    pub(crate) fn evicted(&self) -> Revision {
        Revision(self.evicted.load(Ordering::Acquire))
    }

    pub(crate) fn ended(&self) -> Option<&Log> {
        self.ended.get()
    }

    pub(crate) fn wake(&self) -> &Notify {
        &self.wake
    }

    fn advance(&self, revision: Revision) {
        self.before_last.store(self.last().0, Ordering::Release);
        self.last.store(revision.0, Ordering::Release);
    }

    fn evict(&self, revision: Revision) {
        self.evicted.fetch_max(revision.0, Ordering::AcqRel);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Topics {
    everywhere: Option<Subscribed>,
    namespaces: BTreeMap<Box<str>, Subscribed>,
}

#[derive(Debug)]
struct Subscribed {
    topic: Arc<Topic>,
    watchers: usize,
}

impl Subscribed {
    fn new(revision: Revision, oldest: Revision) -> Subscribed {
        Subscribed {
            topic: Arc::new(Topic::new(revision, oldest)),
            watchers: 0,
        }
    }

    fn add(&mut self) -> Arc<Topic> {
        self.watchers += 1;
        self.topic.clone()
    }

    /// Removes one watcher of `topic`. Returns whether none is left.
    fn remove(&mut self, topic: &Arc<Topic>) -> bool {
        if Arc::ptr_eq(&self.topic, topic) {
            self.watchers -= 1;
        }
        self.watchers == 0
    }
}

impl Topics {
    pub(crate) fn subscribe(&mut self, namespace: Option<&str>, now: Revision, oldest: Revision) -> Arc<Topic> {
        let Some(namespace) = namespace else {
            return self
                .everywhere
                .get_or_insert_with(|| Subscribed::new(now, oldest))
                .add();
        };
        if let Some(subscribed) = self.namespaces.get_mut(namespace) {
            return subscribed.add();
        }
        self.namespaces
            .entry(namespace.into())
            .or_insert_with(|| Subscribed::new(now, oldest))
            .add()
    }

    pub(crate) fn unsubscribe(&mut self, namespace: Option<&str>, topic: &Arc<Topic>) {
        match namespace {
            None => {
                if self
                    .everywhere
                    .as_mut()
                    .is_some_and(|subscribed| subscribed.remove(topic))
                {
                    self.everywhere = None;
                }
            }
            Some(namespace) => {
                if self
                    .namespaces
                    .get_mut(namespace)
                    .is_some_and(|subscribed| subscribed.remove(topic))
                {
                    self.namespaces.remove(namespace);
                }
            }
        }
    }

    /// An event was committed; gives the topics to wake once the lock is released.
    pub(crate) fn advance(&self, namespace: Option<&str>, revision: Revision) -> [Option<Arc<Topic>>; 2] {
        self.of(namespace).map(|subscribed| {
            subscribed.map(|subscribed| {
                subscribed.topic.advance(revision);
                subscribed.topic.clone()
            })
        })
    }

    /// An event fell out of the history.
    pub(crate) fn evict(&self, namespace: Option<&str>, revision: Revision) {
        for subscribed in self.of(namespace).into_iter().flatten() {
            subscribed.topic.evict(revision);
        }
    }

    /// Ends all watches: they may still read what `log` holds for them. Gives the topics to wake.
    pub(crate) fn end(&mut self, log: &Log) -> Vec<Arc<Topic>> {
        let ended = self
            .everywhere
            .take()
            .into_iter()
            .chain(std::mem::take(&mut self.namespaces).into_values());
        ended
            .map(|subscribed| {
                subscribed.topic.ended.get_or_init(|| log.clone());
                subscribed.topic
            })
            .collect()
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.everywhere.is_some()) + self.namespaces.len()
    }

    fn of(&self, namespace: Option<&str>) -> [Option<&Subscribed>; 2] {
        [
            self.everywhere.as_ref(),
            namespace.and_then(|namespace| self.namespaces.get(namespace)),
        ]
    }
}
