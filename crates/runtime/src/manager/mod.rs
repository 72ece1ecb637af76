//! Running an operator: start and stop order, leader election, graceful shutdown.
//! [`Manager`] runs what was added to it; [`Runnable`] is anything that can be added.

mod debug;
mod election;
mod error;
mod group;
mod groups;
mod http_servers;
mod run;
mod runnable;
mod setup;
mod trace_page;
mod webhooks;

use std::fmt;
use std::time::Duration;

use crate::certificates::ServingCertificates;
use crate::clock::Clock;
use crate::controller::{Controller, ControllerStats};
use crate::conversion::Conversion;
use crate::informer::{Declarations, FirstNeed};
use crate::lease::ElectionOptions;
use crate::metrics::Registry;
use crate::random::Random;
use crate::serve::{BindAddress, Certificates, Checks};
use crate::trace::Trace;
use crate::webhook::Webhook;

pub use debug::{DebugPage, Retry};
pub use error::ManagerError;
pub use runnable::{RunContext, Runnable};
pub(crate) use webhooks::serve as serve_webhooks;

use runnable::AnyRunnable;
use webhooks::Webhooks;

/// Runs controllers and other things together.
///
/// Start order: probes and metrics, webhooks, cache, then what runs on every replica, then leader election, then what only the
/// leader runs. The caches of a standby replica are warm, and its webhooks answer. Stop order is the reverse: controllers finish
/// what they are at, then the lease is released, then the watches end, then webhooks finish what they are asked. The first
/// failure stops all and is returned with its source.
///
/// ```no_run
/// # async fn example(kube: kube::Client, stop: kubewright_runtime::stop::Stop) -> Result<(), kubewright_runtime::manager::ManagerError> {
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::controller::{Action, Controller, Request};
/// use kubewright_runtime::lease::ElectionOptions;
/// use kubewright_runtime::manager::Manager;
///
/// Manager::new()
///     .controller(Controller::of::<ConfigMap>().reconcile_with(|_| |request: Request| async move {
///         println!("{request}");
///         Ok(Action::done())
///     }))
///     .leader_election(ElectionOptions::new("shop", "shop-controller"))
///     .run(kube, stop)
///     .await
/// # }
/// ```
pub struct Manager {
    controllers: Vec<(Controller, ControllerStats)>,
    runnables: Vec<AnyRunnable>,
    webhooks: Webhooks,
    declarations: Declarations,
    election: Option<ElectionOptions>,
    graceful_shutdown: Duration,
    random: Option<Random>,
    clock: Option<Clock>,
    addresses: Addresses,
    registry: Registry,
    healthy: Checks,
    ready: Checks,
    identity: Option<String>,
    api_server: String,
    debug: DebugPage,
    trace: Trace,
}

/// The addresses of the HTTP servers, and how they are served.
#[derive(Debug)]
struct Addresses {
    metrics: BindAddress,
    /// The certificates of the metrics page, and whether HTTP/2 is spoken; plain HTTP without.
    metrics_tls: Option<(Certificates, bool)>,
    probes: BindAddress,
    debug: BindAddress,
}

impl Default for Manager {
    fn default() -> Self {
        Self::new()
    }
}

impl Manager {
    /// A manager without controllers.
    pub fn new() -> Self {
        Manager {
            controllers: Vec::new(),
            runnables: Vec::new(),
            webhooks: Webhooks::default(),
            declarations: Declarations::default(),
            election: None,
            graceful_shutdown: Duration::from_secs(30),
            random: None,
            clock: None,
            addresses: Addresses {
                metrics: BindAddress::Off,
                metrics_tls: None,
                probes: BindAddress::Off,
                debug: BindAddress::Off,
            },
            registry: Registry::new(),
            healthy: Checks::new(),
            ready: Checks::new(),
            identity: None,
            api_server: String::new(),
            debug: DebugPage::default(),
            trace: Trace::off(),
        }
    }

    /// Adds a controller. Two of one name are an error when the manager runs.
    pub fn controller(mut self, controller: Controller) -> Self {
        controller.declare(&mut self.declarations);
        self.controllers.push((controller, ControllerStats::default()));
        self
    }

    /// Adds something else that runs as long as the manager does, on the leader only.
    pub fn runnable(mut self, name: impl Into<String>, runnable: impl Runnable) -> Self {
        self.runnables.push(AnyRunnable::new(name.into(), true, runnable));
        self
    }

    /// The same on every replica.
    pub fn runnable_everywhere(mut self, name: impl Into<String>, runnable: impl Runnable) -> Self {
        self.runnables.push(AnyRunnable::new(name.into(), false, runnable));
        self
    }

    /// Adds webhooks. They are served on every replica. Two of one path or name are an error when the manager runs.
    pub fn webhook(mut self, webhook: impl Into<Webhook>) -> Self {
        self.webhooks.admission.push(webhook.into());
        self
    }

    /// Converts a kind between its versions, at `/convert`. Two of one kind are an error when the manager runs.
    pub fn conversion(mut self, conversion: impl Into<Conversion>) -> Self {
        self.webhooks.conversions.push(conversion.into());
        self
    }

    /// Serves webhooks here. Default: `:9443`.
    pub fn webhook_address(mut self, address: BindAddress) -> Self {
        self.webhooks.address = address;
        self
    }

    /// Serves webhooks with these certificates, which are required for webhooks. `http2` allows HTTP/2.
    pub fn webhook_certificates(mut self, certificates: ServingCertificates, http2: bool) -> Self {
        self.webhooks.tls = Some((certificates, http2));
        self
    }

