//! What a command shows of an operator and its cluster: the model that its sources write into, the page, and the view in the terminal.

mod arguments;
mod browser;
mod forks;

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use kubewright_apiserver::ApiServer;
use kubewright_cluster::progress::Progress;
use kubewright_controllers::Controllers;
use kubewright_runtime::stop::Stopper;
use kubewright_system::signals::Signals;
use kubewright_view::{
    ClientCluster, Cluster, Connect, Model, OperatorKinds, Page, PageContent, SharedModel, follow_cluster,
    follow_operator, follow_server,
};
use tokio::task::JoinHandle;

pub(crate) use arguments::ViewArguments;
use browser::Opened;
use forks::EmbeddedForks;

/// What is shown, as long as it is.
pub(crate) struct Shown {
    model: SharedModel,
    title: String,
    page: Page,
    opened: Option<Opened>,
    /// What is done in the cluster goes through this.
    cluster: Arc<dyn Cluster>,
    #[cfg(unix)]
    terminal: Option<kubewright_view::TerminalView>,
    stopper: Stopper,
    sources: Vec<JoinHandle<()>>,
    followed: Option<Followed>,
    forks: Option<Arc<EmbeddedForks>>,
}

/// What a command shows.
pub(crate) struct ShownSettings {
    /// What the page is of, as its title says.
    pub(crate) title: String,
    /// The port of the page on this machine; 0 picks a free one.
    pub(crate) port: u16,
    pub(crate) operator: ShownOperator,
    pub(crate) cluster: ShownCluster,
    /// Where reports of explorations are, if there may be some.
    pub(crate) explorations: Option<PathBuf>,
}

/// The operator that is shown.
pub(crate) enum ShownOperator {
    /// One whose debug endpoint is reached so.
    At(Arc<dyn Connect>),
    /// One that tells nothing of itself.
    Silent,
}

/// The cluster that is shown.
pub(crate) enum ShownCluster {
    /// One in this process, with these controllers. It can be changed and forked.
    Here {
        server: ApiServer,
        controllers: Box<Controllers>,
    },
    /// One that is somewhere else, and is changed only if that is allowed.
    Elsewhere { client: kube::Client, allow_writes: bool },
}

/// A cluster whose objects are shown.
struct Followed {
    kinds: OperatorKinds,
    stopper: Stopper,
    task: JoinHandle<()>,
}

impl Shown {
    /// Shows an operator and its cluster, with about so many bytes of what objects were. The objects of one in this process are shown at once, others
    /// with [`follow_cluster`](Self::follow_cluster).
    pub(crate) async fn start(
        settings: ShownSettings,
        history_bytes: usize,
        progress: &Progress,
    ) -> Result<Self, Box<dyn Error>> {
        let model = SharedModel::new(Model::new(history_bytes));
        Self::start_with(model, settings, progress).await
    }

    async fn start_with(
        model: SharedModel,
        settings: ShownSettings,
        progress: &Progress,
    ) -> Result<Self, Box<dyn Error>> {
        let (stopper, stop) = Stopper::new();
        let mut sources = Vec::new();
        let mut forks = None;
        let cluster: Arc<dyn Cluster> = match settings.cluster {
            ShownCluster::Here { server, controllers } => {
                let client = server.client();
                let started = Arc::new(EmbeddedForks {
                    server: server.clone(),
                    controllers: *controllers,
                    model: model.clone(),
                    progress: progress.clone(),
                    explorations: settings.explorations.clone(),
                    running: tokio::sync::Mutex::default(),
                });
                forks = Some(Arc::clone(&started));
                sources.push(tokio::spawn(follow_server(server, model.clone(), stop.clone())));
                Arc::new(ClientCluster::read_only(client).with_writes(true).with_forks(started))
            }
            ShownCluster::Elsewhere { client, allow_writes } => {
                Arc::new(ClientCluster::read_only(client).with_writes(allow_writes))
            }
        };
        let content = PageContent {
            title: settings.title.clone(),
            model: model.clone(),
            cluster: Arc::clone(&cluster),
            explorations: settings.explorations,
        };
        let port = settings.port;
        let page = Page::start(port, content).await.map_err(|error| {
            format!("cannot serve the page on port {port} of 127.0.0.1; --port 0 picks a free one: {error}")
        })?;
        if let ShownOperator::At(operator) = settings.operator {
            sources.push(tokio::spawn(follow_operator(operator, model.clone(), stop)));
        }
        Ok(Shown {
            model,
            title: settings.title,
            page,
            opened: None,
            cluster,
            #[cfg(unix)]
            terminal: None,
            stopper,
            sources,
            followed: None,
            forks,
        })
    }

