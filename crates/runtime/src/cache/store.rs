//! The store that readers, handlers and reflectors share: short locks around the state.

use std::fmt;
use std::panic::Location;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::barrier::{Barrier, BarrierTimeout};
use super::barriers::{Age, Readers};
use super::delivery::{Delivery, Registration};
use super::event::{Event, EventHandler};
use super::index::Indexes;
use super::state::{IndexLookup, LastEvent, Query, ScopeId, State};
use super::subscription::Subscription;
use crate::object::{DecodeError, DecodeSharing, Kind, MOST_RECENT, ObjectKey, Record, View};

/// A reader asked for an index that the store does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the cache of {kind} has no index {index:?}, by which {asked_at} reads; declare it with that controller: \
     `Controller::index({index:?}, …)`"
)]
pub struct UnknownIndex {
    /// The kind.
    pub kind: String,
    /// The index.
    pub index: String,
    /// The file and line of the code that asked for it.
    pub asked_at: &'static Location<'static>,
}

impl UnknownIndex {
    /// The error of a query that is sent to the server, where no index is.
    pub(crate) fn on_server(kind: &Kind, lookup: &IndexLookup) -> Self {
        UnknownIndex {
            kind: format!("{kind} on the server"),
            index: lookup.name.to_string(),
            asked_at: lookup.asked_at,
        }
    }
}

struct Inner {
    kind: Arc<Kind>,
    indexes: Indexes,
    state: RwLock<State>,
    delivery: Arc<Delivery>,
    changed: Notify,
}

/// All objects of one kind that one informer watches. Cloning shares it.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::cache::{Indexes, Query, Store};
/// use kubewright_runtime::object::{Kind, Record};
/// use std::sync::Arc;
///
/// let kind = Kind::of::<ConfigMap>();
/// let store = Store::new(kind.clone(), Indexes::default());
/// let writer = store.writer(None);
/// writer.begin();
/// writer.listed(Record::parse(br#"{"metadata":{"name":"a","namespace":"shop"}}"#, &kind).unwrap());
/// writer.finish("7");
///
/// assert!(store.is_synced());
/// assert!(!store.is_empty());
/// assert!(store.get("shop/a").is_some());
/// assert_eq!(store.list(&Query::all().in_namespace("other")).unwrap().len(), 0);
/// ```
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

impl Store {
    /// An empty store.
    pub fn new(kind: Kind, indexes: Indexes) -> Self {
        Store {
            inner: Arc::new(Inner {
                kind: Arc::new(kind),
                indexes,
                state: RwLock::default(),
                delivery: Arc::default(),
                changed: Notify::new(),
            }),
        }
    }

    /// What the store holds.
    pub fn kind(&self) -> &Kind {
        &self.inner.kind
    }

    /// The same, to be held by others.
    pub(crate) fn shared_kind(&self) -> &Arc<Kind> {
        &self.inner.kind
    }

    /// The object under `namespace/name` (or `name`).
    pub fn get(&self, key: &str) -> Option<Arc<Record>> {
        self.inner.state.read().get(key).cloned()
    }

    /// The objects a query asks for, in the server's order. Costs as much as its result (before labels are matched).
    pub fn list(&self, query: &Query) -> Result<Vec<Arc<Record>>, UnknownIndex> {
        let index = match &query.index {
            None => None,
            Some(lookup) => Some((
                self.index_position(&lookup.name, lookup.asked_at)?,
                lookup.value.as_str(),
            )),
        };
        let mut records = self.inner.state.read().candidates(query.namespace.as_deref(), index);
        if !query.selector.is_everything() {
            records.retain(|record| record.matches(&query.selector));
        }
        Ok(records)
    }

