//! Everything that a manager runs, in groups that start and stop in order.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

use super::ManagerError;
use super::election::{ElectionTask, elected, lost};
use super::group::{ServiceGroup, TaskGroup};
use super::runnable::{AnyRunnable, RunContext};
use super::setup::{PreparedController, Setup, Shared};
use super::webhooks::Served;
use crate::cache::Registration;
use crate::client::Client;
use crate::controller::Environment;
use crate::informer::CacheTasks;
use crate::stop::Stop;

/// How long open HTTP requests and unwritten events may take at the very end.
const FINAL_FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// The groups of a running manager, in the order in which they start; [`Groups::stop`] goes the other way.
pub(super) struct Groups {
    /// Probes, metrics and the debug page, and the writer of events, which outlives all who record any.
    http_servers: ServiceGroup,
    webhooks: Served,
    caches: CacheTasks,
    /// Controllers and runnables that run on every replica.
    others: TaskGroup,
    election: Option<ElectionTask>,
    /// Controllers that warm up from the start, and the rest of the leader's once this replica is elected.
    leader: TaskGroup,
    waiting: WaitingForLease,
    _traced_events: Vec<Registration>,
}

/// Controllers and runnables that only the leader runs.
struct WaitingForLease {
    controllers: Vec<PreparedController>,
    runnables: Vec<AnyRunnable>,
    client: Client,
    shared: Shared,
}

impl Groups {
    /// Starts all but what waits for the lease.
    pub(super) async fn start(setup: Setup) -> Result<Self, ManagerError> {
        let Setup {
            serving,
            webhooks,
            metrics,
            kube,
            cache,
            event_writer,
            controllers,
            runnables,
            election,
            every_replica,
            leading,
            shared,
            traced_events,
        } = setup;
        let (led_controllers, other_controllers): (Vec<_>, Vec<_>) = controllers
            .into_iter()
            .partition(|prepared| prepared.controller.needs_leader());
        let (led_runnables, other_runnables): (Vec<_>, Vec<_>) =
            runnables.into_iter().partition(|runnable| runnable.needs_leader);
        let (warming, led_controllers): (Vec<_>, Vec<_>) = led_controllers
            .into_iter()
            .partition(|prepared| prepared.controller.warms_up());

        let mut http_servers = ServiceGroup::new();
        let webhook_address = webhooks.announce(&serving.ready);
        let debug = serving.debug.clone();
        serving.start(&mut http_servers).await?;
        let webhooks = webhooks
            .start(&every_replica, &metrics, &webhook_address, &debug)
            .await?;
        let event_writer = event_writer.flush_within(FINAL_FLUSH_TIMEOUT);
        http_servers.spawn(event_writer.run(every_replica.clone(), http_servers.stop()));
        let caches = cache.start(&kube, &shared.random);
        let mut others = TaskGroup::new();
        for prepared in other_controllers {
            others.start_controller(prepared, every_replica.clone(), &shared, std::future::ready(()));
        }
        for runnable in other_runnables {
            others.start_runnable(runnable, every_replica.clone());
        }
        let election = election.map(|election| ElectionTask::start(election.with_events(shared.events.clone())));
        let mut leader = TaskGroup::new();
        for prepared in warming {
            leader.start_controller(prepared, leading.clone(), &shared, elected(election.as_ref()));
        }
        Ok(Groups {
            http_servers,
            webhooks,
            caches,
            others,
            election,
            leader,
            _traced_events: traced_events,
            waiting: WaitingForLease {
                controllers: led_controllers,
                runnables: led_runnables,
                client: leading,
                shared,
            },
        })
    }

    /// Waits until the manager is asked to stop, until something fails or until the lease is lost. Starts the leader's
    /// controllers and runnables when this replica is elected; at once without an election.
    pub(super) async fn wait(&mut self, stop: &Stop) -> Result<(), ManagerError> {
        tokio::select! {
            biased;
            () = stop.stopped() => return Ok(()),
            error = self.others.failed() => return Err(error),
            error = self.leader.failed() => return Err(error),
            () = elected(self.election.as_ref()) => {}
        }
        self.start_leading();
        tokio::select! {
            biased;
            () = stop.stopped() => Ok(()),
            loss = lost(self.election.as_mut()) => Err(ManagerError::Lease(loss)),
            error = self.others.failed() => Err(error),
            error = self.leader.failed() => Err(error),
        }
    }

    fn start_leading(&mut self) {
        let waiting = &mut self.waiting;
        for prepared in waiting.controllers.drain(..) {
            let client = waiting.client.clone();
            self.leader
                .start_controller(prepared, client, &waiting.shared, std::future::ready(()));
        }
        for runnable in waiting.runnables.drain(..) {
            self.leader.start_runnable(runnable, waiting.client.clone());
        }
    }

    /// Stops the groups in reverse order. Controllers and runnables get `timeout` to finish what they are at; if the lease is
    /// lost, the leader's are dropped at once, because another replica may lead already.
    pub(super) async fn stop(self, timeout: Duration, is_lease_lost: bool) -> Result<(), ManagerError> {
        let Groups {
            http_servers,
            webhooks,
            caches,
            others,
            mut election,
            leader,
            waiting: _,
            _traced_events,
        } = self;
        let deadline = Instant::now() + timeout;
        let finishing = async {
            let (led, unled) = tokio::join!(
                async {
                    if is_lease_lost {
                        drop(leader);
                        return Ok(());
                    }
                    leader.finish(deadline, timeout).await
                },
                others.finish(deadline, timeout)
            );
            led.and(unled)
        };
        // The election renews the lease until all have finished, since that may take longer than a lease lasts.
        let finished = tokio::select! {
            biased;
            finished = finishing => finished,
            loss = lost(election.as_mut()) => Err(ManagerError::Lease(loss)),
        };
        if let Some(election) = election {
            election.finish().await;
        }
        drop(caches);
        let flushed = Instant::now() + FINAL_FLUSH_TIMEOUT;
        webhooks.finish(deadline.max(flushed)).await;
        // A client that never reads its answer cannot hold the process.
        http_servers.finish(Instant::now() + FINAL_FLUSH_TIMEOUT).await;
        finished
    }
}

impl TaskGroup {
    /// Starts a controller; it reconciles nothing before `may_work` ends.
    fn start_controller(
        &mut self,
        prepared: PreparedController,
        client: Client,
        shared: &Shared,
        may_work: impl Future<Output = ()> + Send + 'static,
    ) {
        let PreparedController {
            controller,
            view,
            times,
        } = prepared;
        let environment = Environment {
            client,
            random: shared.random.clone(),
            stop: self.stop(),
            stats: view.stats,
            events: shared.events.clone(),
            registry: shared.registry.clone(),
            trace: shared.trace.clone(),
        };
        self.start(format!("controller {:?}", view.name), async move {
            let ran = controller.run_when(environment, view.queue, Some(times), may_work);
            ran.await.map_err(|source| ManagerError::Index {
                controller: view.name,
                source,
            })
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
