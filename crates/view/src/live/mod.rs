//! What a command shows while it runs: a model, the sources that write into it, the page, and the clusters that were forked from there.

mod forks;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use kubewright_apiserver::ApiServer;
use kubewright_cluster::progress::Progress;
use kubewright_controllers::Controllers;
use kubewright_runtime::stop::Stopper;
use tokio::task::JoinHandle;

use crate::actions::{ClientCluster, Cluster};
use crate::model::SharedModel;
use crate::page::{Page, PageContent};
use crate::source::{Connect, follow_operator, follow_server};
use forks::EmbeddedForks;

/// An operator and its cluster, as long as they are shown.
pub struct LiveView {
    model: SharedModel,
    title: String,
    page: Page,
    cluster: Arc<dyn Cluster>,
    stopper: Stopper,
    sources: Vec<JoinHandle<()>>,
    forks: Option<Arc<EmbeddedForks>>,
}

/// What is shown.
pub struct LiveSettings {
    /// What the page is of, as its title says: `kubewright dev`.
    pub title: String,
    /// The port of the page on this machine; 0 picks a free one.
    pub port: u16,
    /// The operator.
    pub operator: LiveOperator,
    /// The cluster.
    pub cluster: LiveCluster,
    /// Where reports of explorations are, if there may be some.
    pub explorations: Option<PathBuf>,
}

/// The operator that is shown.
pub enum LiveOperator {
    /// One whose debug endpoint is reached so.
    At(Arc<dyn Connect>),
    /// One that tells nothing of itself.
    Silent,
}

/// The cluster that is shown.
pub enum LiveCluster {
    /// One in this process. It can be changed, and forked.
    Here {
        /// Its API server.
        server: ApiServer,
        /// The controllers that its forks have, too.
        controllers: Box<Controllers>,
    },
    /// One that is somewhere else, and is changed only if that is allowed. Its objects are shown once they are
    /// [followed](crate::follow_cluster).
    Elsewhere {
        /// What is done there is done with this.
        client: kube::Client,
        /// Whether anything may be.
        allow_writes: bool,
    },
}

impl LiveView {
    /// Shows an operator and its cluster by a model, in which there may be something already. Fails if its port is taken.
    pub async fn start(model: SharedModel, settings: LiveSettings, progress: &Progress) -> io::Result<Self> {
        let (stopper, stop) = Stopper::new();
        let mut sources = Vec::new();
        let mut forks = None;
        let cluster: Arc<dyn Cluster> = match settings.cluster {
            LiveCluster::Here { server, controllers } => {
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
            LiveCluster::Elsewhere { client, allow_writes } => {
                Arc::new(ClientCluster::read_only(client).with_writes(allow_writes))
            }
        };
        let content = PageContent {
            title: settings.title.clone(),
            model: model.clone(),
            cluster: Arc::clone(&cluster),
            explorations: settings.explorations,
        };
        let page = Page::start(settings.port, content).await?;
        if let LiveOperator::At(operator) = settings.operator {
            sources.push(tokio::spawn(follow_operator(operator, model.clone(), stop)));
        }
        Ok(LiveView {
            model,
            title: settings.title,
            page,
            cluster,
            stopper,
            sources,
            forks,
        })
    }

    /// Where its page is, with the token that lets one in.
    pub fn link(&self) -> &str {
        self.page.link()
    }

    /// What is known.
    pub fn model(&self) -> &SharedModel {
        &self.model
    }

    /// The same, for the terminal.
    #[cfg(unix)]
    pub fn terminal_source(&self) -> crate::TerminalSource {
        crate::TerminalSource {
            title: self.title.clone(),
            link: self.page.link().to_owned(),
            model: self.model.clone(),
            cluster: Arc::clone(&self.cluster),
        }
    }

    /// Ends it, with all forks.
    pub async fn stop(self) {
        self.stopper.stop();
        self.page.stop().await;
        if let Some(forks) = self.forks {
            forks.stop().await;
        }
        for source in self.sources {
            // One that failed has nothing more to do either.
            let _ = source.await;
        }
    }
}
