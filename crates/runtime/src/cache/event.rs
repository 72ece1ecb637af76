//! What happened to an object, as handlers hear of it.

use std::sync::Arc;

use crate::object::{ObjectKey, Record};

/// A change of the cache. It has the objects themselves, so that handlers see the state at the time of the change.
#[derive(Clone, Debug)]
pub enum Event {
    /// An object appeared.
    Added {
        /// The object.
        object: Arc<Record>,
        /// Whether it was there before the cache was: part of the first list, or replayed to a late subscriber.
        initial: bool,
    },
    /// An object changed, or, with `old` and `new` the same record, a resync reports it again.
    Updated {
        /// The object as it was.
        old: Arc<Record>,
        /// The object as it is.
        new: Arc<Record>,
    },
    /// An object is gone.
    Deleted {
        /// Its last known state.
        last: Arc<Record>,
        /// Whether that was its final state. `false` if it was deleted while the watch was interrupted (client-go's
        /// `DeletedFinalStateUnknown`).
        known: bool,
    },
}

impl Event {
    /// Whose event it is.
    pub fn key(&self) -> &ObjectKey {
        self.object().key()
    }

    /// The newest state the event knows.
    pub fn object(&self) -> &Arc<Record> {
        match self {
            Event::Added { object, .. } => object,
            Event::Updated { new, .. } => new,
            Event::Deleted { last, .. } => last,
        }
    }

    /// The state before, where there was one.
    pub fn old(&self) -> Option<&Arc<Record>> {
        match self {
            Event::Updated { old, .. } => Some(old),
            _ => None,
        }
    }

    /// Whether the event is part of an initial list or of a resync.
    pub fn is_background(&self) -> bool {
        match self {
            Event::Added { initial, .. } => *initial,
            Event::Updated { old, new } => old.resource_version() == new.resource_version(),
            Event::Deleted { .. } => false,
        }
    }
}

/// Hears of every change of a store, in order.
///
/// Handlers are called by the task that watches, one after the other, so they must be quick and must not block: put a key into
/// a queue, or a message into a channel. No lock of the store is held meanwhile that readers or registrations take: a handler may read
/// the store, drop any [`Registration`](super::Registration), also its own, and add handlers, which are called once the event under
/// delivery has been. It must not wait for another thread that writes to the store or adds a handler: that thread waits for it.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::cache::{Event, EventHandler, Indexes, Store};
/// use kubewright_runtime::object::{Kind, Record};
///
/// let kind = Kind::of::<ConfigMap>();
/// let record = |name: &str, revision: u32| {
///     let json = format!(r#"{{"metadata":{{"name":"{name}","uid":"{name}","resourceVersion":"{revision}"}}}}"#);
///     Record::parse(json.as_bytes(), &kind).unwrap()
/// };
/// let store = Store::new(kind.clone(), Indexes::default());
/// let writer = store.writer(None);
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// #[derive(Default)]
/// struct Count(AtomicUsize);
///
/// impl EventHandler for Count {
///     fn on_event(&self, event: &Event) {
///         println!("{}", event.key());
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
/// }
///
/// let count = Arc::new(Count::default());
/// let registration = store.add_handler(Arc::<Count>::clone(&count));
/// writer.changed(record("a", 1));
/// drop(registration);
/// writer.changed(record("a", 2));
/// assert_eq!(count.0.load(Ordering::Relaxed), 1);
/// ```
pub trait EventHandler: Send + Sync {
    /// An object appeared, changed or went.
    fn on_event(&self, event: &Event);
}

impl<F: Fn(&Event) + Send + Sync> EventHandler for F {
    fn on_event(&self, event: &Event) {
        self(event);
    }
}
