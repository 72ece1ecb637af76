//! A Pod with processes, and what is known of its containers.

use std::collections::BTreeMap;
#[cfg(target_os = "linux")]
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use kubewright_runtime::object::ObjectKey;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::files;
use super::launch::Folders;
use super::run::Run;
use super::volumes::Volumes;
use crate::kubelet::lifecycle::{ContainerProcess, ProcessState, RETRY};

/// A Pod with processes.
pub(super) struct Running {
    pub(super) key: ObjectKey,
    pub(super) uid: String,
    pub(super) folders: Folders,
    pub(super) volumes: tokio::sync::Mutex<Volumes>,
    pub(super) containers: Mutex<BTreeMap<String, Record>>,
    pub(super) place: Mutex<Option<IpAddr>>,
    /// Brings its volumes up to date as long as it is there.
    pub(super) refreshing: Mutex<Option<tokio::task::AbortHandle>>,
}

/// What is known of a container.
pub(super) struct Record {
    pub(super) process: ContainerProcess,
    /// How often it could not be started, and when last.
    pub(super) attempts: u32,
    pub(super) refused: Option<Instant>,
    /// By when it is to end.
    pub(super) orders: Option<watch::Sender<Option<Instant>>>,
    /// The process, for those who connect to it.
    pub(super) run: Option<Arc<Run>>,
}

impl Record {
    /// What is seen of it; of a refusal nothing more when it is time to try again.
    pub(super) fn seen(&self) -> ContainerProcess {
        let mut process = self.process.clone();
        if self.refused.is_some_and(|refused| refused.elapsed() >= RETRY) {
            process.seen = ProcessState::Nothing;
        }
        process
    }

    /// Whether its end is waited for.
    pub(super) fn is_alive(&self) -> bool {
        self.orders.as_ref().is_some_and(|orders| !orders.is_closed())
    }
}

impl Running {
    pub(super) fn attempts(&self, container: &str) -> u32 {
        self.containers
            .lock()
            .get(container)
            .map_or(0, |record| record.attempts)
    }

    /// The run of a container, if it runs.
    pub(super) fn run_of(&self, container: &str) -> Option<Arc<Run>> {
        let containers = self.containers.lock();
        let record = containers.get(container).filter(|record| record.is_alive())?;
        record.run.clone()
    }

    /// Whether a container is a process, or is to be one.
    pub(super) fn has(&self, container: &str) -> bool {
        self.containers.lock().contains_key(container)
    }

    /// The groups of all processes in its containers.
    #[cfg(target_os = "linux")]
    pub(super) fn groups(&self) -> BTreeSet<u32> {
        let containers = self.containers.lock();
        let alive = containers.values().filter(|record| record.is_alive());
        alive
            .filter_map(|record| record.run.as_ref())
            .flat_map(|run| run.groups())
            .collect()
    }

    /// Changes what is seen of a run.
    pub(super) fn see(&self, container: &str, change: impl FnOnce(&mut ProcessState)) {
        if let Some(record) = self.containers.lock().get_mut(container) {
            change(&mut record.process.seen);
        }
    }

    /// What was refused may be tried at once.
    pub(super) fn try_again(&self) {
        for record in self
            .containers
            .lock()
            .values_mut()
            .filter(|record| record.refused.is_some())
        {
            record.process.seen = ProcessState::Nothing;
        }
    }

    /// Has every process end by then. How many there are.
    pub(super) fn order_all(&self, by: Instant) -> usize {
        let containers = self.containers.lock();
        let alive = containers.values().filter(|record| record.is_alive());
        alive
            .filter_map(|record| record.orders.as_ref())
            .map(|orders| {
                // A deadline only ever gets earlier.
                orders.send_if_modified(|order| {
                    let is_sooner = order.is_none_or(|before| by < before);
                    if is_sooner {
                        *order = Some(by);
                    }
                    is_sooner
                });
            })
            .count()
    }

    /// Whether a process still runs.
    pub(super) fn is_alive(&self) -> bool {
        self.containers.lock().values().any(Record::is_alive)
    }

    pub(super) async fn ended(&self) {
        let orders: Vec<_> = {
            let containers = self.containers.lock();
            containers.values().filter_map(|record| record.orders.clone()).collect()
        };
        for orders in orders {
            orders.closed().await;
        }
    }

    pub(super) fn remove_files(&self) {
        if let Err(error) = files::remove_folder(&self.folders.0) {
            tracing::warn!(%error, pod = %self.key, "files of a Pod are left behind");
        }
    }
}
