//! What stands behind the containers of a Pod: nothing, which is simulated, or processes, of which something is seen.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// How the id of a container that is a process begins.
pub(in crate::kubelet) const PROCESS: &str = "process";

/// What stands behind the containers of a Pod, by name; those that are not here are simulated.
#[derive(Clone, Debug, Default)]
pub(in crate::kubelet) struct Bodies(pub(in crate::kubelet) BTreeMap<String, Body>);

/// A container that is a process, and which run of it is told of.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::kubelet) struct Body {
    /// How often it was restarted.
    pub(in crate::kubelet) run: i32,
    pub(in crate::kubelet) seen: Seen,
    /// What was loaded under the name of its image.
    pub(in crate::kubelet) image_id: String,
}

/// What is seen of a run.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::kubelet) enum Seen {
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

impl Bodies {
    /// Whether a process still runs.
    pub(super) fn any_running(&self) -> bool {
        self.0.values().any(|body| matches!(body.seen, Seen::Running { .. }))
    }

    /// What is seen of a run of this container; `None` if it is simulated.
    pub(super) fn seen(&self, container: &str, run: i32) -> Option<&Seen> {
        let body = self.0.get(container)?;
        Some(if body.run == run { &body.seen } else { &Seen::Nothing })
    }
}
