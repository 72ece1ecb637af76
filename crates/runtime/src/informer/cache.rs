//! Stores, the reflectors that feed them, and the tasks that run those.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::declarations::{Declaration, DeclarationError, Declarations, InformerOptions};
use super::fields;
use super::first_need::{FirstNeed, NoObjects};
use crate::cache::{DeclaredIndex, EventHandler, Lister, Registration, Store, UnknownIndex};
use crate::object::{Kind, Object, Record};
use crate::random::Random;
use crate::reflector::{Health, Reflector, Target, Trouble};

/// One kind in the cache: its store, and what of the kind it covers.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
/// # let kube = server.client();
/// # let mut declarations = kubewright_runtime::informer::Declarations::default();
/// # declarations.reads(kubewright_runtime::object::Kind::of::<k8s_openapi::api::core::v1::Namespace>());
/// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
/// # let _watches = cache.start(&kube, &kubewright_runtime::random::Random::seeded(1));
/// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
/// use k8s_openapi::api::core::v1::Namespace;
/// use kubewright_runtime::cache::{Event, Query};
/// use kubewright_runtime::object::Kind;
///
/// let cache = client.cache();
/// let namespaces = cache.informer(&Kind::of::<Namespace>()).unwrap();
/// let _registration = namespaces.add_handler(|event: &Event| println!("{}", event.key()));
/// cache.synced().await;
/// assert!(namespaces.has_synced() && namespaces.troubles().is_empty());
/// assert!(!namespaces.is_missing()); // the server has the kind
/// assert!(namespaces.lister::<Namespace>().list(&Query::all())?.len() >= 4);
/// # Ok(())
/// # }
/// ```
pub struct Informer {
    store: Store,
    options: InformerOptions,
    metadata_only: bool,
    health: Mutex<Vec<watch::Receiver<Health>>>,
}

impl Informer {
    fn new(kind: &Kind, declaration: Declaration, default_namespaces: Option<&BTreeSet<String>>) -> Self {
        let mut options = declaration.options.unwrap_or_else(|| InformerOptions {
            namespaces: default_namespaces.cloned(),
            ..InformerOptions::default()
        });
        if !kind.is_namespaced() {
            options.namespaces = None;
        }
        Informer {
            store: Store::new(kind.clone(), declaration.indexes),
            options,
            metadata_only: !declaration.whole,
            health: Mutex::default(),
        }
    }

    /// What it knows.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Reads what it knows as a Rust type.
    pub fn lister<K: DeserializeOwned + Send + Sync + 'static>(&self) -> Lister<K> {
        Lister::new(self.store.clone())
    }

    /// Tells a handler of every object there is and of every change from then on. See [`Store::add_handler`].
    pub fn add_handler(&self, handler: impl EventHandler + 'static) -> Registration {
        self.store.add_handler(Arc::new(handler))
    }

    /// Whether it has seen the state of the cluster.
    pub fn has_synced(&self) -> bool {
        self.store.is_synced()
    }

    /// Whether only metadata is kept.
    pub fn is_metadata_only(&self) -> bool {
        self.metadata_only
    }

    /// What is wrong with its watches at the moment.
    pub fn troubles(&self) -> Vec<Trouble> {
        let health = self.health.lock();
        health
            .iter()
            .filter_map(|health| health.borrow().trouble().cloned())
            .collect()
    }

    /// Whether the server does not have the kind: its CRD is not installed, or was deleted. There are no objects of it then.
    pub fn is_missing(&self) -> bool {
        let health = self.health.lock();
        !health.is_empty() && health.iter().all(|health| health.borrow().is_missing())
    }

    /// Whether the watches of this informer show an object: its namespace, labels and fields are covered.
    pub(crate) fn covers(&self, record: &Record) -> bool {
        let in_namespace = match (&self.options.namespaces, record.key().namespace()) {
            (Some(namespaces), Some(namespace)) => namespaces.contains(namespace),
            _ => true,
        };
        in_namespace
            && record.matches(&self.options.labels)
            && self
                .options
                .fields
                .as_deref()
                .is_none_or(|selector| fields::matches(selector, record))
    }

    /// Whether the watches of this informer show all objects of the kind, as they are.
    pub fn covers_everything(&self) -> bool {
        let InformerOptions {
            namespaces,
            labels,
            fields,
            transform,
            resync: _,
        } = &self.options;
        namespaces.is_none() && labels.is_everything() && fields.is_none() && transform.is_none()
    }

    fn targets(&self) -> Vec<Target> {
        let mut target = Target::new(self.store.kind().clone()).labels(self.options.labels.clone());
        target.fields.clone_from(&self.options.fields);
        target.transform.clone_from(&self.options.transform);
        target.metadata_only = self.metadata_only;
        match &self.options.namespaces {
            None => vec![target],
            Some(namespaces) => namespaces
                .iter()
                .map(|namespace| target.clone().namespace(namespace))
                .collect(),
        }
    }

    fn start(&self, start: &Start<'_>, tasks: &mut JoinSet<()>) {
        let Start {
            client,
            random,
            first_need,
        } = *start;
        let mut health = Vec::new();
        for target in self.targets() {
            let namespace = target.namespace.clone();
            let writer = || self.store.writer(namespace.as_deref());
            let reflector = Reflector::new(client.clone(), target, writer(), random.clone());
            health.push(reflector.health());
            match first_need.and_then(|first_need| first_need.look(self.store.kind())) {
                None => tasks.spawn(reflector.run()),
                Some(NoObjects {
                    resource_version,
                    until,
                }) => {
                    let writer = writer();
                    writer.begin();
                    writer.finish(&resource_version);
                    tasks.spawn(async move {
                        until.await;
                        reflector.run().await;
                    })
                }
            };
        }
        *self.health.lock() = health;
        if let Some(period) = self.options.resync {
            tasks.spawn(resync(self.store.clone(), period, random.clone()));
        }
    }
}