    /// Decodes an object of this store.
    pub(crate) fn view<K: DeserializeOwned + Send + Sync + 'static>(
        &self,
        record: &Arc<Record>,
    ) -> Result<View<K>, DecodeError> {
        let _sharing = self.sharing();
        record.view()
    }

    /// Decodes objects of this store. Of many, none is kept for later.
    pub(crate) fn views<K: DeserializeOwned + Send + Sync + 'static>(
        &self,
        records: &[Arc<Record>],
    ) -> Result<Vec<View<K>>, DecodeError> {
        let _sharing = (records.len() <= MOST_RECENT).then(|| self.sharing());
        records.iter().map(Record::view).collect()
    }

    /// Keeps for later readers what this thread decodes while the guard exists.
    fn sharing(&self) -> DecodeSharing<'_> {
        crate::object::sharing(&self.inner.delivery.recent)
    }

    /// Fails unless there is an index of that name. `asked_at` is the code that wants to read by it.
    pub(crate) fn check_index(&self, name: &str, asked_at: &'static Location<'static>) -> Result<(), UnknownIndex> {
        self.index_position(name, asked_at).map(drop)
    }

    fn index_position(&self, name: &str, asked_at: &'static Location<'static>) -> Result<usize, UnknownIndex> {
        self.inner.indexes.position(name).ok_or_else(|| UnknownIndex {
            kind: self.inner.kind.to_string(),
            index: name.to_owned(),
            asked_at,
        })
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.inner.state.read().len()
    }

    /// Whether the store has no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes its objects take, without what indexes keep of them. Costs a look at each object.
    pub(crate) fn bytes(&self) -> usize {
        self.inner.state.read().bytes()
    }

    /// Up to which revision everything was seen; `None` before the first list, and where revisions are no numbers.
    pub(crate) fn revision(&self) -> Option<u64> {
        self.inner.state.read().revision()
    }

    /// Up to which revision everything was seen that readers of a namespace, or of all of them, may find.
    pub(crate) fn seen_in(&self, namespace: Option<&str>) -> Option<u64> {
        self.inner.state.read().seen_in(namespace)
    }

    /// The last event that its handlers were told of; resyncs are none.
    pub(crate) fn last_event(&self) -> Option<LastEvent> {
        self.inner.state.read().last_event()
    }

    /// Whether every reflector of the store has completed its first list.
    pub fn is_synced(&self) -> bool {
        self.inner.state.read().is_synced()
    }

    /// Waits until [`is_synced`](Self::is_synced).
    pub async fn synced(&self) {
        self.wait(None, |state| state.is_synced().then_some(())).await;
    }

    /// Tells a handler of every object there is and of every change from then on, without gap or overlap.
    pub fn add_handler(&self, handler: Arc<dyn EventHandler>) -> Registration {
        self.inner.delivery.register(handler, || {
            let present = self.inner.state.read().candidates(None, None);
            let added = |object| Event::Added { object, initial: true };
            present.into_iter().map(added).collect()
        })
    }

    /// The same as a stream, with a buffer of its own.
    pub fn subscribe(&self) -> Subscription {
        Subscription::new(self)
    }

    /// Tells every handler of every object again, as an update from itself to itself.
    pub fn resync(&self) {
        self.inner.delivery.publish(|| {
            let present = self.inner.state.read().candidates(None, None);
            let unchanged = |object| Event::Updated {
                old: Arc::clone(&object),
                new: object,
            };
            present.into_iter().map(unchanged).collect()
        });
    }

    /// Makes later reads of a key wait until the store has seen a write.
    pub(crate) fn set_barrier(&self, key: &ObjectKey, barrier: Barrier) {
        let news = {
            let mut state = self.inner.state.write();
            state.set_barrier(key, barrier);
            state.take_news()
        };
        if news {
            self.inner.changed.notify_waiters();
        }
    }

    /// Whether reads of a key wait for a write.
    pub(crate) fn is_awaited(&self, key: &ObjectKey) -> bool {
        self.inner
            .state
            .read()
            .barrier_in(Readers::Key(key.as_str()), Age::MAX)
            .is_some()
    }

    /// Waits until the store has seen all writes to a key. Returns how long that took; nothing if there was nothing to wait for.
    pub(crate) async fn caught_up_with_key(&self, key: &str, timeout: Duration) -> Result<Duration, BarrierTimeout> {
        self.lifted(Readers::Key(key), timeout).await
    }

    /// Waits until the store has seen all writes to a namespace, or to all of them. Returns how long that took.
    pub(crate) async fn caught_up(
        &self,
        namespace: Option<&str>,
        timeout: Duration,
    ) -> Result<Duration, BarrierTimeout> {
        self.lifted(Readers::Namespace(namespace), timeout).await
    }

    async fn lifted(&self, readers: Readers<'_>, timeout: Duration) -> Result<Duration, BarrierTimeout> {
        // A reader does not wait for writes that come while it waits; otherwise it might wait for ever.
        let Some(until) = self.inner.state.read().begin_waiting(readers) else {
            return Ok(Duration::ZERO);
        };
        let began = Instant::now();
        let deadline = began + timeout;
        let mut waiting_for = None;
        let lifted = self
            .wait(Some(deadline), |state| match state.barrier_in(readers, until) {
                None => Some(()),
                Some(key) => {
                    waiting_for = Some(key.clone());
                    None
                }
            })
            .await;
        match (lifted, waiting_for) {
            (None, Some(key)) => Err(BarrierTimeout {
                kind: self.inner.kind.to_string(),
                key,
                waited: timeout,
            }),
            _ => Ok(began.elapsed()),
        }
    }

    /// A handle for the one reflector that feeds a namespace, or the whole store.
    pub fn writer(&self, namespace: Option<&str>) -> Writer {
        let scope = self.inner.state.write().add_scope(namespace);
        Writer {
            store: self.clone(),
            scope,
        }
    }

    /// Waits until `look` finds something; `None` at the deadline.
    async fn wait<T>(&self, deadline: Option<Instant>, mut look: impl FnMut(&State) -> Option<T>) -> Option<T> {
        loop {
            let mut changed = pin!(self.inner.changed.notified());
            changed.as_mut().enable();
            if let Some(found) = look(&self.inner.state.read()) {
                return Some(found);
            }
            match deadline {
                None => changed.await,
                Some(deadline) => tokio::time::timeout_at(deadline, changed).await.ok()?,
            }
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({}, {} objects)", self.inner.kind, self.len())
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({})", self.kind)
    }
}

