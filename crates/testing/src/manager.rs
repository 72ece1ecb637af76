//! The operator's manager, running in the test as its own service account.

use std::time::Duration;

use kubewright_apiserver::ApiServer;
use kubewright_runtime::certificates::{LocalMode, Source};
use kubewright_runtime::client::Client;
use kubewright_runtime::clock::Clock;
use kubewright_runtime::controller::ControllerStats;
use kubewright_runtime::informer::Informer;
use kubewright_runtime::lease::ElectionOptions;
use kubewright_runtime::manager::{DebugPage, Manager, ManagerError, RunContext};
use kubewright_runtime::metrics::Registry;
use kubewright_runtime::operator::Operator;
use kubewright_runtime::random::Random;
use kubewright_runtime::serve::BindAddress;
use kubewright_runtime::stop::Stopper;
use kubewright_runtime::trace::{Trace, TraceEvent};
use kubewright_system::listen::free_ports;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::control_plane::ControlPlane;
use crate::extension::{self, RunningExtension};
use crate::install::{Installation, SERVICE_PORT, webhooks_known};
use crate::settle::Delayed;
use crate::traffic::{Traffic, WebhookGate};
use crate::{Error, deadline};

/// How long it may take to stop.
const STOP: Duration = Duration::from_secs(5);

/// A manager that runs.
pub(crate) struct RunningManager {
    stopper: Stopper,
    task: JoinHandle<()>,
    ended: watch::Receiver<Option<String>>,
    /// The manager's own client, with its caches.
    pub(crate) client: Client,
    pub(crate) stats: Vec<(String, ControllerStats)>,
    pub(crate) registry: Registry,
    /// Whether it has webhooks, for admission or for conversion.
    pub(crate) has_webhooks: bool,
    page: DebugPage,
    trace: Trace,
    _extension: Option<RunningExtension>,
}

/// What a manager is started with.
pub(crate) struct ManagerInputs<'a> {
    pub(crate) operator: &'a Operator,
    pub(crate) installation: &'a Installation,
    pub(crate) control_plane: &'a ControlPlane,
    pub(crate) traffic: &'a Traffic,
    pub(crate) trace: &'a Trace,
    pub(crate) seed: Option<u64>,
    pub(crate) clock: Clock,
    pub(crate) configure: &'a (dyn Fn(Manager) -> Manager + Send + Sync),
    /// The name of this replica in an election, if one is held.
    pub(crate) candidate: Option<&'a str>,
}

impl RunningManager {
    /// Starts a manager and waits until its caches are filled and its webhooks answer.
    pub(crate) async fn start(inputs: &ManagerInputs<'_>) -> Result<Self, Error> {
        let ManagerInputs {
            operator,
            installation,
            control_plane,
            traffic,
            trace,
            seed,
            clock,
            configure,
            candidate,
        } = inputs;
        let mut manager = operator.manager().map_err(Error::Operator)?;
        manager = manager.graceful_shutdown(STOP).clock(*clock).trace((*trace).clone());
        if let Some(seed) = seed {
            manager = manager.random(Random::seeded(*seed));
        }
        let (send_client, client) = oneshot::channel();
        let has_webhooks = manager.serves_webhooks();
        manager = match control_plane.server() {
            Some(server) if has_webhooks => {
                let hooks = Hooks {
                    server: server.clone(),
                    operator: (*operator).clone(),
                    namespace: installation.namespace.clone(),
                    service: installation.webhook_service.clone(),
                    gate: traffic.webhooks().clone(),
                };
                manager
                    .webhook_address(BindAddress::Off)
                    .runnable_everywhere("webhooks", move |context: RunContext| hooks.serve(context, send_client))
            }
            _ => {
                let manager = if has_webhooks {
                    listening(manager, operator)?
                } else {
                    manager.webhook_address(BindAddress::Off)
                };
                manager.runnable_everywhere("readiness", move |context: RunContext| async move {
                    let _ = send_client.send(context.client.clone());
                    context.stop.stopped().await;
                    Ok(())
                })
            }
        };
        manager = configure(manager);
        if let Some(candidate) = candidate {
            let mut election = ElectionOptions::new(&installation.namespace, operator.name());
            election.identity = Some((*candidate).to_owned());
            manager = manager.leader_election(election);
        }
        let (stats, registry, page) = (manager.stats(), manager.registry().clone(), manager.debug_page());
        let kube = control_plane
            .account(&installation.namespace, &installation.account, traffic)
            .await?;
        let extension = extension::start(operator, installation, control_plane, (*clock, *seed)).await?;
        let (stopper, stop) = Stopper::new();
        let (end, ended) = watch::channel(None);
        let task = tokio::spawn(async move {
            let result = manager.run(kube, stop).await;
            let text = match result {
                Ok(()) => "it was asked to stop".to_owned(),
                Err(error) => Error::Operator(error).text(),
            };
            end.send_replace(Some(text));
        });
        let running = Starting {
            client,
            ended: ended.clone(),
            task: Some(task),
        };
        let (client, task) = running.ready(traffic).await?;
        if control_plane.server().is_none() && has_webhooks {
            webhooks_known(&installation.objects, &control_plane.admin()).await?;
        }
        Ok(RunningManager {
            stopper,
            task,
            ended,
            client,
            stats,
            registry,
            has_webhooks,
            page,
            trace: (*trace).clone(),
            _extension: extension,
        })
    }

    /// Why it ended, once it has; never, if it goes on.
    pub(crate) fn end(&self) -> watch::Receiver<Option<String>> {
        self.ended.clone()
    }

    /// Asks it to stop and waits until it has.
    pub(crate) async fn stop(self) {
        self.stopper.stop();
        let mut ended = self.ended.clone();
        // The manager has a timeout of its own; this one ends a manager that hangs.
        let _ = tokio::time::timeout(STOP * 3, ended.wait_for(Option::is_some)).await;
        self.task.abort();
    }

