//! What a command shows of an operator and its cluster: the page and the model behind it, the browser, and the view in the terminal.

mod arguments;
mod browser;

use std::error::Error;

use kubewright_cluster::progress::Progress;
use kubewright_runtime::stop::Stopper;
use kubewright_system::signals::Signals;
use kubewright_view::{LiveSettings, LiveView, Model, OperatorKinds, SharedModel, follow_cluster};
use tokio::task::JoinHandle;

pub(crate) use arguments::ViewArguments;
use browser::Opened;

/// What is shown, as long as it is.
pub(crate) struct Shown {
    view: LiveView,
    opened: Option<Opened>,
    #[cfg(unix)]
    terminal: Option<kubewright_view::TerminalView>,
    followed: Option<Followed>,
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
        settings: LiveSettings,
        history_bytes: usize,
        progress: &Progress,
    ) -> Result<Self, Box<dyn Error>> {
        let port = settings.port;
        let model = SharedModel::new(Model::new(history_bytes));
        let view = LiveView::start(model, settings, progress).await.map_err(|error| {
            format!("cannot serve the page on port {port} of 127.0.0.1; --port 0 picks a free one: {error}")
        })?;
        Ok(Shown {
            view,
            opened: None,
            #[cfg(unix)]
            terminal: None,
            followed: None,
        })
    }

    /// Shows the objects of a cluster that is somewhere else, of these kinds.
    pub(crate) fn follow_cluster(&mut self, client: &kube::Client, kinds: OperatorKinds) {
        if self.followed.as_ref().is_some_and(|followed| followed.kinds == kinds) {
            return;
        }
        let (stopper, stop) = Stopper::new();
        let (client, wanted, model) = (client.clone(), kinds.clone(), self.view.model().clone());
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
        progress.note(format!("See what happens: {}", self.view.link()));
        if arguments.open {
            match Opened::open(self.view.link()) {
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
        let left = async move {
            signals.more_than(0).await;
        };
        let terminal = kubewright_view::TerminalView::start(self.view.terminal_source(), left)
            .map_err(|error| format!("cannot show the view in the terminal, without --tui it is a page: {error}"))?;
        progress.add_plain_lines();
        self.terminal = Some(terminal);
        Ok(())
    }

    #[cfg(not(unix))]
    pub(crate) fn show_in_terminal(&mut self, _signals: Signals, _progress: &Progress) -> Result<(), Box<dyn Error>> {
        Err("--tui is for the terminals of Unix: without it, the view is a page".into())
    }

    /// What is shown.
    pub(crate) fn model(&self) -> &SharedModel {
        self.view.model()
    }

    /// Ends it.
    pub(crate) async fn stop(self) {
        #[cfg(unix)]
        if let Some(terminal) = self.terminal {
            terminal.stop().await;
        }
        drop(self.opened);
        if let Some(followed) = self.followed {
            followed.stopper.stop();
            let _ = followed.task.await;
        }
        self.view.stop().await;
    }
}

/// Whether a browser of this machine can be seen. Where windows are somebody else's than X11's or Wayland's there is always one.
fn has_browser() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
