//! All writes that readers wait for, found by key, by age and by the revision that lifts them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::barrier::Barrier;
use super::state::ScopeId;
use crate::object::ObjectKey;

/// When a barrier was set, counted in barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Age(u64);

impl Age {
    /// Younger than all.
    pub(super) const MAX: Age = Age(u64::MAX);
}

/// Who reads: one object, or a list.
#[derive(Clone, Copy, Debug)]
pub(super) enum Readers<'a> {
    Key(&'a str),
    Namespace(Option<&'a str>),
}

#[derive(Debug)]
struct Raised {
    barrier: Barrier,
    age: Age,
    scope: Option<ScopeId>,
}

/// All barriers of a store. What is looked at for an event is what the event may lift: a cache far behind its writers has
/// thousands of them.
#[derive(Debug, Default)]
pub(super) struct Barriers {
    by_key: BTreeMap<ObjectKey, Raised>,
    by_age: BTreeMap<u64, ObjectKey>,
    /// By the scope whose progress lifts them, and how far it has to come.
    by_revision: BTreeSet<(Option<ScopeId>, u64, ObjectKey)>,
    last: u64,
}

impl Barriers {
    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Sets a barrier, or adds to the one there is.
    pub(super) fn set(&mut self, key: &ObjectKey, scope: Option<ScopeId>, barrier: Barrier) {
        let (mut barrier, mut age) = (barrier, None);
        if let Some(mut before) = self.remove(key) {
            before.barrier.merge(barrier);
            (barrier, age) = (before.barrier, Some(before.age));
        }
        let age = age.unwrap_or_else(|| {
            self.last += 1;
            Age(self.last)
        });
        if let Some(revision) = barrier.wanted_revision() {
            self.by_revision.insert((scope, revision, key.clone()));
        }
        self.by_age.insert(age.0, key.clone());
        self.by_key.insert(key.clone(), Raised { barrier, age, scope });
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Barrier> {
        self.by_key.get(key).map(|raised| &raised.barrier)
    }

    pub(super) fn lift(&mut self, key: &ObjectKey) {
        self.remove(key);
    }

    fn remove(&mut self, key: &ObjectKey) -> Option<Raised> {
        let raised = self.by_key.remove(key)?;
        self.by_age.remove(&raised.age.0);
        if let Some(revision) = raised.barrier.wanted_revision() {
            self.by_revision.remove(&(raised.scope, revision, key.clone()));
        }
        Some(raised)
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

    /// The age of the youngest.
    pub(super) fn youngest(&self) -> Age {
        Age(self.last)
    }

    /// The oldest that readers have to wait for, unless it is younger than `until`.
    pub(super) fn oldest(&self, readers: Readers<'_>, until: Age) -> Option<&ObjectKey> {
        match readers {
            Readers::Key(key) => {
                let (key, raised) = self.by_key.get_key_value(key)?;
                (raised.age <= until).then_some(key)
            }
            Readers::Namespace(namespace) => {
                let mut aged = self.by_age.range(..=until.0).map(|(_, key)| key);
                aged.find(|key| namespace.is_none() || key.namespace() == namespace)
            }
        }
    }
}
