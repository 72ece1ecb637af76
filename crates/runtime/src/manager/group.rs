//! Tasks that start and stop together.

use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;

use super::ManagerError;
use crate::stop::{Stop, Stopper};

/// Tasks of which each may fail; the first failure stops the manager.
pub(super) struct TaskGroup {
    tasks: JoinSet<Result<(), ManagerError>>,
    names: HashMap<Id, String>,
    stopper: Stopper,
    stop: Stop,
}

impl TaskGroup {
    pub(super) fn new() -> Self {
        let (stopper, stop) = Stopper::new();
        TaskGroup {
            tasks: JoinSet::new(),
            names: HashMap::new(),
            stopper,
            stop,
        }
    }

    /// When its members are to end.
    pub(super) fn stop(&self) -> Stop {
        self.stop.clone()
    }

    pub(super) fn start(&mut self, name: String, run: impl Future<Output = Result<(), ManagerError>> + Send + 'static) {
        let handle = self.tasks.spawn(run);
        self.names.insert(handle.id(), name);
    }

    /// Waits for the first failure; forever if there is none.
    pub(super) async fn failed(&mut self) -> ManagerError {
        loop {
            match self.tasks.join_next_with_id().await {
                Some(ended) => {
                    if let Err(error) = self.judge(ended) {
                        return error;
                    }
                }
                None => std::future::pending::<()>().await,
            }
        }
    }

    fn judge(&mut self, ended: Result<(Id, Result<(), ManagerError>), JoinError>) -> Result<(), ManagerError> {
        match ended {
            Ok((id, result)) => {
                self.names.remove(&id);
                result
            }
            Err(error) => {
                let name = self.names.remove(&error.id()).unwrap_or_default();
                Err(ManagerError::Panic { name })
            }
        }
    }

    /// Asks all to stop and waits; what still runs at the deadline is dropped.
    pub(super) async fn finish(mut self, deadline: Instant, timeout: Duration) -> Result<(), ManagerError> {
        self.stopper.stop();
        let mut first = Ok(());
        loop {
            match tokio::time::timeout_at(deadline, self.tasks.join_next_with_id()).await {
                Ok(Some(ended)) => {
                    let result = self.judge(ended);
                    first = first.and(result);
                }
                Ok(None) => return first,
                Err(_) => {
                    let mut names: Vec<_> = self.names.into_values().collect();
                    names.sort_unstable();
                    return first.and(Err(ManagerError::Shutdown(timeout, names.join(", "))));
                }
            }
        }
    }
}

/// Servers, and what runs beside them: tasks that do not fail.
pub(super) struct ServiceGroup {
    tasks: JoinSet<()>,
    stopper: Stopper,
    stop: Stop,
}

impl ServiceGroup {
    pub(super) fn new() -> Self {
        let (stopper, stop) = Stopper::new();
        ServiceGroup {
            tasks: JoinSet::new(),
            stopper,
            stop,
        }
    }

    /// When its members are to end.
    pub(super) fn stop(&self) -> Stop {
        self.stop.clone()
    }

    pub(super) fn spawn(&mut self, service: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(service);
    }

    /// Asks all to stop and waits; what still runs at the deadline is dropped. Returns whether nothing did.
    pub(super) async fn finish(mut self, deadline: Instant) -> bool {
        self.stopper.stop();
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        tokio::time::timeout_at(deadline, ended).await.is_ok()
    }
}
