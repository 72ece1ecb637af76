//! Watches every kind that can be deleted, also those that are defined later.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kubewright_runtime::cache::{Event, Query, Registration};
use kubewright_runtime::client::Client;
use kubewright_runtime::informer::{Cache, CacheTasks, Declarations, Informer, InformerOptions};
use kubewright_runtime::object::Kind;
use kubewright_runtime::random::Random;
use parking_lot::Mutex;
use tokio::sync::{Notify, RwLock, RwLockReadGuard};

use super::Collector;
use super::definitions::{self, Defined};
use crate::support::discovery::{self, DiscoveredApi};

/// How long to wait before the server is asked again what it serves, if it did not say.
const PAUSE: Duration = Duration::from_secs(1);
/// The same if it does not serve all that is defined: at first, and at most.
const SHORT_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// New kinds are waited for so long; then the others are attended to, as upstream does: a kind that cannot be listed, since
/// its conversion fails, must not keep everything else alive.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a kind is watched.
struct Monitor {
    /// What shows it: a watch of its metadata, unless it is cached already.
    cache: Cache,
    _tasks: Option<CacheTasks>,
    _handler: Option<Registration>,
}

/// The watches of all kinds.
pub(super) struct Monitors {
    collector: Arc<Collector>,
    random: Random,
    /// Held while kinds are added: what is known is not complete then.
    incomplete: RwLock<()>,
    /// Told when kinds may have come or gone.
    kinds_changed: Arc<Notify>,
    running: Mutex<BTreeMap<Kind, Monitor>>,
    served: Mutex<DiscoveredApi>,
}

impl Monitors {
    pub(super) fn new(collector: Arc<Collector>, random: Option<Random>) -> Self {
        Monitors {
            collector,
            random: random.unwrap_or_else(Random::from_entropy),
            incomplete: RwLock::new(()),
            kinds_changed: Arc::default(),
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
            .kinds
            .iter()
            .find(|found| found.kind.group() == group && found.kind.kind() == kind);
        found.map(|found| found.kind.clone())
    }

    /// Keeps watches of all kinds.
    pub(super) async fn run(self: Arc<Self>, client: Client) {
        let mut pause = SHORT_PAUSE;
        loop {
            let incomplete = self.incomplete.write().await;
            let refreshed = self.refresh(&client).await;
            if tokio::time::timeout(PATIENCE, self.synced()).await.is_err() {
                tracing::warn!("the garbage collector does not know all objects yet, and goes on without them");
            }
            drop(incomplete);
            let again = match refreshed {
                Err(error) => {
                    tracing::warn!(%error, "the garbage collector asks again what there is");
                    PAUSE
                }
                Ok(()) if self.serves_all(&client) => {
                    pause = SHORT_PAUSE;
                    self.kinds_changed.notified().await;
                    continue;
                }
                // A server may tell of a definition before it serves the kind.
                Ok(()) => {
                    let longer = LONGEST_PAUSE.min(pause * 2);
                    std::mem::replace(&mut pause, longer)
                }
            };
            // The server is asked again whether or not something changed.
            let _ = tokio::time::timeout(again, self.kinds_changed.notified()).await;
        }
    }

    /// Whether the server serves everything that it says there is.
    fn serves_all(&self, client: &Client) -> bool {
        let served = self.served.lock();
        let has = |defined: &Defined| {
            let mut kinds = served.kinds.iter().map(|found| &found.kind);
            kinds.any(|kind| kind.group() == defined.group && kind.plural() == defined.plural)
        };
        let running = self.running.lock();
        let services = running.iter().filter(|(kind, _)| definitions::is_service(kind));
        let services = services.filter_map(|(kind, monitor)| monitor.cache.informer(kind));
        let mut services = services.flat_map(|informer| informer.store().list(&Query::all()).unwrap_or_default());
        served.stale.is_empty()
            && definitions::all(client).all(|defined| has(&defined))
            && services.all(|service| served.versions.contains(service.key().name()))
    }

    async fn synced(&self) {
        let caches: Vec<(Kind, Cache)> = {
            let running = self.running.lock();
            let caches = running
                .iter()
                .map(|(kind, monitor)| (kind.clone(), monitor.cache.clone()));
            caches.collect()
        };
        for (kind, cache) in caches {
            if let Some(informer) = cache.informer(&kind) {
                informer.store().synced().await;
            }
        }
    }

    /// Begins to watch kinds that are new, and stops to watch those that are gone.
    async fn refresh(self: &Arc<Self>, client: &Client) -> Result<(), discovery::DiscoveryError> {
        let mut served = discovery::served(client.kube()).await?;
        // What was known of a version whose server says nothing just now goes on to be known.
        let before = self.served.lock().kinds.clone();
        let kept = before.into_iter().filter(|found| served.is_stale(&found.kind));
        let kept: Vec<_> = kept.collect();
        served.kinds.extend(kept);
        let wanted: Vec<Kind> = served
            .kinds
            .iter()
            .filter(|found| found.can(&["delete", "list", "watch"]) && !is_ignored(&found.kind))
            .map(|found| found.kind.clone())
            .collect();
        *self.served.lock() = served;
        let mut running = self.running.lock();
        running.retain(|kind, _| wanted.contains(kind));
        for kind in wanted {
            if !running.contains_key(&kind)
                && let Some(monitor) = self.start(client, &kind)
            {
                running.insert(kind, monitor);
            }
        }
        Ok(())
    }

    fn start(self: &Arc<Self>, client: &Client, kind: &Kind) -> Option<Monitor> {
        let cached = client.cache().informer(kind);
        if let Some(informer) = cached.filter(|informer| informer.covers_everything()) {
            return Some(Monitor {
                cache: client.cache().clone(),
                _tasks: None,
                _handler: Some(self.attach(informer, kind)),
            });
        }
        let mut declarations = Declarations::default();
        if let Some(first_need) = client.cache().first_need() {
            declarations.first_need(first_need.clone());
        }
        declarations.reads_metadata(kind.clone());
        // An object that a resync reports again was handled before.
        let options = InformerOptions {
            resync: None,
            ..InformerOptions::default()
        };
        declarations.configure(kind.clone(), options).ok()?;
        let cache = Cache::new(declarations).ok()?;
        let handler = cache.informer(kind).map(|informer| self.attach(informer, kind));
        Some(Monitor {
            _tasks: Some(cache.start(client.kube(), &self.random)),
            _handler: handler,
            cache,
        })
    }

    fn attach(&self, informer: &Informer, kind: &Kind) -> Registration {
        let collector = Arc::clone(&self.collector);
        let own = kind.clone();
        let kinds_changed = definitions::defines(kind).then(|| Arc::clone(&self.kinds_changed));
        informer.add_handler(move |event: &Event| {
            match event {
                Event::Deleted { last, .. } => collector.forget(&last.uid().into()),
                Event::Added { object, .. } => collector.observe(&own, object),
                // Most changes leave the owners as they are.
                Event::Updated { old, new } if old.same_ownership(new) => {}
                Event::Updated { new, .. } => collector.observe(&own, new),
            }
            // What is there at first is compared with what is served anyway.
            let is_news = !event.is_background() && !matches!(event, Event::Added { initial: true, .. });
            if let Some(kinds_changed) = kinds_changed.as_ref().filter(|_| is_news) {
                kinds_changed.notify_one();
            }
        })
    }
}

/// Events neither own objects nor have owners.
fn is_ignored(kind: &Kind) -> bool {
    kind.plural() == "events" && matches!(kind.group(), "" | "events.k8s.io")
}
