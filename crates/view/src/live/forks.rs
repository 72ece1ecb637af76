//! Clusters that were forked from the one that is shown, each with a page of its own, for as long as this program runs.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use kubewright_apiserver::ApiServer;
use kubewright_cluster::embedded::Embedded;
use kubewright_cluster::progress::Progress;
use kubewright_controllers::Controllers;
use tokio::sync::Mutex;

use super::{LiveCluster, LiveOperator, LiveSettings, LiveView};
use crate::actions::{Answer, Forked, Forks, Refusal};
use crate::model::SharedModel;

/// A cluster takes memory and a port: no more are started from one.
const MOST: usize = 8;

/// Forks a cluster of this process.
pub(super) struct EmbeddedForks {
    pub(super) server: ApiServer,
    pub(super) controllers: Controllers,
    pub(super) model: SharedModel,
    pub(super) progress: Progress,
    pub(super) explorations: Option<PathBuf>,
    pub(super) running: Mutex<Vec<RunningFork>>,
}

/// A fork, as long as it is there.
pub(super) struct RunningFork {
    revision: u64,
    cluster: Embedded,
    view: LiveView,
}

impl RunningFork {
    fn forked(&self) -> Forked {
        Forked {
            revision: self.revision,
            link: self.view.link().to_owned(),
            kubeconfig: self.cluster.kubeconfig().to_owned(),
        }
    }
}

impl Forks for EmbeddedForks {
    fn fork(&self, revision: u64) -> Answer<'_, Forked> {
        Box::pin(async move {
            let mut running = self.running.lock().await;
            if running.len() >= MOST {
                let why = format!("{MOST} forks run already; they end with this command");
                return Err(Refusal::new(429, "TooManyRequests", why));
            }
            let fork = self.start(revision).await?;
            let forked = fork.forked();
            self.progress
                .note(format!("A fork of revision {revision}: {}", forked.link));
            running.push(fork);
            Ok(forked)
        })
    }
}

impl EmbeddedForks {
    async fn start(&self, revision: u64) -> Result<RunningFork, Refusal> {
        let server = self
            .server
            .fork_at_revision(revision)
            .map_err(|error| Refusal::new(410, "Expired", error.to_string()))?;
        // What was known then, before anything happens in the fork.
        let model = self.model.fork_at(revision);
        let failed = |why: String| Refusal::new(500, "InternalError", why);
        let cluster = Embedded::start_server(server.clone(), &self.controllers, &self.progress)
            .await
            .map_err(|error| failed(kubewright_cluster::with_sources(&*error)))?;
        let settings = LiveSettings {
            title: format!("fork of revision {revision}"),
            port: 0,
            operator: LiveOperator::Silent,
            cluster: LiveCluster::Here {
                server,
                controllers: Box::new(self.controllers.clone()),
            },
            explorations: self.explorations.clone(),
        };
        let view = LiveView::start(model, settings, &self.progress)
            .await
            .map_err(|error| failed(error.to_string()))?;
        Ok(RunningFork {
            revision,
            cluster,
            view,
        })
    }

    /// Ends all of them.
    pub(super) fn stop(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            for fork in self.running.lock().await.drain(..) {
                fork.view.stop().await;
                fork.cluster.shutdown().await;
            }
        })
    }
}
