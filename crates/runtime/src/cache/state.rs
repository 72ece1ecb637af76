//! The store as a value: objects, indexes, scopes and barriers. No locks, no waiting.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::panic::Location;
use std::sync::Arc;

use tokio::time::Instant;

use super::barrier::Barrier;
use super::barriers::{Age, Barriers, Readers};
use super::event::Event;
use super::index::{Tables, Values};
use crate::object::{ObjectKey, Record, Selector};

/// Which objects a reader wants: of a namespace, by their labels. By an index they are asked for with an
/// [`IndexQuery`](super::IndexQuery).
///
/// ```
/// use kubewright_runtime::cache::Query;
/// use kubewright_runtime::object::Selector;
///
/// let query = Query::all()
///     .in_namespace("shop")
///     .matching(Selector::everything().equals("app", "web"));
/// # let _ = query;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pub(crate) namespace: Option<String>,
    pub(crate) selector: Selector,
    pub(crate) index: Option<IndexLookup>,
}

/// What a query wants of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexLookup {
    pub(crate) name: Arc<str>,
    pub(crate) value: String,
    /// Where the query was made, for the error that there is no such index.
    pub(crate) asked_at: &'static Location<'static>,
}

impl Query {
    /// Every object.
    pub fn all() -> Self {
        Query::default()
    }

    /// Only those of a namespace.
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only those whose labels match.
    pub fn matching(mut self, selector: Selector) -> Self {
        self.selector = selector;
        self
    }
}

/// What one reflector is responsible for: a namespace, or everything.
#[derive(Debug)]
struct Scope {
    namespace: Option<Box<str>>,
    /// Everything up to here was seen.
    seen: Option<u64>,
    /// The number of the list that is under way or was last.
    epoch: u32,
    synced: bool,
}

#[derive(Debug)]
struct Entry {
    record: Arc<Record>,
    values: Values,
    /// The list it was last part of, or that it came after.
    epoch: u32,
}

/// The number of a scope.
pub(super) type ScopeId = usize;

#[derive(Debug, Default)]
pub(super) struct State {
    objects: BTreeMap<ObjectKey, Entry>,
    tables: Tables,
    scopes: Vec<Scope>,
    barriers: Barriers,
    /// Whether something happened that waiters may wait for.
    news: bool,
    last_event: Option<LastEvent>,
}

/// The last event that a store told its handlers of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastEvent {
    pub(crate) at: Instant,
    /// The revision of its object. `None`: its resourceVersion is not a number.
    pub(crate) revision: Option<u64>,
}

impl State {
    pub(super) fn add_scope(&mut self, namespace: Option<&str>) -> ScopeId {
        let known = self
            .scopes
            .iter()
            .position(|scope| scope.namespace.as_deref() == namespace);
        known.unwrap_or_else(|| {
            self.scopes.push(Scope {
                namespace: namespace.map(Into::into),
                seen: None,
                epoch: 0,
                synced: false,
            });
            self.scopes.len() - 1
        })
    }

    /// A list begins: what it does not contain will be gone when it ends.
    pub(super) fn begin(&mut self, scope: ScopeId) {
        self.scopes[scope].epoch = self.scopes[scope].epoch.wrapping_add(1);
    }

    /// The object is as the record says. A record that says nothing new changes nothing.
    pub(super) fn upsert(&mut self, scope: ScopeId, record: Arc<Record>, values: Values) -> Vec<Event> {
        let Scope { epoch, synced, .. } = self.scopes[scope];
        let added = |object| Event::Added {
            object,
            initial: !synced,
        };
        let key = record.key().clone();
        let Some(entry) = self.objects.get_mut(&key) else {
            self.tables.insert(&key, &values);
            let event = added(Arc::clone(&record));
            self.objects.insert(key, Entry { record, values, epoch });
            return vec![event];
        };
        entry.epoch = epoch;
        let same_object = entry.record.uid() == record.uid();
        if same_object && is_same_version(&entry.record, &record) {
            return Vec::new();
        }
        self.tables.remove(&key, &entry.values);
        self.tables.insert(&key, &values);
        entry.values = values;
        let old = std::mem::replace(&mut entry.record, Arc::clone(&record));
        if same_object {
            vec![Event::Updated { old, new: record }]
        } else {
            // While the watch was interrupted, the object was deleted and another was created under its name.
            vec![
                Event::Deleted {
                    last: old,
                    known: false,
                },
                added(record),
            ]
        }
    }

    /// The object is gone; the record is its final state.
    pub(super) fn remove(&mut self, record: Arc<Record>) -> Option<Event> {
        let entry = self.objects.remove(record.key())?;
        self.tables.remove(record.key(), &entry.values);
        self.lift(record.key());
        Some(Event::Deleted {
            last: record,
            known: true,
        })
    }

    /// The list is complete: what it did not contain is gone.
    pub(super) fn finish(&mut self, scope: ScopeId, seen: Option<u64>) -> Vec<Event> {
        let epoch = self.scopes[scope].epoch;
        let namespace = self.scopes[scope].namespace.clone();
        let missing: Vec<ObjectKey> = self
            .range(namespace.as_deref())
            .filter(|(_, entry)| entry.epoch != epoch)
            .map(|(key, _)| key.clone())
            .collect();
        let mut events = Vec::with_capacity(missing.len());
        for key in missing {
            if let Some(entry) = self.objects.remove(&key) {
                self.tables.remove(&key, &entry.values);
                events.push(Event::Deleted {
                    last: entry.record,
                    known: false,
                });
            }
        }
        let scope = &mut self.scopes[scope];
        scope.synced = true;
        self.news = true;
        // Not the maximum: a restored cluster may count from an earlier number again.
        scope.seen = seen;
        self.lift_all();
        events
    }

