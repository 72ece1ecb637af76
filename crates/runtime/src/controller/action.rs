//! What a reconcile wants to happen next, and how it fails.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use kubewright_apimachinery::errors::with_sources;

use crate::client;

/// What happens to a request after a successful reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action(pub(super) Next);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Done,
    After(Duration),
    RateLimited,
}

impl Action {
    /// Nothing more: the next event will wake it.
    pub fn done() -> Self {
        Action(Next::Done)
    }

    /// Reconcile again after a while, or at the next event if that comes first.
    pub fn requeue_after(delay: Duration) -> Self {
        Action(Next::After(delay))
    }

    /// Reconcile again soon, with the same back-off as after a failure, but without counting as one.
    pub fn requeue() -> Self {
        Action(Next::RateLimited)
    }
}

/// Why a reconcile failed. Every error becomes one with `?`; by default it is tried again with back-off.
pub struct Failure {
    source: Box<dyn Error + Send + Sync>,
    terminal: bool,
}

impl Failure {
    /// A failure that trying again does not cure: it is logged and counted, and the next event starts afresh.
    pub fn terminal(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Failure {
            source: error.into(),
            terminal: true,
        }
    }

    /// A failure with nothing but a message.
    pub fn message(message: impl Into<String>) -> Self {
        Failure {
            source: message.into().into(),
            terminal: false,
        }
    }

    /// Whether it is not tried again.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// The error with its sources, for where contents of Secrets and tokens must not stand.
    pub(crate) fn redacted(&self) -> String {
        let error: &(dyn Error + 'static) = &*self.source;
        let errors = std::iter::successors(Some(error), |error| (*error).source());
        let mut refusals = errors.filter_map(|error| error.downcast_ref::<client::Error>());
        refusals
            .find_map(client::Error::redacted)
            .unwrap_or_else(|| self.to_string())
    }

    /// The error.
    pub fn error(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.source
    }
}

/// What a reconcile comes to.
///
/// ```
/// use kubewright_runtime::controller::{Action, Result};
///
/// async fn reconcile() -> Result {
///     let _port: u16 = "8080".parse()?;
///     Ok(Action::done())
/// }
/// # let _ = reconcile;
/// ```
pub type Result<T = Action, E = Failure> = std::result::Result<T, E>;

// Not an `Error` itself, so that every error can become one.
impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure {
            source: Box::new(error),
            terminal: false,
        }
    }
}

impl fmt::Display for Failure {
    /// The error with its sources.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&with_sources(&*self.source))
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