impl fmt::Debug for Informer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Informer")
            .field("store", &self.store)
            .field("metadata_only", &self.metadata_only)
            .finish_non_exhaustive()
    }
}

/// What informers are started with.
#[derive(Clone, Copy)]
struct Start<'a> {
    client: &'a kube::Client,
    random: &'a Random,
    first_need: Option<&'a FirstNeed>,
}

async fn resync(store: Store, period: Duration, random: Random) {
    store.synced().await;
    loop {
        tokio::time::sleep(random.jittered(period, 0.1)).await;
        store.resync();
    }
}

/// The informers of an operator. Cloning shares them.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
/// # let kube = server.client();
/// use k8s_openapi::api::core::v1::Namespace;
/// use kubewright_runtime::random::Random;
/// use kubewright_runtime::informer::{Cache, Declarations};
/// use kubewright_runtime::object::Kind;
///
/// let mut declarations = Declarations::default();
/// declarations.reads(Kind::of::<Namespace>());
/// let cache = Cache::new(declarations)?;
/// let tasks = cache.start(&kube, &Random::from_entropy()); // dropping them ends all watches
/// cache.synced().await;
/// let namespaces = cache.informer(&Kind::of::<Namespace>()).unwrap();
/// assert!(namespaces.store().get("default").is_some());
/// assert_eq!(cache.informers().count(), 1);
/// # drop(tasks);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cache {
    informers: Arc<BTreeMap<Kind, Informer>>,
    live: Arc<BTreeSet<Kind>>,
    first_need: Option<FirstNeed>,
}

impl Cache {
    /// Informers for what was declared. Nothing is watched yet.
    pub fn new(declarations: Declarations) -> Result<Self, DeclarationError> {
        declarations.check()?;
        let namespaces = declarations.namespaces.as_ref();
        let first_need = declarations.first_need;
        let live = declarations.kinds.iter().filter(|(_, declaration)| declaration.live);
        let live = live.map(|(kind, _)| kind.clone()).collect();
        let informers = declarations
            .kinds
            .into_iter()
            .filter(|(_, declaration)| declaration.wanted)
            .map(|(kind, declaration)| {
                let informer = Informer::new(&kind, declaration, namespaces);
                (kind, informer)
            })
            .collect();
        Ok(Cache {
            informers: Arc::new(informers),
            live: Arc::new(live),
            first_need,
        })
    }

    /// Whether reads of a kind were declared to ask the server.
    pub(crate) fn is_live(&self, kind: &Kind) -> bool {
        self.live.contains(kind)
    }

    /// The informer of a kind, if it was declared.
    pub fn informer(&self, kind: &Kind) -> Option<&Informer> {
        self.informers.get(kind)
    }

    /// An index of a kind, for who reads by it without a reconciler, as a webhook may. It is declared with
    /// [`Operator::index`](crate::operator::Operator::index); the error names the code that asks for one that nobody declares. A
    /// reconciler asks its [`Context`](crate::controller::Context::index).
    #[track_caller]
    pub fn index<K: Object>(&self, name: impl Into<Arc<str>>) -> Result<DeclaredIndex<K>, UnknownIndex> {
        let name = name.into();
        self.check_index::<K>(&name, Location::caller())?;
        Ok(DeclaredIndex::new(name))
    }

    /// Fails unless the kind has an index of that name. `asked_at` is the code that wants to read by it.
    pub(crate) fn check_index<K: Object>(
        &self,
        name: &str,
        asked_at: &'static Location<'static>,
    ) -> Result<(), UnknownIndex> {
        let kind = Kind::of::<K>();
        match self.informer(&kind) {
            Some(informer) => informer.store.check_index(name, asked_at),
            None => Err(UnknownIndex {
                kind: kind.to_string(),
                index: name.to_owned(),
                asked_at,
            }),
        }
    }

    /// All informers.
    pub fn informers(&self) -> impl Iterator<Item = &Informer> {
        self.informers.values()
    }

    /// Begins to list and watch everything. Each watch has a task of its own, so that none holds up another.
    pub fn start(&self, client: &kube::Client, random: &Random) -> CacheTasks {
        let mut tasks = JoinSet::new();
        let start = Start {
            client,
            random,
            first_need: self.first_need.as_ref(),
        };
        for informer in self.informers.values() {
            informer.start(&start, &mut tasks);
        }
        CacheTasks { _tasks: tasks }
    }

    /// What says when kinds are watched, if not from the beginning: for caches that are to do the same.
    pub fn first_need(&self) -> Option<&FirstNeed> {
        self.first_need.as_ref()
    }

    /// Waits until every informer has seen the state of the cluster.
    pub async fn synced(&self) {
        for informer in self.informers.values() {
            informer.store.synced().await;
        }
    }

    /// What is wrong with any watch at the moment.
    pub fn troubles(&self) -> Vec<Trouble> {
        self.informers.values().flat_map(Informer::troubles).collect()
    }
}

/// The running watches of a [`Cache`]; dropping them ends them.
#[derive(Debug)]
#[must_use = "dropping the tasks ends all watches"]
pub struct CacheTasks {
    _tasks: JoinSet<()>,
}
