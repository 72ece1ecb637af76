//! The order in which the handlers of a store hear of its changes.
//!
//! Handlers run without the lock of the list of handlers and without the lock of the state. So a handler may read the store, drop
//! any registration (its own, too), add handlers and even write to the store.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, ReentrantMutex};

use super::event::{Event, EventHandler};
use crate::object::RecentForms;

/// The handlers of a store, and the events that they have yet to be called with.
#[derive(Default)]
pub(super) struct Delivery {
    /// Held from before a change until its handlers were called, so that all handlers hear of all changes in one order. The thread
    /// that holds it may come again, out of a handler: what it adds then waits behind what is being delivered.
    order: ReentrantMutex<RefCell<Queue>>,
    /// Replaced as a whole, so that an event goes to those who were registered when it happened. No handler runs under this lock.
    handlers: Mutex<Arc<[Arc<Handler>]>>,
    /// What was decoded last, by handlers and readers of the store.
    pub(super) recent: RecentForms,
}

#[derive(Default)]
struct Queue {
    batches: VecDeque<Batch>,
    /// Whether a caller on this thread is at work on the batches.
    is_delivering: bool,
}

/// The events of one change, and who hears of them.
struct Batch {
    events: Vec<Event>,
    handlers: Arc<[Arc<Handler>]>,
}

struct Handler {
    handler: Arc<dyn EventHandler>,
    is_removed: AtomicBool,
}

impl Delivery {
    /// Makes a change and calls all handlers with its events.
    ///
    /// When this returns the handlers have been called, except where it was called by a handler: then they are called after the
    /// event that is under delivery.
    pub(super) fn publish(&self, change: impl FnOnce() -> Vec<Event>) {
        let order = self.order.lock();
        let events = change();
        if events.is_empty() {
            return;
        }
        let handlers = Arc::clone(&self.handlers.lock());
        deliver(&order, &self.recent, Batch { events, handlers });
    }

    /// Adds a handler and calls it with what there is already.
    pub(super) fn register(
        self: &Arc<Self>,
        handler: Arc<dyn EventHandler>,
        present: impl FnOnce() -> Vec<Event>,
    ) -> Registration {
        let order = self.order.lock();
        let events = present();
        let handler = Arc::new(Handler {
            handler,
            is_removed: AtomicBool::new(false),
        });
        self.replace(|handlers| handlers.cloned().chain([Arc::clone(&handler)]).collect());
        let registration = Registration {
            delivery: Arc::downgrade(self),
            handler: Arc::downgrade(&handler),
        };
        let handlers = Arc::new([handler]);
        deliver(&order, &self.recent, Batch { events, handlers });
        registration
    }

    fn replace(&self, change: impl FnOnce(std::slice::Iter<'_, Arc<Handler>>) -> Arc<[Arc<Handler>]>) {
        let mut handlers = self.handlers.lock();
        let changed = change(handlers.iter());
        let replaced = std::mem::replace(&mut *handlers, changed);
        drop(handlers);
        // Freed without the lock: a handler may own registrations, and their drop takes it.
        drop(replaced);
    }
}

/// Calls the handlers with a batch and all that is queued behind it, unless a caller further up on this thread does so already.
fn deliver(queue: &RefCell<Queue>, recent: &RecentForms, batch: Batch) {
    /// Marks the delivery as ended, even if a handler panics.
    struct DeliveryGuard<'a>(&'a RefCell<Queue>);

    impl Drop for DeliveryGuard<'_> {
        fn drop(&mut self) {
            self.0.borrow_mut().is_delivering = false;
        }
    }

    queue.borrow_mut().batches.push_back(batch);
    if std::mem::replace(&mut queue.borrow_mut().is_delivering, true) {
        return;
    }
    let _delivering = DeliveryGuard(queue);
    let next = || queue.borrow_mut().batches.pop_front();
    while let Some(batch) = next() {
        for event in &batch.events {
            let _sharing = crate::object::sharing(recent);
            for handler in &*batch.handlers {
                handler.call(event);
            }
        }
    }
}

impl Handler {
    /// A handler that panics has missed one event; the others have not.
    fn call(&self, event: &Event) {
        if self.is_removed.load(Ordering::Acquire) {
            return;
        }
        if catch_unwind(AssertUnwindSafe(|| self.handler.on_event(event))).is_err() {
            tracing::error!(object = %event.key(), "an event handler panicked");
        }
    }
}

/// Keeps a handler registered; dropping it ends that.
///
/// Dropping it never waits, so a handler may drop its own. No call of the handler begins afterwards; one that runs in another
/// thread at that moment may still be under way.
#[must_use = "dropping a registration removes its handler"]
pub struct Registration {
    delivery: Weak<Delivery>,
    handler: Weak<Handler>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let (Some(delivery), Some(removed)) = (self.delivery.upgrade(), self.handler.upgrade()) else {
            return;
        };
        removed.is_removed.store(true, Ordering::Release);
        delivery.replace(|handlers| {
            let others = handlers.filter(|handler| !Arc::ptr_eq(handler, &removed));
            others.cloned().collect()
        });
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").finish_non_exhaustive()
    }
}
