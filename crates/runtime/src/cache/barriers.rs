//! All writes that readers wait for, found by key, by namespace, by age and by the revision that lifts them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};

use super::barrier::Barrier;
use super::state::ScopeId;
use crate::object::ObjectKey;

/// When a barrier was set: how many were set before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Age(u64);

impl Age {
    /// Younger than all.
    pub(super) const MAX: Age = Age(u64::MAX);
}

/// The scope of a read: one object, or a list.
#[derive(Clone, Copy, Debug)]
pub(super) enum Readers<'a> {
    Key(&'a str),
    Namespace(Option<&'a str>),
}

/// The barriers of one key, oldest first. Each asks for all that those before it ask for, so they are lifted in this order.
#[derive(Debug)]
struct KeyBarriers {
    standing: VecDeque<(Age, Barrier)>,
    scope: Option<ScopeId>,
}

/// All barriers of a store. What is looked at for an event is what the event may lift: a cache far behind its writers has
/// thousands of them.
#[derive(Debug, Default)]
pub(super) struct Barriers {
    by_key: BTreeMap<ObjectKey, KeyBarriers>,
    by_age: BTreeMap<Age, ObjectKey>,
    /// The same for each namespace; what has none is under the empty one.
    by_namespace: BTreeMap<Box<str>, BTreeMap<Age, ObjectKey>>,
    /// The oldest of each key, by the scope whose progress lifts it, and how far it has to come.
    by_revision: BTreeSet<(Option<ScopeId>, u64, ObjectKey)>,
    last: u64,
    /// The youngest barrier when a reader last began to wait. New writes are not merged into barriers up to it:
    /// a reader waits for them.
    awaited: AtomicU64,
}

impl Barriers {
    /// Sets a barrier. Those of the key that stand already have to be lifted too.
    pub(super) fn set(&mut self, key: &ObjectKey, scope: Option<ScopeId>, barrier: Barrier) {
        self.forget_revision(key);
        let awaited = Age(self.awaited.load(Ordering::Relaxed));
        let raised = self.by_key.entry(key.clone()).or_insert_with(|| KeyBarriers {
            standing: VecDeque::new(),
            scope,
        });
        raised.scope = scope;
        match raised.standing.back_mut() {
            Some((age, last)) if *age > awaited => last.merge(barrier),
            last => {
                let mut both = last.map(|(_, last)| last.clone()).unwrap_or_default();
                both.merge(barrier);
                self.last += 1;
                let age = Age(self.last);
                raised.standing.push_back((age, both));
                self.by_age.insert(age, key.clone());
                let namespace = key.namespace().unwrap_or_default();
                if !self.by_namespace.contains_key(namespace) {
                    self.by_namespace.insert(namespace.into(), BTreeMap::new());
                }
                if let Some(aged) = self.by_namespace.get_mut(namespace) {
                    aged.insert(age, key.clone());
                }
            }
        }
        self.note_revision(key);
    }

    /// Whether there are any for a key.
    pub(super) fn stand_before(&self, key: &ObjectKey) -> bool {
        self.by_key.contains_key(key)
    }

    /// Takes away the barriers of a key that are lifted, and says whether there were any.
    pub(super) fn lift(&mut self, key: &ObjectKey, is_lifted: impl Fn(&Barrier) -> bool) -> bool {
        let first = self.by_key.get(key).and_then(|raised| raised.standing.front());
        if !first.is_some_and(|(_, barrier)| is_lifted(barrier)) {
            return false;
        }
        self.forget_revision(key);
        let Some(raised) = self.by_key.get_mut(key) else {
            return false;
        };
        let count = raised.standing.partition_point(|(_, barrier)| is_lifted(barrier));
        let namespace = key.namespace().unwrap_or_default();
        let mut aged = self.by_namespace.get_mut(namespace);
        for (age, _) in raised.standing.drain(..count) {
            self.by_age.remove(&age);
            if let Some(aged) = &mut aged {
                aged.remove(&age);
            }
        }
        if aged.is_some_and(|aged| aged.is_empty()) {
            self.by_namespace.remove(namespace);
        }
        if raised.standing.is_empty() {
            self.by_key.remove(key);
        }
        self.note_revision(key);
        true
    }

    fn note_revision(&mut self, key: &ObjectKey) {
        if let Some(entry) = self.revision_of(key) {
            self.by_revision.insert(entry);
        }
    }

    fn forget_revision(&mut self, key: &ObjectKey) {
        if let Some(entry) = self.revision_of(key) {
            self.by_revision.remove(&entry);
        }
    }

    fn revision_of(&self, key: &ObjectKey) -> Option<(Option<ScopeId>, u64, ObjectKey)> {
        let raised = self.by_key.get(key)?;
        let (_, first) = raised.standing.front()?;
        Some((raised.scope, first.wanted_revision()?, key.clone()))
    }

    /// All keys.
    pub(super) fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.by_key.keys()
    }

    /// The keys whose barrier a scope may lift that has seen so much.
    pub(super) fn reached(&self, scope: ScopeId, seen: u64) -> impl Iterator<Item = &ObjectKey> {
        let from = (Some(scope), 0, ObjectKey::cluster(""));
        let range = (Bound::Included(from), Bound::Unbounded);
        let reached = self.by_revision.range(range);
        reached
            .take_while(move |(own, revision, _)| *own == Some(scope) && *revision <= seen)
            .map(|(_, _, key)| key)
    }

    /// Readers begin to wait: until what stands now is lifted, and for nothing that is set later. `None` if nothing stands.
    pub(super) fn begin(&self, readers: Readers<'_>) -> Option<Age> {
        self.oldest(readers, Age::MAX)?;
        self.awaited.store(self.last, Ordering::Relaxed);
        Some(Age(self.last))
    }

    /// The oldest that readers have to wait for, unless it is younger than `until`.
    pub(super) fn oldest(&self, readers: Readers<'_>, until: Age) -> Option<&ObjectKey> {
        let aged = match readers {
            Readers::Key(key) => {
                let (key, raised) = self.by_key.get_key_value(key)?;
                let (age, _) = raised.standing.front()?;
                return (*age <= until).then_some(key);
            }
            Readers::Namespace(None) => &self.by_age,
            Readers::Namespace(Some(namespace)) => self.by_namespace.get(namespace)?,
        };
        let (age, key) = aged.first_key_value()?;
        (*age <= until).then_some(key)
    }
}
