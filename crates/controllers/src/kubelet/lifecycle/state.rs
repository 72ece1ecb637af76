//! The states of a container, and the pauses between its runs.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus, Pod,
};

use crate::support::time::whole;

/// The first pause before a container that keeps ending is started again; it doubles,
pub(super) const BACK_OFF: Duration = Duration::from_secs(10);
/// up to this.
const LONGEST_BACK_OFF: Duration = Duration::from_mins(5);

/// The state of a container that does not run, to be set.
pub(super) fn status_state(status: &mut ContainerStatus) -> &mut ContainerState {
    status.ready = false;
    status.started = Some(false);
    status.state.get_or_insert_default()
}

pub(super) fn wait_for(state: &mut ContainerState, reason: &str, message: String) {
    *state = ContainerState {
        waiting: Some(ContainerStateWaiting {
            reason: Some(reason.to_owned()),
            message: Some(message).filter(|message| !message.is_empty()),
        }),
        ..ContainerState::default()
    };
}

/// A container runs; by its id one sees what as.
pub(super) fn run(pod: &Pod, status: &mut ContainerStatus, scheme: &str, now: Timestamp) {
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    status.container_id = Some(format!("{scheme}://{uid}-{}-{}", status.name, status.restart_count));
    status.image_id.clone_from(&status.image);
    status.started = Some(true);
    status.state = Some(ContainerState {
        running: Some(ContainerStateRunning {
            started_at: Some(whole(now)),
        }),
        ..ContainerState::default()
    });
}

/// How a container ended.
pub(super) struct ContainerEnd {
    pub(super) exit_code: i32,
    pub(super) at: Timestamp,
    pub(super) message: Option<String>,
}

impl ContainerEnd {
    pub(super) fn new(exit_code: i32, at: Timestamp) -> Self {
        ContainerEnd {
            exit_code,
            at,
            message: None,
        }
    }
}

pub(super) fn terminate(status: &mut ContainerStatus, end: ContainerEnd) {
    let running = status.state.as_ref().and_then(|state| state.running.clone());
    status.ready = false;
    status.started = Some(false);
    status.state = Some(ContainerState {
        terminated: Some(ContainerStateTerminated {
            exit_code: end.exit_code,
            reason: Some(if end.exit_code == 0 { "Completed" } else { "Error" }.to_owned()),
            message: end.message,
            started_at: running
                .and_then(|running| running.started_at)
                .or_else(|| Some(whole(end.at))),
            finished_at: Some(whole(end.at)),
            container_id: status.container_id.clone(),
            ..ContainerStateTerminated::default()
        }),
        ..ContainerState::default()
    });
}

pub(super) fn finished(ended: &ContainerStateTerminated, now: Timestamp) -> Timestamp {
    ended.finished_at.as_ref().map_or(now, |time| time.0)
}

/// The pause before the next restart: none before the first.
pub(super) fn back_off(restarts: i32) -> Duration {
    match u32::try_from(restarts) {
        Ok(0) | Err(_) => Duration::ZERO,
        Ok(restarts) => BACK_OFF
            .saturating_mul(2_u32.saturating_pow(restarts - 1))
            .min(LONGEST_BACK_OFF),
    }
}
