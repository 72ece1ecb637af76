//! Start order and stop order.

use std::collections::BTreeSet;
use std::future::Future;
use std::num::NonZeroUsize;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::debug::ControllerView;
use super::electing::{Electing, elected, lost};
use super::group::Group;
use super::runnable::{AnyRunnable, RunContext};
use super::serving::Serving;
use super::{Manager, ManagerError};
use crate::chance::Chance;
use crate::client::{Client, Fence};
use crate::clock::Clock;
use crate::controller::{Controller, Environment};
use crate::events::{EventParts, EventRecorder};
use crate::informer::Cache;
use crate::lease::{Election, identity};
use crate::metrics::{QueueTimes, Registry, RuntimeMetrics};
use crate::stop::{Stop, Stopper};

/// How long open requests and the events that are left may take at the very end.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A controller that is about to run.
struct Prepared {
    controller: Controller,
    view: ControllerView,
    times: QueueTimes,
}

/// What all controllers share.
struct Around {
    chance: Chance,
    events: EventRecorder,
    registry: Registry,
}

impl Group {
    /// Starts a controller; it reconciles nothing before it may work.
    fn start_controller(
        &mut self,
        prepared: Prepared,
        client: Client,
        around: &Around,
        may_work: impl Future<Output = ()> + Send + 'static,
    ) {
        let Prepared {
            controller,
            view,
            times,
        } = prepared;
        let environment = Environment {
            client,
            chance: around.chance.clone(),
            stop: self.stop(),
            stats: view.stats,
            events: around.events.clone(),
            registry: around.registry.clone(),
        };
        self.start(format!("controller {:?}", view.name), async move {
            controller.run_when(environment, view.queue, Some(times), may_work).await;
            Ok(())
        });
    }

    fn start_runnable(&mut self, runnable: AnyRunnable, client: Client) {
        let context = RunContext {
            client,
            stop: self.stop(),
        };
        let name = runnable.name.clone();
        self.start(name.clone(), async move {
            runnable
                .run(context)
                .await
                .map_err(|source| ManagerError::Runnable { name, source })
        });
    }
}

