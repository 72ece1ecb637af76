//! Anything that runs as long as the manager does.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::certificates::ServingCertificates;
use crate::client::Client;
use crate::stop::Stop;

/// What a runnable gets.
#[derive(Clone, Debug)]
pub struct RunContext {
    /// The manager's client. On the leader's side it refuses writes once the lease may be lost.
    pub client: Client,
    /// When to end.
    pub stop: Stop,
}

/// Anything that runs as long as the manager does: an async function of a [`RunContext`].
///
/// ```
/// use kubewright_runtime::manager::{Manager, RunContext};
///
/// let manager = Manager::new().runnable("ticker", |context: RunContext| async move {
///     context.stop.stopped().await;
///     Ok(())
/// });
/// # let _ = manager;
/// ```
pub trait Runnable: Send + 'static {
    /// Runs until it is asked to stop. Ending earlier with `Ok` is fine; an error stops the manager.
    fn run(self, context: RunContext) -> impl Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send;
}

impl<F, Fut> Runnable for F
where
    F: FnOnce(RunContext) -> Fut + Send + 'static,
    Fut: Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send,
{
    fn run(self, context: RunContext) -> impl Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send {
        self(context)
    }
}

impl Runnable for ServingCertificates {
    async fn run(self, context: RunContext) -> Result<(), Box<dyn Error + Send + Sync>> {
        let clock = context.client.clock();
        self.keep(context.client.kube().clone(), clock, context.stop).await;
        Ok(())
    }
}

type Running = Pin<Box<dyn Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send>>;

/// A runnable without its type.
pub(super) struct AnyRunnable {
    pub(super) name: String,
    pub(super) needs_leader: bool,
    start: Box<dyn FnOnce(RunContext) -> Running + Send>,
}

impl AnyRunnable {
    pub(super) fn new(name: String, needs_leader: bool, runnable: impl Runnable) -> Self {
        AnyRunnable {
            name,
            needs_leader,
            start: Box::new(move |context| Box::pin(async move { runnable.run(context).await })),
        }
    }

    pub(super) fn run(self, context: RunContext) -> Running {
        (self.start)(context)
    }
}

impl fmt::Debug for AnyRunnable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.name, f)
    }
}
