//! The delta queue of client-go: what happened to each object since somebody last looked, objects in the order they came.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::delivery::Registration;
use super::event::{Event, EventHandler};
use super::store::Store;
use crate::object::{ObjectKey, Record};

/// What happened to an object, under client-go's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaKind {
    /// It was there before the cache was: part of the first list.
    Replaced,
    /// It appeared.
    Added,
    /// It changed.
    Updated,
    /// It is gone, and this was its final state.
    Deleted,
    /// It is gone; it went while nobody watched, and this is the last state known (`DeletedFinalStateUnknown`).
    DeletedFinalStateUnknown,
    /// Nothing happened; it is told of again by a resync.
    Sync,
}

/// One change of one object.
#[derive(Clone, Debug)]
pub struct Delta {
    /// What happened.
    pub kind: DeltaKind,
    /// The object afterwards; for a deletion as it was last.
    pub object: Arc<Record>,
}

impl Delta {
    /// Whether the object is gone.
    pub fn is_deletion(&self) -> bool {
        matches!(self.kind, DeltaKind::Deleted | DeltaKind::DeletedFinalStateUnknown)
    }
}

impl From<&Event> for Delta {
    fn from(event: &Event) -> Self {
        let kind = match event {
            Event::Added { initial: true, .. } => DeltaKind::Replaced,
            Event::Added { .. } => DeltaKind::Added,
            Event::Updated { .. } if event.is_background() => DeltaKind::Sync,
            Event::Updated { .. } => DeltaKind::Updated,
            Event::Deleted { known: true, .. } => DeltaKind::Deleted,
            Event::Deleted { .. } => DeltaKind::DeletedFinalStateUnknown,
        };
        Delta {
            kind,
            object: Arc::clone(event.object()),
        }
    }
}

/// Everything that happened to one object since it was last popped: at least one thing, the oldest first.
#[derive(Clone, Debug)]
pub struct Deltas {
    key: ObjectKey,
    all: Vec<Delta>,
}

impl Deltas {
    /// Whose they are.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// The state that all of them lead to.
    pub fn newest(&self) -> &Delta {
        &self.all[self.all.len() - 1]
    }

    /// All of them, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Delta> {
        self.all.iter()
    }
}

#[derive(Default)]
struct Queued {
    deltas: HashMap<ObjectKey, Vec<Delta>>,
    order: VecDeque<ObjectKey>,
    /// How many objects of the first list were not popped yet.
    replaced: usize,
    closed: bool,
}

impl Queued {
    fn push(&mut self, delta: Delta) {
        let key = delta.object.key();
        let Some(deltas) = self.deltas.get_mut(key) else {
            let key = key.clone();
            self.replaced += usize::from(delta.kind == DeltaKind::Replaced);
            self.order.push_back(key.clone());
            self.deltas.insert(key, vec![delta]);
            return;
        };
        match deltas.last_mut() {
            // Whoever pops the object sees its newest state anyhow.
            Some(_) if delta.kind == DeltaKind::Sync => {}
            // Of two deletions in a row the one that knows the final state says more.
            Some(last) if last.is_deletion() && delta.is_deletion() => {
                if delta.kind == DeltaKind::Deleted {
                    *last = delta;
                }
            }
            _ => {
                self.replaced += usize::from(delta.kind == DeltaKind::Replaced);
                deltas.push(delta);
            }
        }
    }

    fn pop(&mut self) -> Option<Deltas> {
        let key = self.order.pop_front()?;
        let all = self.deltas.remove(&key).unwrap_or_default();
        self.replaced -= all.iter().filter(|delta| delta.kind == DeltaKind::Replaced).count();
        Some(Deltas { key, all })
    }
}

#[derive(Default)]
struct Shared {
    queued: Mutex<Queued>,
    changed: Notify,
}