impl Manager {
    /// Runs until asked to stop, or until something fails.
    pub async fn run(self, kube: kube::Client, stop: Stop) -> Result<(), ManagerError> {
        self.check()?;
        let metrics = RuntimeMetrics::register(&self.registry)?;
        let kube = metrics.rest.count(kube, &self.api_server);
        let chance = self.chance.unwrap_or_else(Chance::from_entropy);
        let cache = Cache::new(self.declarations)?;
        let fence = Fence::open();
        let clock = self.clock.unwrap_or_else(Clock::system);
        let client = |fence| {
            Client::fenced(kube.clone(), cache.clone(), fence)
                .with_metrics(&metrics)
                .with_clock(clock)
        };
        let (everywhere, leading) = (client(Fence::open()), client(fence.clone()));

        let election = match self.election {
            None => None,
            Some(options) => Some(
                Election::new(kube.clone(), options)?
                    .with_chance(chance.clone())
                    .with_clock(clock)
                    .with_fence(fence)
                    .with_metrics(metrics.leader.clone()),
            ),
        };
        let instance = self
            .identity
            .or_else(|| election.as_ref().map(|election| election.identity().to_owned()))
            .unwrap_or_else(|| identity(&chance));
        let parts = EventParts {
            clock,
            chance: chance.clone(),
            metrics: Some(metrics.events.clone()),
        };
        let (events, writer) = EventRecorder::with("manager", &instance, parts);
        let prepared: Vec<_> = self
            .controllers
            .into_iter()
            .map(|(controller, stats)| {
                let view = ControllerView {
                    name: controller.name().to_owned(),
                    workers: controller.workers(),
                    stats,
                    queue: controller.new_queue(),
                };
                let workers = NonZeroUsize::new(view.workers).unwrap_or(NonZeroUsize::MIN);
                metrics.watch_controller(&view.name, workers, view.stats.clone());
                let times = metrics.watch_queue(&view.name, &view.queue);
                Prepared {
                    controller,
                    view,
                    times,
                }
            })
            .collect();

        let (last, end) = Stopper::new();
        let mut services = JoinSet::new();
        self.debug.open(
            prepared.iter().map(|prepared| prepared.view.clone()).collect(),
            cache.clone(),
            election.as_ref().map(Election::leadership),
        );
        let serving = Serving {
            addresses: self.addresses,
            registry: self.registry,
            healthy: self.healthy,
            ready: self.ready,
            cache: cache.clone(),
            debug: self.debug,
            kube: kube.clone(),
            certificate_metrics: metrics.certificates.clone(),
        };
        let started = self.webhooks.announce(&serving.ready);
        serving.start(&end, &mut services).await?;
        let webhooks = self.webhooks.start(&everywhere, &metrics, &started).await?;
        services.spawn(writer.flush_within(LAST_WORDS).run(everywhere.clone(), end));
        let watches = cache.start(&kube, &chance);

        let registry = metrics.registry().clone();
        let around = Around {
            chance,
            events,
            registry,
        };
        let (mut others, mut leaders) = (Group::new(), Group::new());
        let (led, free): (Vec<_>, Vec<_>) = prepared
            .into_iter()
            .partition(|prepared| prepared.controller.needs_leader());
        let (led_runnables, free_runnables): (Vec<_>, Vec<_>) =
            self.runnables.into_iter().partition(|runnable| runnable.needs_leader);
        for prepared in free {
            others.start_controller(prepared, everywhere.clone(), &around, std::future::ready(()));
        }
        for runnable in free_runnables {
            others.start_runnable(runnable, everywhere.clone());
        }
        let mut electing = election.map(|election| Electing::start(election.with_events(around.events.clone())));
        let (warming, led): (Vec<_>, Vec<_>) = led.into_iter().partition(|prepared| prepared.controller.warms_up());
        for prepared in warming {
            leaders.start_controller(prepared, leading.clone(), &around, elected(electing.as_ref()));
        }

        let ended = async {
            tokio::select! {
                biased;
                () = stop.stopped() => return Ok(()),
                error = others.failed() => return Err(error),
                error = leaders.failed() => return Err(error),
                () = elected(electing.as_ref()) => {}
            }
            for prepared in led {
                leaders.start_controller(prepared, leading.clone(), &around, std::future::ready(()));
            }
            for runnable in led_runnables {
                leaders.start_runnable(runnable, leading.clone());
            }
            tokio::select! {
                biased;
                () = stop.stopped() => Ok(()),
                loss = lost(electing.as_mut()) => Err(ManagerError::Lease(loss)),
                error = others.failed() => Err(error),
                error = leaders.failed() => Err(error),
            }
        }
        .await;

        let timeout = self.graceful_shutdown;
        let deadline = Instant::now() + timeout;
        let finishing = async {
            let (left, right) = tokio::join!(
                async {
                    match &ended {
                        // Somebody else may lead already: what the leader was at is dropped, not finished.
                        Err(ManagerError::Lease(_)) => drop(leaders),
                        _ => return leaders.finish(deadline, timeout).await,
                    }
                    Ok(())
                },
                others.finish(deadline, timeout)
            );
            left.and(right)
        };
        // Finishing may take longer than a lease lasts without renewal, so it is held until then.
        let finished = tokio::select! {
            biased;
            finished = finishing => finished,
            loss = lost(electing.as_mut()) => Err(ManagerError::Lease(loss)),
        };
        if let Some(electing) = electing {
            electing.finish().await;
        }
        drop(watches);
        webhooks.finish(deadline.max(Instant::now() + LAST_WORDS)).await;
        last.stop();
        // Nobody waits for ever for a server that does not answer.
        let _ = tokio::time::timeout(LAST_WORDS, async { while services.join_next().await.is_some() {} }).await;
        ended.and(finished)
    }

    fn check(&self) -> Result<(), ManagerError> {
        self.webhooks.check()?;
        let mut names = BTreeSet::new();
        for (controller, _) in &self.controllers {
            if !names.insert(controller.name()) {
                return Err(ManagerError::SameName(controller.name().to_owned()));
            }
            if !controller.has_reconciler() {
                return Err(ManagerError::NoReconciler(controller.name().to_owned()));
            }
        }
        Ok(())
    }
}