    /// Shows the objects of a cluster that is somewhere else, of these kinds.
    pub(crate) fn follow_cluster(&mut self, client: &kube::Client, kinds: OperatorKinds) {
        if self.followed.as_ref().is_some_and(|followed| followed.kinds == kinds) {
            return;
        }
        let (stopper, stop) = Stopper::new();
        let (client, wanted, model) = (client.clone(), kinds.clone(), self.model.clone());
        let task = tokio::spawn(async move {
            let found = wanted.find(&client).await;
            follow_cluster(client, found, model, stop).await;
        });
        let followed = self.followed.replace(Followed { kinds, stopper, task });
        if let Some(before) = followed {
            before.stopper.stop();
        }
    }

    /// Says where it is: in a browser, and for who has none how to see it in the terminal. Opens it there, if that is wanted.
    pub(crate) fn announce(&mut self, arguments: ViewArguments, progress: &Progress) {
        progress.note(format!("See what happens: {}", self.page.link()));
        if arguments.open {
            match Opened::open(self.page.link()) {
                Ok(opened) => self.opened = Some(opened),
                Err(error) => progress.note(format!("cannot open it, take the link: {error}")),
            }
        } else if !has_browser() && !arguments.tui {
            progress.note("Without a browser: the same command with --tui shows it in the terminal");
        }
    }

    /// Shows it in the terminal of this process, too, until the first signal. What is written to standard output and error until then is shown there.
    #[cfg(unix)]
    pub(crate) fn show_in_terminal(&mut self, mut signals: Signals, progress: &Progress) -> Result<(), Box<dyn Error>> {
        let source = kubewright_view::TerminalSource {
            title: self.title.clone(),
            link: self.page.link().to_owned(),
            model: self.model.clone(),
            cluster: Arc::clone(&self.cluster),
        };
        let left = async move {
            signals.more_than(0).await;
        };
        let terminal = kubewright_view::TerminalView::start(source, left)
            .map_err(|error| format!("cannot show the view in the terminal, without --tui it is a page: {error}"))?;
        progress.add_plain_lines();
        self.terminal = Some(terminal);
        Ok(())
    }

    #[cfg(not(unix))]
    pub(crate) fn show_in_terminal(&mut self, _signals: Signals, _progress: &Progress) -> Result<(), Box<dyn Error>> {
        Err("--tui is for the terminals of Unix: without it, the view is a page".into())
    }

    /// Where it is, with the token that lets one in.
    pub(crate) fn link(&self) -> &str {
        self.page.link()
    }

    /// What is shown.
    pub(crate) fn model(&self) -> &SharedModel {
        &self.model
    }

    /// Ends it.
    pub(crate) async fn stop(self) {
        #[cfg(unix)]
        if let Some(terminal) = self.terminal {
            terminal.stop().await;
        }
        self.stopper.stop();
        drop(self.opened);
        self.page.stop().await;
        if let Some(forks) = self.forks {
            forks.stop().await;
        }
        if let Some(followed) = self.followed {
            followed.stopper.stop();
            let _ = followed.task.await;
        }
        for source in self.sources {
            // One that failed has nothing more to do either.
            let _ = source.await;
        }
    }
}

/// Whether a browser of this machine can be seen. Where windows are somebody else's than X11's or Wayland's there is always one.
fn has_browser() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
