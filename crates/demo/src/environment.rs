//! The embedded cluster, and the markdown-view operator installed and running on it.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use kubewright_cluster::bundle::Bundle;
use kubewright_cluster::bundle::account;
use kubewright_cluster::denials;
use kubewright_cluster::embedded::Embedded;
use kubewright_cluster::installation::{Installation, InstallationChanges, Scope};
use kubewright_cluster::progress::Progress;
use kubewright_cluster::{Cluster, Reference};
use kubewright_controllers::Controllers;
use kubewright_manifests::bundle;
use kubewright_manifests::definitions::DefinitionOptions;
use kubewright_manifests::install::{RenderedManifests, Settings};
use kubewright_runtime::controller::ControllerStats;
use kubewright_runtime::flags::{Environment, Flags};
use kubewright_runtime::manager::ManagerError;
use kubewright_runtime::operator::Operator;
use kubewright_runtime::serve::BindAddress;
use kubewright_runtime::stop::Stopper;
use kubewright_runtime::trace::Trace;
use kubewright_system::listen::free_ports;
use kubewright_view::{LiveView, SharedModel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::inside;
use super::watcher::{Notice, NoticeSender};

/// How long the operator may take to stop.
const GRACE: Duration = Duration::from_secs(5);

/// How many bytes of what happens in the operator are kept until they are read.
const TRACE: usize = 1 << 20;

/// How many nodes there are.
pub(super) const NODES: usize = 3;

/// The image of the manager, which runs in this process instead.
const IMAGE: &str = "controller:latest";

/// The cluster and the operator of the demo.
pub(super) struct DemoEnvironment {
    pub(super) embedded: Embedded,
    pub(super) cluster: Arc<Cluster>,
    controllers: Controllers,
    controller_stats: Vec<ControllerStats>,
    notices: NoticeSender,
    progress: Progress,
    operator: Option<Running>,
    /// The page that shows what happens inside, once it is served.
    inside: Option<LiveView>,
}

/// The running operator.
struct Running {
    stats: Vec<ControllerStats>,
    account: Reference,
    /// What it says of itself.
    description: kubewright_runtime::operator::Description,
    stopper: Stopper,
    /// Where it says what it does.
    debug: SocketAddr,
    task: JoinHandle<()>,
    denials: JoinHandle<()>,
    following: JoinHandle<()>,
}

/// An operator that is installed and does not run yet.
pub(super) struct Installed {
    operator: Operator,
    pub(super) account: Reference,
    pub(super) changes: InstallationChanges,
}

impl DemoEnvironment {
    /// Starts the cluster.
    pub(super) async fn start(notices: &NoticeSender, secure_port: u16) -> Result<Self, Box<dyn Error>> {
        let progress = Progress::written_to(Box::new(notices.clone()));
        let controllers = Controllers::all().nodes(NODES);
        let manager = controllers.manager()?;
        let controller_stats = manager.stats().into_iter().map(|(_, stats)| stats).collect();
        let embedded = Embedded::start_with(secure_port, None, Some(manager), &progress).await?;
        let cluster = Cluster::of(embedded.client(), format!("demo ({})", embedded.url()));
        Ok(DemoEnvironment {
            cluster: Arc::new(cluster),
            embedded,
            controllers,
            controller_stats,
            notices: notices.clone(),
            progress,
            operator: None,
            inside: None,
        })
    }

    /// Installs the operator: definitions, roles, webhooks.
    pub(super) async fn install(&self) -> Result<Installed, Box<dyn Error>> {
        let operator = markdown_view::operator();
        let bundle = rendered(&operator)?;
        let scope = Scope {
            is_embedded: true,
            has_webhooks: true,
            extension: None,
        };
        let mut installation = Installation::default();
        let changes = installation
            .apply(&self.cluster, operator.name(), &bundle, scope, &self.progress)
            .await?;
        let account = account(&bundle).ok_or("the installation has no ServiceAccount for the operator to run as")?;
        Ok(Installed {
            operator,
            account,
            changes,
        })
    }

    /// Runs the operator as its own `ServiceAccount`. Returns the URL of its webhooks.
    pub(super) async fn run(&mut self, installed: Installed) -> Result<String, Box<dyn Error>> {
        let Installed { operator, account, .. } = installed;
        let description = operator.describe();
        let kubeconfig = self.embedded.kubeconfig_of(&account).await?;
        let [port, debug] =
            free_ports().map_err(|error| format!("there are no free ports for the operator: {error}"))?;
        let debug = SocketAddr::from((Ipv4Addr::LOCALHOST, debug));
        let flags = Flags {
            kubeconfig: Some(kubeconfig),
            metrics_bind_address: BindAddress::Off,
            health_probe_bind_address: BindAddress::Off,
            debug_bind_address: BindAddress::At {
                host: Some(debug.ip().to_string()),
                port: debug.port(),
            },
            webhook_port: port,
            ..Flags::default()
        };
        // The variables of this process do not configure the demo's operator.
        let environment = Environment::of([]);
        let host = flags.webhook_host.clone();
        let manager = operator
            .manager_with(&flags, &environment)?
            .webhook_address(BindAddress::At {
                host: Some(host.clone()),
                port,
            });
        let stats: Vec<_> = manager.stats().into_iter().map(|(_, stats)| stats).collect();
        let trace = Trace::bounded(TRACE);
        let following = tokio::spawn(self.notices.clone().follow(trace.clone()));
        let manager = manager.trace(trace);
        let client = kube::Client::try_from(flags.config(&environment).await?)?;
        let (stopper, stop) = Stopper::new();
        let notices = self.notices.clone();
        let running = manager.run(client, stop.clone());
        let task = tokio::spawn(async move {
            let ended = running.await;
            if let Some(why) = untimely(ended, stop.is_stopping()) {
                notices.send(Notice::Failure(why));
            }
        });
        let server = self.embedded.server().clone();
        let denials = tokio::spawn(denials::tell(server, account.clone(), self.progress.clone()));
        self.operator = Some(Running {
            stats,
            account,
            description,
            stopper,
            debug,
            task,
            denials,
            following,
        });
        Ok(format!("https://{host}:{port}"))
    }

    /// Serves the page that shows what happens inside; its link. The operator has to run.
    pub(super) async fn show_inside(&mut self, model: SharedModel) -> Result<String, Box<dyn Error>> {
        let operator = self.operator.as_ref().ok_or("the operator does not run")?;
        let namespace = operator.account.namespace.as_deref().unwrap_or_default();
        let user = format!("system:serviceaccount:{namespace}:{}", operator.account.name);
        model.rights(user, operator.description.clone());
        let inside = inside::show(model, &self.embedded, &self.controllers, operator.debug).await?;
        let link = inside.link().to_owned();
        self.inside = Some(inside);
        Ok(link)
    }

    /// The statistics of the operator's controllers, and of the cluster's own.
    pub(super) fn stats(&self) -> (&[ControllerStats], &[ControllerStats]) {
        let own = self.operator.as_ref().map_or(&[][..], |operator| &operator.stats);
        (own, &self.controller_stats)
    }

    /// The number of successful writes: by everybody, and by the operator.
    pub(super) fn writes(&self) -> (u64, u64) {
        let verbs = ["create", "update", "patch", "delete", "deletecollection"];
        let written = self.embedded.server().audit().allowed().filter(move |event| {
            let is_read = event.attributes.resource.ends_with("reviews");
            verbs.contains(&&*event.attributes.verb) && !is_read && !event.dry_run && event.code < 300
        });
        let own = self.operator.as_ref().map_or(0, |operator| {
            let namespace = operator.account.namespace.as_deref().unwrap_or_default();
            let own = written.clone().service_account(namespace, &operator.account.name);
            own.events().len()
        });
        (written.events().len() as u64, own as u64)
    }

    /// Stops the operator, then the cluster.
    pub(super) async fn end(self) {
        if let Some(inside) = self.inside {
            inside.stop().await;
        }
        if let Some(operator) = self.operator {
            operator.denials.abort();
            operator.following.abort();
            operator.stopper.stop();
            // A task that does not stop in time ends with this process.
            let _ = timeout(GRACE, operator.task).await;
        }
        let _ = timeout(GRACE, self.embedded.shutdown()).await;
    }
}

/// Why the operator ended, unless it was stopped.
fn untimely(ended: Result<(), ManagerError>, is_stopping: bool) -> Option<String> {
    match ended {
        Err(error) => Some(format!(
            "the operator failed: {}",
            kubewright_cluster::with_sources(&error)
        )),
        Ok(()) if !is_stopping => Some("the operator ended by itself".to_owned()),
        Ok(()) => None,
    }
}

/// What `kubewright run` installs of the same operator.
pub(super) fn rendered(operator: &Operator) -> Result<Bundle, Box<dyn Error>> {
    let description = operator.describe();
    let settings = Settings::new(operator.name(), IMAGE);
    let manifests = RenderedManifests::render(&description, &DefinitionOptions::default(), &settings)?;
    let rendered = bundle::Bundle::of(&manifests, &|_| None)?;
    Ok(Bundle::of(manifests, rendered))
}
