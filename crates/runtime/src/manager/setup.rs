//! What the groups of a manager are made of; nothing runs yet.

use std::sync::Arc;

use super::debug::ControllerView;
use super::http_servers::HttpServers;
use super::runnable::AnyRunnable;
use super::webhooks::Webhooks;
use super::{Manager, ManagerError};
use crate::cache::{Event, Registration};
use crate::client::{Client, Fence};
use crate::clock::Clock;
use crate::controller::{Controller, ControllerStats};
use crate::events::{EventParts, EventRecorder, EventWriter};
use crate::informer::Cache;
use crate::lease::{Election, identity};
use crate::metrics::{QueueTimes, Registry, RuntimeMetrics};
use crate::random::Random;
use crate::trace::{RawChange, RawEvent, Trace};

pub(super) struct Setup {
    pub(super) serving: HttpServers,
    pub(super) webhooks: Webhooks,
    pub(super) metrics: RuntimeMetrics,
    pub(super) kube: kube::Client,
    pub(super) cache: Cache,
    pub(super) event_writer: EventWriter,
    pub(super) controllers: Vec<PreparedController>,
    pub(super) runnables: Vec<AnyRunnable>,
    pub(super) election: Option<Election>,
    /// The client of what runs on every replica.
    pub(super) every_replica: Client,
    /// The client of what only the leader runs: it refuses writes once the lease may be lost.
    pub(super) leading: Client,
    pub(super) shared: Shared,
    /// The trace hears of events as long as these are held.
    pub(super) traced_events: Vec<Registration>,
}

/// A controller with its queue and metrics.
pub(super) struct PreparedController {
    pub(super) controller: Controller,
    pub(super) view: ControllerView,
    pub(super) times: QueueTimes,
}

/// What all controllers share.
pub(super) struct Shared {
    pub(super) random: Random,
    pub(super) events: EventRecorder,
    pub(super) registry: Registry,
    pub(super) trace: Trace,
}

impl Setup {
    pub(super) fn new(manager: Manager, kube: kube::Client) -> Result<Self, ManagerError> {
        let metrics = RuntimeMetrics::register(&manager.registry)?;
        let kube = metrics.rest.count(kube, &manager.api_server);
        let random = manager.random.unwrap_or_else(Random::from_entropy);
        let clock = manager.clock.unwrap_or_else(Clock::system);
        let cache = Cache::new(manager.declarations)?;
        let traced_events = trace_events(&cache, &manager.trace);
        let fence = Fence::open();
        let client = |fence| {
            Client::fenced(kube.clone(), cache.clone(), fence)
                .with_metrics(&metrics)
                .with_clock(clock)
                .with_trace(manager.trace.clone())
        };
        let (every_replica, leading) = (client(Fence::open()), client(fence.clone()));

        let election = match manager.election {
            None => None,
            Some(options) => Some(
                Election::new(kube.clone(), options)?
                    .with_random(random.clone())
                    .with_clock(clock)
                    .with_fence(fence)
                    .with_metrics(metrics.leader.clone()),
            ),
        };
        let instance = manager
            .identity
            .or_else(|| election.as_ref().map(|election| election.identity().to_owned()))
            .unwrap_or_else(|| identity(&random));
        let parts = EventParts {
            clock,
            random: random.clone(),
            metrics: Some(metrics.events.clone()),
        };
        let (events, event_writer) = EventRecorder::with("manager", &instance, parts);
        let controllers: Vec<_> = manager
            .controllers
            .into_iter()
            .map(|(controller, stats)| PreparedController::new(controller, stats, &metrics))
            .collect();
        manager.debug.open(
            controllers.iter().map(|prepared| prepared.view.clone()).collect(),
            cache.clone(),
            election.as_ref().map(Election::leadership),
            manager.trace.clone(),
        );
        let shared = Shared {
            random,
            events,
            registry: manager.registry.clone(),
            trace: manager.trace.clone(),
        };
        let serving = HttpServers {
            addresses: manager.addresses,
            registry: manager.registry,
            healthy: manager.healthy,
            ready: manager.ready,
            cache: cache.clone(),
            debug: manager.debug,
            trace: manager.trace,
            kube: kube.clone(),
            certificate_metrics: metrics.certificates.clone(),
        };
        Ok(Setup {
            serving,
            webhooks: manager.webhooks,
            metrics,
            kube,
            cache,
            event_writer,
            controllers,
            runnables: manager.runnables,
            election,
            every_replica,
            leading,
            traced_events,
            shared,
        })
    }
}

/// Records every event of the cache. Registered before any controller is, so that an event stands before what it causes.
fn trace_events(cache: &Cache, trace: &Trace) -> Vec<Registration> {
    if !trace.has_cache_events() {
        return Vec::new();
    }
    let informers = cache.informers();
    informers
        .map(|informer| {
            let (kind, trace) = (Arc::clone(informer.store().shared_kind()), trace.clone());
            informer.add_handler(move |event: &Event| {
                trace.record(|| RawEvent::Observed(RawChange::of(&kind, event)));
            })
        })
        .collect()
}

impl PreparedController {
    fn new(controller: Controller, stats: ControllerStats, metrics: &RuntimeMetrics) -> Self {
        let view = ControllerView {
            name: controller.name().to_owned(),
            workers: controller.workers(),
            stats,
            queue: controller.new_queue(),
        };
        view.stats.show_in(metrics, &view.name, view.workers.max(1));
        let times = metrics.watch_queue(&view.name, &view.queue);
        PreparedController {
            controller,
            view,
            times,
        }
    }
}
