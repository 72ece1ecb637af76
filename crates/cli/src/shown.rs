//! What a command shows of an operator and its cluster: the model that its sources write into, the page, and the view in the terminal.

use std::error::Error;
use std::sync::Arc;

use kubewright_apiserver::ApiServer;
use kubewright_cluster::progress::Progress;
use kubewright_runtime::stop::Stopper;
use kubewright_system::signals::Signals;
use kubewright_view::{
    Cluster, Connect, Model, OperatorKinds, Page, SharedModel, follow_cluster, follow_operator, follow_server,
};
use tokio::task::JoinHandle;

/// As much is kept of what objects were.
const HISTORY_BYTES: usize = 64 << 20;

/// What is shown, as long as it is.
pub(crate) struct Shown {
    model: SharedModel,
    page: Page,
    #[cfg(unix)]
    terminal: Option<kubewright_view::TerminalView>,
    stopper: Stopper,
    sources: Vec<JoinHandle<()>>,
    followed: Option<Followed>,
}

/// The operator that is shown.
pub(crate) enum ShownOperator {
    /// One whose debug endpoint is reached so.
    At(Arc<dyn Connect>),
    /// One that tells nothing of itself.
    Silent,
}

/// A cluster whose objects are shown.
struct Followed {
    kinds: OperatorKinds,
    stopper: Stopper,
    task: JoinHandle<()>,
}

impl Shown {
    /// Shows an operator, and the objects of an API server in this process, on a port of this machine; 0 picks a free one.
    pub(crate) async fn start(
        port: u16,
        operator: ShownOperator,
        server: Option<&ApiServer>,
    ) -> Result<Self, Box<dyn Error>> {
        let model = SharedModel::new(Model::new(HISTORY_BYTES));
        let page = Page::start(port, model.clone()).await.map_err(|error| {
            format!("cannot serve the page on port {port} of 127.0.0.1; --port 0 picks a free one: {error}")
        })?;
        let (stopper, stop) = Stopper::new();
        let mut sources = Vec::new();
        if let ShownOperator::At(operator) = operator {
            sources.push(tokio::spawn(follow_operator(operator, model.clone(), stop.clone())));
        }
        if let Some(server) = server {
            sources.push(tokio::spawn(follow_server(server.clone(), model.clone(), stop)));
        }
        Ok(Shown {
            model,
            page,
            #[cfg(unix)]
            terminal: None,
            stopper,
            sources,
            followed: None,
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

    /// Says where it is: in a browser, and for who has none how to see it in the terminal.
    pub(crate) fn announce(&self, command: &str, progress: &Progress) {
        progress.note(format!("See what happens: {}", self.page.link()));
        if !has_browser() {
            progress.note(format!(
                "Without a browser: kubewright {command} --tui shows the same in the terminal"
            ));
        }
    }

    /// Shows it in the terminal of this process, until the first signal. What is written to standard output and error until then is shown there.
    #[cfg(unix)]
    pub(crate) fn in_terminal(
        &mut self,
        command: &str,
        cluster: Arc<dyn Cluster>,
        mut signals: Signals,
        progress: &Progress,
    ) -> Result<(), Box<dyn Error>> {
        let source = kubewright_view::TerminalSource {
            title: format!("kubewright {command}"),
            link: self.page.link().to_owned(),
            model: self.model.clone(),
            cluster,
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
    pub(crate) fn in_terminal(
        &mut self,
        _command: &str,
        _cluster: Arc<dyn Cluster>,
        _signals: Signals,
        _progress: &Progress,
    ) -> Result<(), Box<dyn Error>> {
        Err("--tui is for the terminals of Unix: without it, the view is a page".into())
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
        self.page.stop().await;
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