    /// What waits in its queues for a later time because it failed.
    pub(crate) fn delayed(&self) -> Vec<Delayed> {
        let delayed = self.page.retries().into_iter().map(|retry| {
            let key = retry.request.to_string();
            Delayed {
                error: self.last_error(&retry.controller, &key),
                controller: retry.controller,
                key,
                failures: u64::from(retry.failures),
                due: retry.due_in,
            }
        });
        delayed.collect()
    }

    fn last_error(&self, controller: &str, key: &str) -> Option<String> {
        // A controller that never failed only asked to be called again; its part of the trace is not looked through.
        let mut stats = self.stats.iter().filter(|(name, _)| name == controller);
        if stats.all(|(_, stats)| stats.snapshot().errors == 0) {
            return None;
        }
        let records = self.trace.records();
        records.iter().rev().find_map(|record| match &record.event {
            TraceEvent::Ended {
                controller: by,
                key: of,
                error,
                ..
            } if **by == *controller && of.as_str() == key => Some(error.clone()),
            _ => None,
        })?
    }

    /// What its informers have trouble with.
    pub(crate) fn troubles(&self) -> Vec<String> {
        troubles(&self.client)
    }
}

impl Drop for RunningManager {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A manager that is not ready yet.
struct Starting {
    client: oneshot::Receiver<Client>,
    ended: watch::Receiver<Option<String>>,
    task: Option<JoinHandle<()>>,
}

impl Starting {
    async fn ready(mut self, traffic: &Traffic) -> Result<(Client, JoinHandle<()>), Error> {
        let waited = deadline::of_starts();
        let deadline = Instant::now() + waited;
        let late = |why: String| Error::NotReady { waited, why };
        let client = tokio::select! {
            biased;
            client = &mut self.client => client.ok(),
            () = tokio::time::sleep_until(deadline) => return Err(late("it does not run".to_owned())),
        };
        // The channel is closed without a client if the manager has ended.
        let Some(client) = client else {
            return Err(Error::ManagerEnded(end_of(&mut self.ended).await));
        };
        let mut activity = traffic.activity();
        loop {
            let waiting: Vec<_> = client
                .cache()
                .informers()
                .filter(|informer| !is_filled(informer))
                .collect();
            if waiting.is_empty() {
                break;
            }
            if let Some(refusal) = traffic.refusals().first() {
                return Err(Error::Refused(crate::report::refused(std::slice::from_ref(refusal))));
            }
            let filled =
                futures_util::future::select_all(waiting.iter().map(|informer| Box::pin(informer.store().synced())));
            tokio::select! {
                biased;
                _ = filled => {}
                // A kind that the server does not serve is never synced; its informer reports that with the response.
                _ = activity.changed() => tokio::task::yield_now().await,
                why = end_of(&mut self.ended) => return Err(Error::ManagerEnded(why)),
                () = tokio::time::sleep_until(deadline) => {
                    let kinds: Vec<_> = waiting.iter().map(|informer| informer.store().kind().to_string()).collect();
                    let mut why = format!("its cache of {} is not filled", kinds.join(", "));
                    for trouble in troubles(&client) {
                        why.push_str("; ");
                        why.push_str(&trouble);
                    }
                    return Err(late(why));
                }
            }
        }
        match self.task.take() {
            Some(task) => Ok((client, task)),
            None => Err(Error::NoManager),
        }
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// Why it ended, once it has.
async fn end_of(ended: &mut watch::Receiver<Option<String>>) -> String {
    let why = ended.wait_for(Option::is_some).await;
    why.ok().and_then(|why| why.clone()).unwrap_or_default()
}

fn is_filled(informer: &Informer) -> bool {
    informer.has_synced() || informer.is_missing()
}

fn troubles(client: &Client) -> Vec<String> {
    let informers = client.cache().informers();
    informers
        .flat_map(|informer| {
            let kind = informer.store().kind().to_string();
            let troubles = informer.troubles();
            troubles.into_iter().map(move |trouble| format!("{kind}: {trouble}"))
        })
        .collect()
}

/// Webhooks and conversions that the embedded server calls without a socket.
struct Hooks {
    server: ApiServer,
    operator: Operator,
    namespace: String,
    service: String,
    gate: WebhookGate,
}

impl Hooks {
    async fn serve(
        self,
        context: RunContext,
        send_client: oneshot::Sender<Client>,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let Hooks {
            server,
            operator,
            namespace,
            service,
            gate,
        } = self;
        let hooks = operator.webhook_server(&context.client)?;
        let answer = hooks.service();
        server.handle_service(&namespace, &service, SERVICE_PORT, move |request| {
            gate.clone().call(answer(request))
        });
        let _ = send_client.send(context.client.clone());
        context.stop.stopped().await;
        server.forget_service(&namespace, &service, SERVICE_PORT);
        Ok(())
    }
}

/// Serves webhooks on a port of this machine, and has webhook configurations point to it.
fn listening(manager: Manager, operator: &Operator) -> Result<Manager, Error> {
    let [port] = free_ports().map_err(|error| Error::ControlPlane(format!("no free port: {error}")))?;
    let mut local = LocalMode::new("127.0.0.1", port);
    local.targets = operator.certificate_targets();
    let certificates = Source::Local(local).open();
    let certificates = certificates.map_err(|error| Error::Operator(ManagerError::WebhookCertificates(error)))?;
    let address = BindAddress::At {
        host: Some("127.0.0.1".to_owned()),
        port,
    };
    Ok(manager
        .webhook_address(address)
        .webhook_certificates(certificates, false))
}
