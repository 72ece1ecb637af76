//! Kubernetes' own controllers, running beside the operator for as long as the environment is there.

use std::time::Duration;

use kubewright_apiserver::ApiServer;
use kubewright_controllers::Controllers;
use kubewright_runtime::informer::{FirstNeed, NoObjects};
use kubewright_runtime::manager::DebugPage;
use kubewright_runtime::metrics::Registry;
use kubewright_runtime::stop::Stopper;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::{Error, Metrics};

/// Controllers that run. Dropping them ends them.
pub(crate) struct RunningControllers {
    task: JoinHandle<()>,
    ended: watch::Receiver<Option<String>>,
    registry: Registry,
    page: DebugPage,
    _stopper: Stopper,
}

impl RunningControllers {
    /// Starts the controllers, and does not wait until they are ready. On the embedded server, what they watch costs nothing until
    /// there is something to see.
    pub(crate) fn start(
        controllers: &Controllers,
        kube: kube::Client,
        embedded: Option<&ApiServer>,
    ) -> Result<Self, Error> {
        let mut manager = controllers.manager().map_err(Error::Controllers)?;
        if let Some(server) = embedded {
            manager = manager.first_need(first_need(server.clone()));
        }
        let (registry, page) = (manager.registry().clone(), manager.debug_page());
        let (stopper, stop) = Stopper::new();
        let (end, ended) = watch::channel(None);
        let task = tokio::spawn(async move {
            let text = match manager.run(kube, stop).await {
                Ok(()) => "they were asked to stop".to_owned(),
                Err(error) => Error::Controllers(error).text(),
            };
            end.send_replace(Some(text));
        });
        Ok(RunningControllers {
            task,
            ended,
            registry,
            page,
            _stopper: stopper,
        })
    }

    /// Why they ended; `None` as long as they run.
    pub(crate) fn end(&self) -> watch::Receiver<Option<String>> {
        self.ended.clone()
    }

    /// Whether something waits for a worker, or is worked on.
    pub(crate) fn is_busy(&self) -> bool {
        let metrics = Metrics::parse(&self.registry.render());
        metrics.sum("workqueue_depth", &[]) + metrics.sum("controller_runtime_active_workers", &[]) > 0.0
    }

    /// How long until the first failed reconcile is tried again.
    pub(crate) fn next_retry(&self) -> Option<Duration> {
        self.page.retries().iter().map(|retry| retry.due_in).min()
    }
}

fn first_need(server: ApiServer) -> FirstNeed {
    FirstNeed::new(move |kind| {
        let (revision, until) = server.no_objects(kind.group(), kind.version(), kind.plural())?;
        Some(NoObjects {
            resource_version: revision.to_string(),
            until: Box::pin(until),
        })
    })
}

impl Drop for RunningControllers {
    fn drop(&mut self) {
        self.task.abort();
    }
}
