//! Why a test environment cannot do what it was asked to.

use std::path::PathBuf;
use std::time::Duration;

use kubewright_apimachinery::errors::with_sources;
use kubewright_controllers::ControllerName;
use kubewright_runtime::manager::ManagerError;
use kubewright_runtime::mapper::MapperError;

/// Why a test environment cannot do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operator cannot be run as it is.
    #[error("the operator cannot run")]
    Operator(#[source] ManagerError),
    /// Kubernetes' own controllers cannot be run.
    #[error("the controllers of the cluster cannot run")]
    Controllers(#[source] ManagerError),
    /// The kinds of the operator make no definitions.
    #[error("the definitions of the operator cannot be written: {0}")]
    Definitions(String),
    /// Something the operator needs was refused by the server.
    #[error("installing {what}")]
    Install {
        /// Kind and name.
        what: String,
        /// What the server said.
        #[source]
        source: Box<kubewright_runtime::client::Error>,
    },
    /// The manager ended.
    #[error("the manager ended: {0}")]
    ManagerEnded(String),
    /// The manager is not ready after a long time.
    #[error("the manager is not ready after {waited:?}: {why}")]
    NotReady {
        /// How long it was waited for.
        waited: Duration,
        /// What is missing.
        why: String,
    },
    /// The manager asked for something that its role does not allow.
    #[error("{0}")]
    Refused(String),
    /// There is no manager in this environment, or it is stopped.
    #[error("no manager runs here; start the environment with an operator, or call `start_manager`")]
    NoManager,
    /// A request of the test failed.
    #[error("{0}")]
    Client(String, #[source] Option<Box<dyn std::error::Error + Send + Sync>>),
    /// A kind is not known to the server.
    #[error("{what}")]
    Kind {
        /// Kind and version.
        what: String,
        /// What the server said.
        #[source]
        source: MapperError,
    },
    /// A text is not what it should be.
    #[error("{place}: {problem}")]
    Manifest {
        /// File and document.
        place: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// Something is not possible while the clock is paused.
    #[error(
        "{0} is not possible while the clock is paused: time would run away; use `#[kubewright::test]` without `virtual_time`"
    )]
    Paused(&'static str),
    /// Something needs a paused clock.
    #[error("{0} needs virtual time: use `#[kubewright::test(virtual_time)]`")]
    NotPaused(&'static str),
    /// Something is possible on the embedded server only.
    #[error("{what} is possible on the embedded server only, and this environment is {mode}; {remedy}")]
    EmbeddedOnly {
        /// What was asked for.
        what: &'static str,
        /// Where it was asked for.
        mode: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
    /// Something is not possible on this control plane.
    #[error("{what} is not possible {mode}: {remedy}")]
    NotThere {
        /// What was asked for.
        what: &'static str,
        /// Where it was asked for.
        mode: &'static str,
        /// Why, and what to do instead.
        remedy: &'static str,
    },
    /// Something needs controllers that do not run here.
    #[error(
        "{what} needs the {missing}, which does not run here: start the environment with `Controllers::all()`, the default"
    )]
    ControllerOff {
        /// What was asked for.
        what: &'static str,
        /// The controller.
        missing: ControllerName,
    },
    /// The environment has no node of this name.
    #[error("there is no node {name:?}; {known}")]
    NoNode {
        /// The name that was asked for.
        name: String,
        /// The nodes there are.
        known: String,
    },
    /// A control plane cannot be started.
    #[error("the control plane did not start: {0}")]
    ControlPlane(String),
    /// What was waited for did not come, or did not last.
    #[error("{0}")]
    Unmet(String),
}

impl Error {
    /// The error with its sources, in one text.
    pub fn text(&self) -> String {
        with_sources(self)
    }

    #[expect(clippy::needless_pass_by_value, reason = "for map_err")]
    pub(crate) fn client(error: kubewright_runtime::client::Error) -> Self {
        let text = error.to_string();
        // The text leaves out the source of the error.
        match std::error::Error::source(&error) {
            Some(source) => Error::Client(format!("{text}: {source}"), None),
            None => Error::Client(text, None),
        }
    }

    pub(crate) fn kube(doing: &str, error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Error::Client(format!("{doing}: {}", status.message), None),
            other => Error::Client(doing.to_owned(), Some(Box::new(other))),
        }
    }
}