impl EventHandler for Shared {
    fn on_event(&self, event: &Event) {
        let mut queued = self.queued.lock();
        if !queued.closed {
            queued.push(event.into());
            drop(queued);
            self.changed.notify_one();
        }
    }
}

/// client-go's `DeltaFIFO`: objects in the order in which something first happened to them, each with everything that has
/// happened since. For one consumer that wants to see every change, and not one after the other but object by object.
///
/// A store is its `KnownObjects`: a relist becomes deltas of what really changed, and of what went. Cloning shares the queue;
/// when the last clone is dropped the store forgets it. See [`Subscription`](super::Subscription) for changes in their order.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::cache::{DeltaFifo, DeltaKind, Indexes, Store};
/// use kubewright_runtime::object::{Kind, Record};
///
/// let kind = Kind::of::<ConfigMap>();
/// let record = |name: &str, version: u32| {
///     let json = format!(r#"{{"metadata":{{"name":"{name}","uid":"{name}","resourceVersion":"{version}"}}}}"#);
///     Record::parse(json.as_bytes(), &kind).unwrap()
/// };
/// let store = Store::new(kind.clone(), Indexes::default());
/// let fifo = DeltaFifo::of(&store);
/// let writer = store.writer(None);
/// writer.begin();
/// writer.listed(record("a", 1));
/// writer.listed(record("b", 2));
/// writer.finish("2");
/// writer.changed(record("a", 3));
/// writer.deleted(record("a", 4));
///
/// let kinds = |deltas: &kubewright_runtime::cache::Deltas| deltas.iter().map(|delta| delta.kind).collect::<Vec<_>>();
/// let first = fifo.pop().await.unwrap();
/// assert_eq!(first.key().name(), "a");
/// assert_eq!(kinds(&first), [DeltaKind::Replaced, DeltaKind::Updated, DeltaKind::Deleted]);
/// assert!(first.newest().is_deletion() && !fifo.has_synced());
/// assert_eq!(kinds(&fifo.pop().await.unwrap()), [DeltaKind::Replaced]);
/// assert!(fifo.has_synced());
/// assert!(fifo.is_empty());
/// fifo.close();
/// assert!(fifo.pop().await.is_none());
/// # }
/// ```
#[derive(Clone)]
pub struct DeltaFifo {
    shared: Arc<Shared>,
    store: Store,
    _registration: Arc<Registration>,
}

impl DeltaFifo {
    /// The changes of a store, beginning with what it holds.
    pub fn of(store: &Store) -> Self {
        let shared = Arc::new(Shared::default());
        let registration = store.add_handler(Arc::<Shared>::clone(&shared));
        DeltaFifo {
            shared,
            store: store.clone(),
            _registration: Arc::new(registration),
        }
    }

    /// Waits for the next object to which something happened. `None`: the queue was closed and is empty.
    ///
    /// Dropping this future loses nothing.
    pub async fn pop(&self) -> Option<Deltas> {
        loop {
            let mut changed = pin!(self.shared.changed.notified());
            changed.as_mut().enable();
            {
                let mut queued = self.shared.queued.lock();
                if let Some(deltas) = queued.pop() {
                    if !queued.order.is_empty() || queued.closed {
                        self.shared.changed.notify_one();
                    }
                    return Some(deltas);
                }
                if queued.closed {
                    self.shared.changed.notify_one();
                    return None;
                }
            }
            changed.await;
        }
    }

    /// The next object if there is one already.
    pub fn try_pop(&self) -> Option<Deltas> {
        self.shared.queued.lock().pop()
    }

    /// Whether the first list is complete and all of it was popped.
    pub fn has_synced(&self) -> bool {
        self.store.is_synced() && self.shared.queued.lock().replaced == 0
    }

    /// How many objects wait to be popped.
    pub fn len(&self) -> usize {
        self.shared.queued.lock().order.len()
    }

