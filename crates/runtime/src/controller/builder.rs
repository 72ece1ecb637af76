//! A controller as a value: what it watches, how it reconciles. Nothing happens before it runs.

use std::fmt;
use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use kubewright_description::{Rule, Wakes};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use super::predicate::Predicate;
use super::reconciler::{AnyReconciler, Context, Reconciler, Request};
use super::watch::{RawSource, Trigger, Watch};
use crate::cache::Index;
use crate::client::Client;
use crate::informer::Declarations;
use crate::object::{Kind, Object, View};
use crate::queue::{QueueOptions, WorkQueue};

type Factory = dyn Fn(&Context) -> Arc<dyn AnyReconciler> + Send + Sync;

/// Reconciles the objects of one kind.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kubewright_runtime::controller::{Action, Controller, Predicate, Request};
///
/// let controller = Controller::of::<Deployment>()
///     .named("deployments")
///     .owns::<ConfigMap>()
///     .reads::<Secret>()
///     .when(Predicate::resource_version_changed())
///     .max_concurrent_reconciles(4)
///     .reconcile_with(|context| {
///         let client = context.client();
///         move |request: Request| {
///             let client = client.clone();
///             async move {
///                 let _deployment = client.get_opt::<Deployment>(&request).await?;
///                 Ok(Action::done())
///             }
///         }
///     });
/// assert_eq!(controller.name(), "deployments");
/// ```
#[derive(Clone)]
pub struct Controller {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) watches: Vec<Watch>,
    pub(super) reads: Vec<Kind>,
    pub(super) live: Vec<Kind>,
    indexes: Vec<(Kind, Index)>,
    pub(super) sources: Vec<RawSource>,
    pub(super) predicate: Option<Predicate>,
    pub(super) concurrency: NonZeroUsize,
    pub(super) timeout: Option<Duration>,
    pub(super) queue: QueueOptions,
    pub(super) needs_leader: bool,
    pub(super) warms_up: bool,
    pub(super) factory: Option<Arc<Factory>>,
    rules: Vec<Rule>,
}

impl Controller {
    /// A controller of a Rust type. Its name is the kind's in lower case.
    pub fn of<K: Object>() -> Self {
        Self::of_kind(Kind::of::<K>())
    }

    /// A controller of a kind known only at run time.
    pub fn of_kind(kind: Kind) -> Self {
        Controller {
            name: kind.kind().to_lowercase(),
            watches: vec![Watch::of_kind(kind.clone())],
            kind,
            reads: Vec::new(),
            live: Vec::new(),
            indexes: Vec::new(),
            sources: Vec::new(),
            predicate: None,
            concurrency: NonZeroUsize::MIN,
            timeout: None,
            queue: QueueOptions::default(),
            needs_leader: true,
            warms_up: false,
            factory: None,
            rules: Vec::new(),
        }
    }

    /// Its name in logs and metrics, unique within an operator. Default: the kind in lower case.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Only these events of the controller's own kind wake it, as [`Watch::when`].
    pub fn of_when(mut self, predicate: Predicate) -> Self {
        if let Some(own) = self.watches.first_mut() {
            *own = own.clone().when(predicate);
        }
        self
    }

    /// Objects of this kind wake their controller, if that is of the controller's own kind.
    pub fn owns<K: Object>(self) -> Self {
        self.watch(Watch::owned::<K>())
    }

    /// Objects of this kind wake whatever a function says. See [`Watch::mapped`].
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::controller::Controller;
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kubewright_runtime::object::ObjectKey;
    ///
    /// // A Secret wakes the settings of the same name.
    /// let controller = Controller::of::<ConfigMap>().watches::<Secret>(|secret| {
    ///     let name = secret.metadata.name.as_deref().unwrap_or_default();
    ///     vec![ObjectKey::new(secret.metadata.namespace.as_deref(), name).into()]
    /// });
    /// # let _ = controller;
    /// ```
    pub fn watches<K: Object>(self, map: impl Fn(&K) -> Vec<Request> + Send + Sync + 'static) -> Self {
        self.watch(Watch::mapped(map))
    }

    /// Like [`watches`](Self::watches), but with metadata only, which saves memory unless the whole objects are read elsewhere.
    pub fn watches_metadata<K: Object>(
        self,
        map: impl Fn(&kube::core::PartialObjectMeta<K>) -> Vec<Request> + Send + Sync + 'static,
    ) -> Self {
        self.watch(Watch::mapped_as(Kind::of::<K>(), map).metadata_only())
    }

