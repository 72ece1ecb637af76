//! Events as a stream, for code that wants to await them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::Stream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::delivery::Registration;
use super::event::Event;
use super::store::Store;

/// Every object there is, and then every change, in order. It never holds up the watch or another subscriber: what it has not
/// read yet waits in a buffer of its own, which grows if nobody reads. Dropping it ends it.
///
/// Events come with the objects they speak of; none is merged or lost.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::cache::{Event, Indexes, Store};
/// use kubewright_runtime::object::{Kind, Record};
///
/// let kind = Kind::of::<ConfigMap>();
/// let store = Store::new(kind.clone(), Indexes::default());
/// let mut events = store.subscribe();
/// store.writer(None).changed(Record::parse(br#"{"metadata":{"name":"a"}}"#, &kind).unwrap());
/// assert!(matches!(events.next().await, Some(Event::Added { .. })));
/// assert!(events.is_empty());
/// # }
/// ```
#[derive(Debug)]
pub struct Subscription {
    events: UnboundedReceiver<Event>,
    _registration: Registration,
}

impl Subscription {
    pub(super) fn new(store: &Store) -> Self {
        let (sender, events) = unbounded_channel();
        let registration = store.add_handler(Arc::new(move |event: &Event| {
            // The receiver is gone: the registration is about to be.
            let _ = sender.send(event.clone());
        }));
        Subscription {
            events,
            _registration: registration,
        }
    }

    /// The next event. `None` when the store is gone.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// The next event if there is one already.
    pub fn try_next(&mut self) -> Option<Event> {
        self.events.try_recv().ok()
    }

    /// How many events wait to be read.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether no event waits to be read.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

impl Stream for Subscription {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.events.poll_recv(context)
    }
}
