//! Stores, the reflectors that feed them, and the tasks that run those.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::declarations::{Declaration, DeclarationError, Declarations, InformerOptions};
use super::fields;
use crate::cache::Store;
use crate::chance::Chance;
use crate::object::{Kind, Record};
use crate::reflector::{Health, Reflector, Target, Trouble};

/// One kind in the cache: its store, and what of the kind it covers.
pub struct Informer {
    store: Store,
    options: InformerOptions,
    metadata_only: bool,
    health: Mutex<Vec<watch::Receiver<Health>>>,
}

impl Informer {
    fn new(
        kind: &Kind,
        declaration: Declaration,
        default_namespaces: Option<&std::collections::BTreeSet<String>>,
    ) -> Self {
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

    /// Whether the watches of this informer show an object: its namespace, labels and fields are covered.
    pub fn covers(&self, record: &Record) -> bool {
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

    fn start(&self, client: &kube::Client, chance: &Chance, tasks: &mut JoinSet<()>) {
        let reflectors: Vec<_> = self
            .targets()
            .into_iter()
            .map(|target| {
                let writer = self.store.writer(target.namespace.as_deref());
                Reflector::new(client.clone(), target, writer, chance.clone())
            })
            .collect();
        *self.health.lock() = reflectors.iter().map(Reflector::health).collect();
        for reflector in reflectors {
            tasks.spawn(reflector.run());
        }
        if let Some(period) = self.options.resync {
            tasks.spawn(resync(self.store.clone(), period, chance.clone()));
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

async fn resync(store: Store, period: Duration, chance: Chance) {
    store.synced().await;
    loop {
        tokio::time::sleep(chance.jittered(period, 0.1)).await;
        store.resync();
    }
}

/// The informers of an operator. Cloning shares them.
///
/// ```no_run
/// # async fn example(client: kube::Client) {
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_runtime::cache::Lister;
/// use kubewright_runtime::chance::Chance;
/// use kubewright_runtime::informer::{Cache, Declarations};
/// use kubewright_runtime::object::Kind;
///
/// let mut declarations = Declarations::default();
/// declarations.reads(Kind::of::<Pod>());
/// let cache = Cache::new(declarations).unwrap();
/// let tasks = cache.start(&client, &Chance::from_entropy()); // dropping them ends all watches
/// cache.synced().await;
/// let pods = Lister::<Pod>::new(cache.informer(&Kind::of::<Pod>()).unwrap().store().clone());
/// # drop(tasks);
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cache {
    informers: Arc<BTreeMap<Kind, Informer>>,
}

impl Cache {
    /// Informers for what was declared. Nothing is watched yet.
    pub fn new(declarations: Declarations) -> Result<Self, DeclarationError> {
        declarations.check()?;
        let namespaces = declarations.namespaces.as_ref();
        let informers = declarations
            .kinds
            .into_iter()
            .map(|(kind, declaration)| {
                let informer = Informer::new(&kind, declaration, namespaces);
                (kind, informer)
            })
            .collect();
        Ok(Cache {
            informers: Arc::new(informers),
        })
    }

    /// The informer of a kind, if it was declared.
    pub fn informer(&self, kind: &Kind) -> Option<&Informer> {
        self.informers.get(kind)
    }

    /// All informers.
    pub fn informers(&self) -> impl Iterator<Item = &Informer> {
        self.informers.values()
    }

    /// Begins to list and watch everything. Each watch has a task of its own, so that none holds up another.
    pub fn start(&self, client: &kube::Client, chance: &Chance) -> CacheTasks {
        let mut tasks = JoinSet::new();
        for informer in self.informers.values() {
            informer.start(client, chance, &mut tasks);
        }
        CacheTasks { _tasks: tasks }
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