    /// The same with a function that may await and has the client.
    pub fn watches_with<K: Object, Fut>(self, map: impl Fn(Client, View<K>) -> Fut + Send + Sync + 'static) -> Self
    where
        Fut: Future<Output = Vec<Request>> + Send + 'static,
    {
        self.watch(Watch::mapped_with(map))
    }

    /// Adds a [`Watch`]: objects of a kind wake the controller as the watch says.
    pub fn watch(mut self, watch: Watch) -> Self {
        self.watches.push(watch);
        self
    }

    /// Declares that objects of this kind are read from the cache. Their changes cause no reconcile.
    pub fn reads<K: Object>(self) -> Self {
        self.reads_kind(Kind::of::<K>())
    }

    /// The same for a kind known only at run time.
    pub fn reads_kind(mut self, kind: Kind) -> Self {
        self.reads.push(kind);
        self
    }

    /// Objects of this kind are read from the server whenever they are read, and not cached. See
    /// [`Declarations::reads_live`](crate::informer::Declarations::reads_live).
    pub fn reads_live<K: Object>(mut self) -> Self {
        self.live.push(Kind::of::<K>());
        self
    }

    /// Objects of this kind are read from the cache and found there by values. What `IndexField` in `SetupWithManager` is to
    /// controller-runtime: the reconciler asks for it with [`Context::index`].
    ///
    /// The function runs once for each change of an object, whichever controllers read by it. Controllers that share an index declare
    /// the same function under the same name; two functions of one name are an error when the operator starts.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{Node, Pod};
    /// use kubewright_runtime::cache::DeclaredIndex;
    /// use kubewright_runtime::client::Client;
    /// use kubewright_runtime::controller::{Action, Context, Controller, Failure, Reconciler, Request};
    ///
    /// const NODE: &str = "spec.nodeName";
    ///
    /// struct Nodes {
    ///     client: Client,
    ///     pods: DeclaredIndex<Pod>,
    /// }
    ///
    /// impl Nodes {
    ///     fn controller() -> Controller {
    ///         Controller::of::<Node>().index(NODE, node_of).reconcile_with(Self::new)
    ///     }
    ///
    ///     fn new(context: &Context) -> Self {
    ///         Nodes { client: context.client(), pods: context.index(NODE) }
    ///     }
    /// }
    ///
    /// impl Reconciler for Nodes {
    ///     async fn reconcile(&self, request: Request) -> Result<Action, Failure> {
    ///         let pods = self.client.list::<Pod>(&self.pods.query(request.name())).await?;
    ///         println!("{} Pods run on {request}", pods.len());
    ///         Ok(Action::done())
    ///     }
    /// }
    ///
    /// fn node_of(pod: &Pod) -> Vec<String> {
    ///     pod.spec.iter().filter_map(|spec| spec.node_name.clone()).collect()
    /// }
    /// # let _ = Nodes::controller();
    /// ```
    pub fn index<K: Object>(
        mut self,
        name: impl Into<Arc<str>>,
        values: impl Fn(&K) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.indexes.push((Kind::of::<K>(), Index::of(name, values)));
        self.reads::<K>()
    }

    /// Adds a function that wakes the controller through a [`Trigger`]. It runs as long as the controller does.
    pub fn source<Fut>(mut self, source: impl Fn(Trigger, Client) -> Fut + Send + Sync + 'static) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.sources.push(RawSource::new(source));
        self
    }

    /// A stream of requests wakes it, as the receiving end of a channel. It is read by the first run of this value.
    pub fn stream(self, requests: impl Stream<Item = Request> + Send + 'static) -> Self {
        let once = Mutex::new(Some(requests));
        let once = Arc::new(once);
        self.source(move |trigger, _| {
            let requests = once.lock().take();
            async move {
                let Some(requests) = requests else {
                    return;
                };
                let mut requests = std::pin::pin!(requests);
                while let Some(request) = requests.next().await {
                    trigger.wake(request);
                }
            }
        })
    }

    /// Every so often all objects that are known of the controller's own kind are reconciled.
    pub fn every(self, period: Duration) -> Self {
        let kind = self.kind.clone();
        self.source(move |trigger, client| {
            let kind = kind.clone();
            async move {
                loop {
                    tokio::time::sleep(period).await;
                    let Some(informer) = client.cache().informer(&kind) else {
                        return;
                    };
                    for record in informer.store().list(&crate::cache::Query::all()).unwrap_or_default() {
                        trigger.wake(record.key().clone());
                    }
                }
            }
        })
    }

    /// Only events that pass wake it, whatever they are of.
    pub fn when(mut self, predicate: Predicate) -> Self {
        self.predicate = Some(match self.predicate.take() {
            None => predicate,
            Some(other) => other.and(predicate),
        });
        self
    }

    /// How many objects are reconciled at the same time. Default: 1. One object is never reconciled twice at once.
    pub fn max_concurrent_reconciles(mut self, concurrency: usize) -> Self {
        self.concurrency = NonZeroUsize::new(concurrency).unwrap_or(NonZeroUsize::MIN);
        self
    }

    /// A reconcile that takes longer is dropped and counts as failed. Default: none; the client's own retries may take minutes.
    pub fn reconcile_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How the queue behaves: back-off, token bucket, priorities.
    pub fn queue_options(mut self, options: QueueOptions) -> Self {
        self.queue = options;
        self
    }

    /// Runs on every replica, not only on the leader.
    pub fn on_every_replica(mut self) -> Self {
        self.needs_leader = false;
        self
    }

    /// Sources start and the queue fills while this replica is not the leader yet, so that it works at once when it is. Its
    /// sources must not write: until then every write is refused. Default: sources start when the replica leads; the cache is
    /// warm either way. controller-runtime's `EnableWarmup`.
    pub fn warm_up(mut self) -> Self {
        self.warms_up = true;
        self
    }

    /// Makes the reconciler when the controller starts.
    pub fn reconcile_with<R: Reconciler>(mut self, make: impl Fn(&Context) -> R + Send + Sync + 'static) -> Self {
        self.factory = Some(Arc::new(move |context| Arc::new(make(context))));
        self.rules = R::rules();
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it reconciles.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Whether it runs only on the leader.
    pub(crate) fn needs_leader(&self) -> bool {
        self.needs_leader
    }

    /// Whether its queue fills before it leads.
    pub(crate) fn warms_up(&self) -> bool {
        self.warms_up
    }

    /// The kinds that wake it, and whom they wake.
    pub(crate) fn watched(&self) -> impl Iterator<Item = (&Kind, Wakes)> {
        self.watches.iter().map(|watch| (&watch.kind, watch.mapping.wakes()))
    }

    /// How many objects it reconciles at the same time, at most.
    pub(crate) fn workers(&self) -> usize {
        self.concurrency.get()
    }

    /// An empty queue as it wants one.
    pub(crate) fn new_queue(&self) -> WorkQueue<Request> {
        WorkQueue::new(self.queue)
    }

    /// Whether it was given a reconciler.
    pub(crate) fn has_reconciler(&self) -> bool {
        self.factory.is_some()
    }

    /// What its reconciler may do, by its own account.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Says what it reads from the cache.
    pub fn declare(&self, declarations: &mut Declarations) {
        for watch in &self.watches {
            if watch.metadata_only {
                declarations.reads_metadata(watch.kind.clone());
            } else {
                declarations.reads(watch.kind.clone());
            }
        }
        for kind in &self.reads {
            declarations.reads(kind.clone());
        }
        for kind in &self.live {
            declarations.reads_live(kind.clone());
        }
        for (kind, index) in &self.indexes {
            declarations.index(kind.clone(), index.clone());
        }
    }

    /// The kinds it needs before it can begin.
    pub(super) fn needs(&self) -> impl Iterator<Item = &Kind> {
        self.watches.iter().map(|watch| &watch.kind).chain(&self.reads)
    }
}

impl Controller {
    /// Reconciles objects as they are in the cache. A request for an object that is gone ends without a call.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::controller::{Action, Controller};
    ///
    /// let controller = Controller::of::<ConfigMap>().reconcile_objects::<ConfigMap, _>(|_context, settings| async move {
    ///     println!("{} has {:?}", settings.key(), settings.data);
    ///     Ok(Action::done())
    /// });
    /// # let _ = controller;
    /// ```
    pub fn reconcile_objects<K, Fut>(self, reconcile: impl Fn(Context, View<K>) -> Fut + Send + Sync + 'static) -> Self
    where
        K: DeserializeOwned + Object,
        Fut: Future<Output = Result<super::Action, super::Failure>> + Send + 'static,
    {
        let reconcile = Arc::new(reconcile);
        self.reconcile_with(move |context| {
            let (context, reconcile) = (context.clone(), Arc::clone(&reconcile));
            move |request: Request| {
                let (context, reconcile) = (context.clone(), Arc::clone(&reconcile));
                async move {
                    match context.client().get_opt::<K>(&request).await? {
                        Some(object) => reconcile(context, object).await,
                        None => Ok(super::Action::done()),
                    }
                }
            }
        })
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("watches", &self.watches)
            .field("reads", &self.reads)
            .finish_non_exhaustive()
    }
}