    /// Whether there are webhooks or conversions, and an address to serve them at.
    pub fn serves_webhooks(&self) -> bool {
        self.webhooks.is_served()
    }

    /// What is cached, beyond what the controllers say, and how.
    pub fn declarations(&mut self) -> &mut Declarations {
        &mut self.declarations
    }

    /// Only one replica runs controllers. Default: none, all do.
    pub fn leader_election(mut self, election: ElectionOptions) -> Self {
        self.election = Some(election);
        self
    }

    /// How long stopping may take before what still runs is dropped. Default: 30 s.
    pub fn graceful_shutdown(mut self, timeout: Duration) -> Self {
        self.graceful_shutdown = timeout;
        self
    }

    /// Where jitter and ids come from. Default: a source that differs from run to run.
    pub fn random(mut self, random: Random) -> Self {
        self.random = Some(random);
        self
    }

    /// Watches kinds from their first object on. Default: all from the beginning.
    pub fn first_need(mut self, first_need: FirstNeed) -> Self {
        self.declarations.first_need(first_need);
        self
    }

    /// What tells the time to controllers, events, the election and certificates. Default: the machine's time when it runs,
    /// which is not that of a server that has run in virtual time for a while.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Serves `/metrics` here: in plain HTTP, unless [`Manager::secure_metrics`] is called. Default: nowhere.
    pub fn metrics_address(mut self, address: BindAddress) -> Self {
        self.addresses.metrics = address;
        self
    }

    /// Serves `/metrics` with TLS, to those whom the cluster allows to `get` it
    /// (by `TokenReview` and `SubjectAccessReview`), and the debug page likewise if its address is not loopback.
    pub fn secure_metrics(mut self, certificates: Certificates, http2: bool) -> Self {
        self.addresses.metrics_tls = Some((certificates, http2));
        self
    }

    /// Serves `/healthz` and `/readyz` here. A replica is ready when its caches are filled. Default: nowhere.
    pub fn probe_address(mut self, address: BindAddress) -> Self {
        self.addresses.probes = address;
        self
    }

    /// Serves `/debug/kubewright` here: informers, queues, running reconciles, last errors, the lease. Elsewhere than at loopback only
    /// with [secure metrics](Self::secure_metrics), to those whom the cluster allows to `get` these paths. Default: nowhere. If the manager has a [trace](Self::trace), `/debug/kubewright/trace` is what it holds as JSON, and
    /// `/debug/kubewright/trace/events` the same and what follows as server-sent events.
    pub fn debug_address(mut self, address: BindAddress) -> Self {
        self.addresses.debug = address;
        self
    }

    /// Where its metrics are; metrics of your own can be added.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The checks behind `/healthz`; checks of your own can be added.
    pub fn healthy(&self) -> &Checks {
        &self.healthy
    }

    /// The checks behind `/readyz`; checks of your own can be added.
    pub fn ready(&self) -> &Checks {
        &self.ready
    }

    /// The identity of this replica in events. Default: its identity in the election, or its host name.
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = Some(identity.into());
        self
    }

    /// Host and port of the API server, a label of `rest_client_requests_total`. A client does not know them. Default: empty.
    pub fn api_server(mut self, host: impl Into<String>) -> Self {
        self.api_server = host.into();
        self
    }

    /// What `/debug/kubewright` says, without asking for it over the network: informers, queues, running reconciles, the lease.
    pub fn debug_page(&self) -> DebugPage {
        self.debug.clone()
    }

    /// Records here what happens: events, causes, reconciles with what they read and wrote, log lines, webhook calls. Default: nowhere.
    pub fn trace(mut self, trace: Trace) -> Self {
        self.trace = trace;
        self
    }

    /// With its trace exported, if the environment asks for that of an operator with this name. A trace that is off is turned on for it.
    /// Settings that make no sense are told in the log: an operator does its work without them.
    #[cfg(feature = "otlp")]
    pub(crate) fn exported(
        mut self,
        environment: &crate::flags::Environment,
        name: &str,
    ) -> (Self, Option<crate::otlp::Exporter>) {
        let trace = if self.trace.is_on() {
            self.trace.clone()
        } else {
            Trace::bounded(crate::otlp::TRACE_BYTES).without_cache_events()
        };
        let settings = crate::otlp::ExportSettings::from_environment(environment, name);
        let exporter = settings.and_then(|settings| {
            let exporter = settings.map(|settings| crate::otlp::Exporter::new(settings, &trace));
            exporter.transpose()
        });
        match exporter {
            Ok(exporter) => {
                if exporter.is_some() {
                    self.trace = trace;
                }
                (self, exporter)
            }
            Err(error) => {
                let error = kubewright_apimachinery::errors::with_sources(&error);
                tracing::warn!(error, "spans are not exported");
                (self, None)
            }
        }
    }

    /// What each controller did so far, by name. The numbers go on counting while the manager runs.
    pub fn stats(&self) -> Vec<(String, ControllerStats)> {
        self.controllers
            .iter()
            .map(|(controller, stats)| (controller.name().to_owned(), stats.clone()))
            .collect()
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self
            .controllers
            .iter()
            .map(|(controller, _)| controller.name())
            .collect();
        f.debug_struct("Manager")
            .field("controllers", &names)
            .field("runnables", &self.runnables)
            .field("webhooks", &self.webhooks.admission)
            .field("election", &self.election)
            .finish_non_exhaustive()
    }
}
