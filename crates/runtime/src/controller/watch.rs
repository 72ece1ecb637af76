//! What wakes a reconciler: objects of a kind and how they map to requests, or anything else that can call a function.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::handler::{Mapping, OwnerMatch};
use super::predicate::Predicate;
use super::reconciler::Request;
use crate::cache::Event;
use crate::client::Client;
use crate::object::{Kind, Object, View};
use crate::queue::{Add, When, WorkQueue};
use crate::trace::{RawCause, RawEvent, Trace};

/// One kind whose objects wake a reconciler.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kubewright_runtime::controller::{Predicate, Request, Watch};
/// use kubewright_runtime::object::ObjectKey;
///
/// let owned = Watch::owned::<ConfigMap>().when(Predicate::resource_version_changed());
/// let mapped = Watch::mapped::<Secret>(|secret| {
///     let owner = secret.metadata.labels.iter().flatten().find(|(label, _)| *label == "example.com/used-by");
///     let namespace = secret.metadata.namespace.as_deref();
///     owner.map(|(_, name)| Request::new(ObjectKey::new(namespace, name))).into_iter().collect()
/// });
/// # let _ = (owned, mapped);
/// ```
#[derive(Clone, Debug)]
pub struct Watch {
    pub(super) kind: Kind,
    pub(super) mapping: Mapping,
    pub(super) predicate: Option<Predicate>,
    pub(super) metadata_only: bool,
}

impl Watch {
    fn new(kind: Kind, mapping: Mapping) -> Self {
        Watch {
            kind,
            mapping,
            predicate: None,
            metadata_only: false,
        }
    }

    /// Objects that wake the reconciler for themselves.
    pub fn of_kind(kind: Kind) -> Self {
        Self::new(kind, Mapping::Itself)
    }

    /// Objects that wake the reconciler for the owner that is their controller; on an update the former one too.
    pub fn owned<K: Object>() -> Self {
        Self::owned_kind(Kind::of::<K>())
    }

    /// The same for a kind known only at run time.
    pub fn owned_kind(kind: Kind) -> Self {
        Self::new(kind, Mapping::Owner(OwnerMatch::Controller))
    }

    /// Owners are woken even if they are not the controller.
    pub fn any_owner(mut self) -> Self {
        if let Mapping::Owner(owner) = &mut self.mapping {
            *owner = OwnerMatch::Any;
        }
        self
    }

    /// Objects that wake the reconciler for whatever a function says; on an update it is asked for the old object too.
    /// The function must be quick: the watch waits for it. See [`mapped_with`](Self::mapped_with) for one that reads.
    pub fn mapped<K: Object>(map: impl Fn(&K) -> Vec<Request> + Send + Sync + 'static) -> Self {
        Self::new(Kind::of::<K>(), Mapping::function(map))
    }

    /// The same for nothing but metadata, or for a kind known only at run time.
    pub fn mapped_as<T: DeserializeOwned + Send + Sync + 'static>(
        kind: Kind,
        map: impl Fn(&T) -> Vec<Request> + Send + Sync + 'static,
    ) -> Self {
        Self::new(kind, Mapping::function(map))
    }

    /// As [`mapped`](Self::mapped), but the function may await, and has the client. Nobody waits for it.
    pub fn mapped_with<K: Object, Fut>(map: impl Fn(Client, View<K>) -> Fut + Send + Sync + 'static) -> Self
    where
        Fut: Future<Output = Vec<Request>> + Send + 'static,
    {
        Self::new(Kind::of::<K>(), Mapping::asynchronous(map))
    }

    /// Only events that pass wake the reconciler.
    pub fn when(mut self, predicate: Predicate) -> Self {
        self.predicate = Some(match self.predicate.take() {
            None => predicate,
            Some(other) => other.and(predicate),
        });
        self
    }

    /// Watches metadata only, which saves memory unless the whole objects are read elsewhere.
    pub fn metadata_only(mut self) -> Self {
        self.metadata_only = true;
        self
    }

    pub(super) fn admits(&self, event: &Event) -> bool {
        self.predicate.as_ref().is_none_or(|predicate| predicate.admits(event))
    }
}

/// Wakes a reconciler from anywhere. Cloning shares it.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::controller::{Controller, Trigger};
/// use kubewright_runtime::queue::Add;
/// use kubewright_runtime::object::ObjectKey;
/// use std::time::Duration;
///
/// let controller = Controller::of::<ConfigMap>().source(|trigger: Trigger, _client| async move {
///     let settings = ObjectKey::namespaced("shop", "settings");
///     trigger.wake(settings.clone());
///     trigger.wake_after(settings, Duration::from_secs(60));
///     trigger.wake_with(ObjectKey::namespaced("shop", "archive"), Add { priority: -100, ..Add::default() });
/// });
/// # let _ = controller;
/// ```
#[derive(Clone, Debug)]
pub struct Trigger {
    pub(super) queue: WorkQueue<Request>,
    pub(super) controller: Arc<str>,
    pub(super) trace: Trace,
}

impl Trigger {
    /// Reconcile this object.
    pub fn wake(&self, request: impl Into<Request>) {
        self.wake_with(request, Add::default());
    }

    /// Reconcile this object with a priority, or later.
    pub fn wake_with(&self, request: impl Into<Request>, add: Add) {
        let request = request.into();
        self.trace.record(|| RawEvent::Queued {
            controller: Arc::clone(&self.controller),
            key: request.key().clone(),
            cause: RawCause::Source {
                after: match add.when {
                    When::After(delay) => Some(delay),
                    _ => None,
                },
            },
        });
        self.queue.add_with(request, add);
    }

    /// Reconcile this object after a delay.
    pub fn wake_after(&self, request: impl Into<Request>, delay: std::time::Duration) {
        let when = When::After(delay);
        self.wake_with(request, Add { when, ..Add::default() });
    }
}

type RunningSource = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Anything that wakes a reconciler and is not the cache: a channel, a timer, a stream, a server.
#[derive(Clone)]
pub(super) struct RawSource(Arc<dyn Fn(Trigger, Client) -> RunningSource + Send + Sync>);

impl RawSource {
    pub(super) fn new<Fut>(source: impl Fn(Trigger, Client) -> Fut + Send + Sync + 'static) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        RawSource(Arc::new(move |trigger, client| Box::pin(source(trigger, client))))
    }

    pub(super) fn run(&self, trigger: Trigger, client: Client) -> RunningSource {
        (self.0)(trigger, client)
    }
}

impl fmt::Debug for RawSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RawSource")
    }
}
