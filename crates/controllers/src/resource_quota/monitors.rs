//! Watches of the kinds that quotas count: each wakes the quotas of the namespace in which something happened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use kubewright_runtime::cache::{Event, Registration};
use kubewright_runtime::client::Client;
use kubewright_runtime::controller::Trigger;
use kubewright_runtime::informer::{Cache, CacheTasks, Declarations, Informer, InformerOptions};
use kubewright_runtime::object::{Kind, ObjectKey};
use kubewright_runtime::random::Random;
use parking_lot::Mutex;

/// How a kind is watched.
struct Monitor {
    cache: Cache,
    _tasks: Option<CacheTasks>,
    _handler: Registration,
}

/// The quotas that want to be woken, by namespace.
#[derive(Default)]
struct Quotas {
    trigger: OnceLock<Trigger>,
    names: Mutex<BTreeMap<String, BTreeSet<String>>>,
}

/// The watches of all kinds that a quota counts.
pub(super) struct Monitors {
    quotas: Arc<Quotas>,
    random: Random,
    running: Mutex<BTreeMap<Kind, Monitor>>,
}

impl Monitors {
    pub(super) fn new(random: Option<Random>) -> Self {
        Monitors {
            quotas: Arc::default(),
            random: random.unwrap_or_else(Random::from_entropy),
            running: Mutex::default(),
        }
    }

    /// Sets what wakes the controller.
    pub(super) fn wakes(&self, trigger: Trigger) {
        // A controller has one queue for all its life.
        let _ = self.quotas.trigger.set(trigger);
    }

    /// What happens in the namespace of this quota is its affair.
    pub(super) fn remember(&self, quota: &ObjectKey) {
        let namespace = quota.namespace().unwrap_or_default().to_owned();
        let mut names = self.quotas.names.lock();
        names.entry(namespace).or_default().insert(quota.name().to_owned());
    }

    /// The quota is gone.
    pub(super) fn forget(&self, quota: &ObjectKey) {
        let mut names = self.quotas.names.lock();
        let namespace = quota.namespace().unwrap_or_default();
        if let Some(known) = names.get_mut(namespace) {
            known.remove(quota.name());
            if known.is_empty() {
                names.remove(namespace);
            }
        }
    }

    /// Watches these kinds, if they are not watched yet, and waits until the watches have begun: what is counted after that is
    /// counted again when it changes.
    pub(super) async fn watch(&self, client: &Client, kinds: &[Kind]) {
        let caches: Vec<(Kind, Cache)> = {
            let mut running = self.running.lock();
            for kind in kinds {
                if !running.contains_key(kind)
                    && let Some(monitor) = self.start(client, kind)
                {
                    running.insert(kind.clone(), monitor);
                }
            }
            let caches = kinds
                .iter()
                .filter_map(|kind| Some((kind.clone(), running.get(kind)?.cache.clone())));
            caches.collect()
        };
        for (kind, cache) in caches {
            if let Some(informer) = cache.informer(&kind) {
                informer.store().synced().await;
            }
        }
    }

    fn start(&self, client: &Client, kind: &Kind) -> Option<Monitor> {
        let cached = client.cache().informer(kind);
        if let Some(informer) = cached.filter(|informer| informer.covers_everything()) {
            return Some(Monitor {
                cache: client.cache().clone(),
                _tasks: None,
                _handler: self.attach(informer),
            });
        }
        let mut declarations = Declarations::default();
        if let Some(first_need) = client.cache().first_need() {
            declarations.first_need(first_need.clone());
        }
        declarations.reads_metadata(kind.clone());
        let options = InformerOptions {
            resync: None,
            ..InformerOptions::default()
        };
        declarations.configure(kind.clone(), options).ok()?;
        let cache = Cache::new(declarations).ok()?;
        let handler = self.attach(cache.informer(kind)?);
        Some(Monitor {
            _tasks: Some(cache.start(client.kube(), &self.random)),
            _handler: handler,
            cache,
        })
    }

    fn attach(&self, informer: &Informer) -> Registration {
        let quotas = Arc::clone(&self.quotas);
        informer.add_handler(move |event: &Event| {
            let object = match event {
                // What was there before the watch is counted anyway.
                Event::Added { initial: true, .. } => return,
                Event::Added { object, .. } => object,
                Event::Updated { new, .. } => new,
                Event::Deleted { last, .. } => last,
            };
            quotas.wake(object.key().namespace().unwrap_or_default());
        })
    }
}

impl Quotas {
    fn wake(&self, namespace: &str) {
        let names = self.names.lock();
        let (Some(trigger), Some(names)) = (self.trigger.get(), names.get(namespace)) else {
            return;
        };
        for name in names {
            trigger.wake(ObjectKey::namespaced(namespace, name));
        }
    }
}