    /// Everything up to a revision was seen.
    pub(super) fn saw(&mut self, scope: ScopeId, revision: Option<u64>) {
        let Some(revision) = revision else {
            return;
        };
        self.scopes[scope].seen = Some(revision);
        let reached: Vec<ObjectKey> = self.barriers.reached(scope, revision).cloned().collect();
        for key in reached {
            self.lift(&key);
        }
    }

    /// Removes all objects of the scope, because the kind does not exist any more or is no longer watched.
    pub(super) fn clear(&mut self, scope: ScopeId) -> Vec<Event> {
        self.begin(scope);
        let events = self.finish(scope, None);
        self.scopes[scope].synced = false;
        events
    }

    pub(super) fn is_synced(&self) -> bool {
        self.scopes.iter().all(|scope| scope.synced)
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Remembers the last event of those that a change led to.
    pub(super) fn remember_last(&mut self, events: &[Event], now: impl FnOnce() -> Instant) {
        if let Some(event) = events.last() {
            self.last_event = Some(LastEvent {
                at: now(),
                revision: event.object().revision(),
            });
        }
    }

    pub(super) fn last_event(&self) -> Option<LastEvent> {
        self.last_event
    }

    /// Up to which revision everything was seen that readers of a namespace, or of all of them, may find.
    pub(super) fn seen_in(&self, namespace: Option<&str>) -> Option<u64> {
        let scopes = self.scopes.iter().filter(|scope| {
            let both = scope.namespace.as_deref().zip(namespace);
            both.is_none_or(|(one, other)| one == other)
        });
        // A scope that has seen nothing yet is behind all others.
        scopes.map(|scope| scope.seen).min().flatten()
    }

    /// Up to which revision everything was seen, of the scope that is furthest.
    pub(super) fn revision(&self) -> Option<u64> {
        self.scopes.iter().filter_map(|scope| scope.seen).max()
    }

    /// How many bytes the objects take, without what indexes keep of them.
    pub(super) fn bytes(&self) -> usize {
        self.objects.values().map(|entry| entry.record.bytes()).sum()
    }

    pub(super) fn get(&self, key: &str) -> Option<&Arc<Record>> {
        self.objects.get(key).map(|entry| &entry.record)
    }

    /// The records a query may want; labels are still to be matched.
    pub(super) fn candidates(&self, namespace: Option<&str>, index: Option<(usize, &str)>) -> Vec<Arc<Record>> {
        match index {
            None => self
                .range(namespace)
                .map(|(_, entry)| Arc::clone(&entry.record))
                .collect(),
            Some((position, value)) => self
                .tables
                .keys(position, value, namespace)
                .filter_map(|key| self.get(key.as_str()).cloned())
                .collect(),
        }
    }

    /// Sets a barrier, unless it is lifted already.
    pub(super) fn set_barrier(&mut self, key: &ObjectKey, barrier: Barrier) {
        self.barriers.set(key, self.scope_of(key), barrier);
        self.lift(key);
    }

    /// Until which age readers that begin now have to wait for barriers; `None` if there is nothing to wait for.
    pub(super) fn begin_waiting(&self, readers: Readers<'_>) -> Option<Age> {
        self.barriers.begin(readers)
    }

    /// The first object under a key, in a namespace or anywhere that readers have to wait for.
    pub(super) fn barrier_in(&self, readers: Readers<'_>, until: Age) -> Option<&ObjectKey> {
        self.barriers.oldest(readers, until)
    }

    /// Whether something happened that waiters may wait for, since this was called last.
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    fn scope_of(&self, key: &ObjectKey) -> Option<ScopeId> {
        self.scopes
            .iter()
            .position(|scope| scope.namespace.is_none() || scope.namespace.as_deref() == key.namespace())
    }

    pub(super) fn lift(&mut self, key: &ObjectKey) {
        if !self.barriers.stand_before(key) {
            return;
        }
        let seen = self.scope_of(key).and_then(|scope| self.scopes[scope].seen);
        let record = self.objects.get(key.as_str()).map(|entry| &entry.record);
        let uid = record.map(|record| record.uid());
        let object = record.zip(uid.as_deref()).map(|(record, uid)| (record.revision(), uid));
        let lifted = self.barriers.lift(key, |barrier| barrier.is_lifted(seen, object));
        self.news |= lifted;
    }

    fn lift_all(&mut self) {
        let all: Vec<_> = self.barriers.keys().cloned().collect();
        for key in all {
            self.lift(&key);
        }
    }

    fn range(&self, namespace: Option<&str>) -> impl Iterator<Item = (&ObjectKey, &Entry)> {
        // All keys of a namespace begin with its name and a slash, and no other keys do.
        let prefix = namespace.map_or_else(String::new, |namespace| format!("{namespace}/"));
        self.objects
            .range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded))
            .take_while({
                let prefix = prefix.clone();
                move |(key, _)| key.as_str().starts_with(&prefix)
            })
    }
}

fn is_same_version(old: &Record, new: &Record) -> bool {
    let version = new.resource_version();
    if version.is_empty() {
        old.json() == new.json()
    } else {
        old.resource_version() == version
    }
}
