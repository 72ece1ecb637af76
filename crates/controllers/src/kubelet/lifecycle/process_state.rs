//! The processes of a Pod's containers. A container without one is simulated.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// The prefix of the id of a container that is a process.
pub(in crate::kubelet) const PROCESS: &str = "process";

/// The processes of a Pod's containers, by the name of the container.
#[derive(Clone, Debug, Default)]
pub(in crate::kubelet) struct ProcessStates(pub(in crate::kubelet) BTreeMap<String, ContainerProcess>);

/// The process of a container, and which run of the container it is.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::kubelet) struct ContainerProcess {
    /// How often it was restarted.
    pub(in crate::kubelet) run: i32,
    pub(in crate::kubelet) seen: ProcessState,
    /// The id of the image it was started from.
    pub(in crate::kubelet) image_id: String,
}

/// The state of a run.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::kubelet) enum ProcessState {
    /// It has not been started.
    Nothing,
    /// It runs.
    Running {
        since: Timestamp,
        started: bool,
        ready: bool,
    },
    /// It has ended.
    Ended {
        since: Timestamp,
        at: Timestamp,
        exit_code: i32,
        message: Option<String>,
    },
    /// It could not be started, and is tried again.
    Refused { reason: &'static str, message: String },
}

impl ProcessStates {
    /// Whether a process still runs.
    pub(super) fn any_running(&self) -> bool {
        self.0
            .values()
            .any(|process| matches!(process.seen, ProcessState::Running { .. }))
    }

    /// The state of a run of this container; `None` if it is simulated.
    pub(super) fn seen(&self, container: &str, run: i32) -> Option<&ProcessState> {
        let process = self.0.get(container)?;
        Some(if process.run == run {
            &process.seen
        } else {
            &ProcessState::Nothing
        })
    }
}