    /// Whether no object waits to be popped.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes no more changes; what waits can still be popped.
    pub fn close(&self) {
        self.shared.queued.lock().closed = true;
        self.shared.changed.notify_one();
    }
}

impl fmt::Debug for DeltaFifo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeltaFifo({}, {} objects)", self.store.kind(), self.len())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::cache::{Indexes, Writer};
    use crate::object::Kind;

    fn store() -> (Store, Writer) {
        let store = Store::new(Kind::of::<ConfigMap>(), Indexes::default());
        let writer = store.writer(None);
        writer.begin();
        writer.finish("1");
        (store, writer)
    }

    fn record(name: &str, version: u32) -> Record {
        let json = format!(r#"{{"metadata":{{"name":"{name}","uid":"{name}","resourceVersion":"{version}"}}}}"#);
        Record::parse(json.as_bytes(), &Kind::of::<ConfigMap>()).unwrap()
    }

    fn kinds(deltas: &Deltas) -> Vec<DeltaKind> {
        deltas.iter().map(|delta| delta.kind).collect()
    }

    #[test]
    fn objects_come_in_the_order_of_their_first_change_with_all_of_them() {
        let (store, writer) = store();
        let fifo = DeltaFifo::of(&store);
        writer.changed(record("a", 2));
        writer.changed(record("b", 3));
        writer.changed(record("a", 4));
        assert_eq!(fifo.len(), 2);
        let first = fifo.try_pop().unwrap();
        assert_eq!(
            (first.key().name(), kinds(&first)),
            ("a", vec![DeltaKind::Added, DeltaKind::Updated])
        );
        assert_eq!(first.newest().object.revision(), Some(4));
        writer.changed(record("a", 5));
        assert_eq!(fifo.try_pop().unwrap().key().name(), "b");
        assert_eq!(kinds(&fifo.try_pop().unwrap()), [DeltaKind::Updated]);
        assert!(fifo.try_pop().is_none());
    }

    #[test]
    fn a_resync_says_nothing_of_objects_that_wait_already() {
        let (store, writer) = store();
        let fifo = DeltaFifo::of(&store);
        writer.changed(record("a", 2));
        store.resync();
        assert_eq!(kinds(&fifo.try_pop().unwrap()), [DeltaKind::Added]);
        store.resync();
        assert_eq!(kinds(&fifo.try_pop().unwrap()), [DeltaKind::Sync]);
    }

    #[test]
    fn what_went_while_nobody_watched_is_a_tombstone() {
        let (store, writer) = store();
        let fifo = DeltaFifo::of(&store);
        writer.changed(record("a", 2));
        writer.begin();
        writer.finish("9");
        let deltas = fifo.try_pop().unwrap();
        assert_eq!(kinds(&deltas), [DeltaKind::Added, DeltaKind::DeletedFinalStateUnknown]);
        assert!(deltas.newest().is_deletion());
    }

    #[tokio::test(start_paused = true)]
    async fn a_consumer_is_woken_and_ends_with_the_queue() {
        let (store, writer) = store();
        let fifo = DeltaFifo::of(&store);
        let consumer = tokio::spawn({
            let fifo = fifo.clone();
            async move {
                let mut seen = 0;
                while fifo.pop().await.is_some() {
                    seen += 1;
                }
                seen
            }
        });
        tokio::time::sleep(Duration::from_millis(1)).await;
        writer.changed(record("a", 2));
        tokio::time::sleep(Duration::from_millis(1)).await;
        writer.changed(record("b", 3));
        fifo.close();
        writer.changed(record("c", 4));
        assert_eq!(consumer.await.unwrap(), 2);
    }

    #[test]
    fn the_store_forgets_a_queue_that_nobody_holds() {
        let (store, writer) = store();
        let fifo = DeltaFifo::of(&store);
        let shared = Arc::downgrade(&fifo.shared);
        drop(fifo);
        writer.changed(record("a", 2));
        assert!(shared.upgrade().is_none());
    }
}
