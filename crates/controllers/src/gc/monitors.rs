//! Watches every kind that can be deleted, also those that are defined later.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubewright_runtime::cache::{Event, Registration};
use kubewright_runtime::chance::Chance;
use kubewright_runtime::client::Client;
use kubewright_runtime::informer::{Cache, CacheTasks, Declarations};
use kubewright_runtime::object::Kind;
use kubewright_runtime::operator::Operator;
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::sync::{Notify, RwLock, RwLockReadGuard};

use super::Collector;
use crate::support::discovery::{self, Found};

/// How long to wait before the server is asked again what it serves.
const PAUSE: Duration = Duration::from_secs(1);

/// What is read of every object.
#[derive(Deserialize)]
struct Metadata {
    metadata: ObjectMeta,
}

struct Monitor {
    cache: Cache,
    _tasks: CacheTasks,
    _handler: Option<Registration>,
}

/// The watches of all kinds.
pub(super) struct Monitors {
    collector: Arc<Collector>,
    chance: Chance,
    /// Held while kinds are added: what is known is not complete then.
    incomplete: RwLock<()>,
    running: Mutex<HashMap<Kind, Monitor>>,
    served: Mutex<Vec<Found>>,
}

/// Definitions of kinds are watched, to know when to look for kinds.
pub(super) fn declare(operator: Operator) -> Operator {
    operator.reads::<CustomResourceDefinition>()
}

impl Monitors {
    pub(super) fn new(collector: Arc<Collector>, chance: Option<Chance>) -> Self {
        Monitors {
            collector,
            chance: chance.unwrap_or_else(Chance::from_entropy),
            incomplete: RwLock::new(()),
            running: Mutex::default(),
            served: Mutex::default(),
        }
    }

    /// Waits until everything is known.
    pub(super) async fn complete(&self) -> RwLockReadGuard<'_, ()> {
        self.incomplete.read().await
    }

    /// The kind that an owner is said to be of, in the version that is watched.
    pub(super) fn kind(&self, api_version: &str, kind: &str) -> Option<Kind> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let served = self.served.lock();
        let found = served
            .iter()
            .find(|found| found.kind.group() == group && found.kind.kind() == kind);
        found.map(|found| found.kind.clone())
    }

    /// Keeps watches of all kinds.
    pub(super) async fn run(self: Arc<Self>, client: Client) {
        let changed = Arc::new(Notify::new());
        let definitions = client.cache().informer(&Kind::of::<CustomResourceDefinition>());
        let _handler = definitions.map(|definitions| {
            let changed = Arc::clone(&changed);
            definitions.add_handler(move |_: &Event| changed.notify_one())
        });
        loop {
            let incomplete = self.incomplete.write().await;
            while let Err(error) = self.refresh(client.kube()).await {
                tracing::warn!(%error, "the garbage collector waits");
                tokio::time::sleep(PAUSE).await;
            }
            let caches: Vec<Cache> = self
                .running
                .lock()
                .values()
                .map(|monitor| monitor.cache.clone())
                .collect();
            for cache in caches {
                cache.synced().await;
            }
            drop(incomplete);
            changed.notified().await;
        }
    }

    /// Begins to watch kinds that are new, and stops to watch those that are gone.
    async fn refresh(self: &Arc<Self>, kube: &kube::Client) -> Result<(), discovery::DiscoveryError> {
        let served = discovery::kinds(kube).await?;
        let wanted: Vec<Kind> = served
            .iter()
            .filter(|found| found.can(&["delete", "list", "watch"]) && !is_ignored(&found.kind))
            .map(|found| found.kind.clone())
            .collect();
        *self.served.lock() = served;
        let mut running = self.running.lock();
        running.retain(|kind, _| wanted.contains(kind));
        for kind in wanted {
            if !running.contains_key(&kind)
                && let Some(monitor) = self.start(kube, &kind)
            {
                running.insert(kind, monitor);
            }
        }
        Ok(())
    }

    fn start(self: &Arc<Self>, kube: &kube::Client, kind: &Kind) -> Option<Monitor> {
        let mut declarations = Declarations::default();
        declarations.reads_metadata(kind.clone());
        let cache = Cache::new(declarations).ok()?;
        let collector = Arc::clone(&self.collector);
        let own = kind.clone();
        let handler = cache.informer(kind).map(|informer| {
            informer.add_handler(move |event: &Event| {
                let record = event.object();
                if matches!(event, Event::Deleted { .. }) {
                    return collector.forget(&record.uid());
                }
                if let Ok(object) = record.decode::<Metadata>() {
                    collector.observe(&own, record.key(), &object.metadata);
                }
            })
        });
        Some(Monitor {
            _tasks: cache.start(kube, &self.chance),
            _handler: handler,
            cache,
        })
    }
}

/// Events own nothing and are owned by nobody.
fn is_ignored(kind: &Kind) -> bool {
    kind.plural() == "events" && matches!(kind.group(), "" | "events.k8s.io")
}