/// Feeds a store: what a list or a watch of one scope says.
#[derive(Clone, Debug)]
pub struct Writer {
    store: Store,
    scope: ScopeId,
}

impl Writer {
    /// A list begins.
    pub fn begin(&self) {
        self.change(|state, scope| {
            state.begin(scope);
            Vec::new()
        });
    }

    /// The list contains an object.
    pub fn listed(&self, record: Record) {
        self.upsert(record, false);
    }

    /// An object went while the list was under way.
    pub(crate) fn unlisted(&self, record: Record) {
        self.change(|state, _| state.remove(Arc::new(record)).into_iter().collect());
    }

    /// The list is complete; what it did not contain is gone.
    pub fn finish(&self, resource_version: &str) {
        let seen = crate::object::revision(resource_version);
        self.change(|state, scope| state.finish(scope, seen));
    }

    /// The watch says that an object is new or changed.
    pub fn changed(&self, record: Record) {
        self.upsert(record, true);
    }

    /// The watch says that an object is gone.
    pub fn deleted(&self, record: Record) {
        let revision = record.revision();
        self.change(move |state, scope| {
            let event = state.remove(Arc::new(record));
            state.saw(scope, revision);
            event.into_iter().collect()
        });
    }

    /// Records that the watch has sent all events up to a revision.
    pub(crate) fn bookmark(&self, resource_version: &str) {
        let seen = crate::object::revision(resource_version);
        self.change(|state, scope| {
            state.saw(scope, seen);
            Vec::new()
        });
    }

    /// Everything of the scope is forgotten, with an event for each object.
    pub(crate) fn clear(&self) {
        self.change(State::clear);
    }

    fn upsert(&self, record: Record, seen: bool) {
        let record = Arc::new(record);
        // Handlers read next what the indexes decode.
        let _sharing = self.store.sharing();
        let values = self.store.inner.indexes.values(&record);
        self.change(|state, scope| {
            let (key, revision) = (record.key().clone(), record.revision());
            let events = state.upsert(scope, record, values);
            state.lift(&key);
            if seen {
                state.saw(scope, revision);
            }
            events
        });
    }

    fn change(&self, change: impl FnOnce(&mut State, ScopeId) -> Vec<Event>) {
        let inner = &self.store.inner;
        let mut news = false;
        inner.delivery.publish(|| {
            let mut state = inner.state.write();
            let events = change(&mut state, self.scope);
            state.remember_last(&events, Instant::now);
            news = state.take_news();
            events
        });
        if news {
            inner.changed.notify_waiters();
        }
    }
}
