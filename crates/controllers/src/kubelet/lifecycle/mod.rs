//! The lifecycle of a Pod on its node: a pure function from the Pod, its processes and the time to its next status.
//! It takes one step at a time, so that watchers see each. Simulated containers follow their script, others their process.

mod conditions;
mod container;
mod ephemeral;
mod init;
mod process_state;
mod state;
#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests;

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateWaiting, ContainerStatus, HostIP, Pod, PodStatus,
};

pub(super) use container::RETRY;
pub(super) use ephemeral::ephemeral_containers;
pub(super) use process_state::{ContainerProcess, PROCESS, ProcessState, ProcessStates};

use super::script::{self, Script};
use crate::support::pods;
use crate::support::time::{later, since, until, whole};
use state::ContainerEnd;

/// What happens to a Pod next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Next {
    /// It gets another status.
    Status(Box<PodStatus>),
    /// Processes of these containers are to be started; the number is that of the run.
    Start(Vec<(String, i32)>),
    /// Its processes are to be ended within this time.
    Stop(Duration),
    /// It has ended and is taken away.
    Remove,
    /// Nothing, until some time has passed.
    Wait(Duration),
    /// Nothing, until something changes.
    Nothing,
}

/// The node that a Pod is on, and the time.
pub(super) struct PodPlacement<'a> {
    pub(super) host_ip: &'a str,
    pub(super) pod_ip: &'a str,
    pub(super) now: Timestamp,
}

/// What happens to a Pod next.
pub(super) fn step(pod: &Pod, script: &Script, process_states: &ProcessStates, placement: &PodPlacement<'_>) -> Next {
    if let Some(deletion) = &pod.metadata.deletion_timestamp {
        return end(pod, deletion.0, script, process_states, placement.now);
    }
    if pods::is_terminal(pod) {
        return if process_states.any_running() {
            Next::Stop(grace(pod))
        } else {
            Next::Nothing
        };
    }
    let mut lifecycle = Lifecycle {
        pod,
        placement,
        process_states,
        status: pod.status.clone().unwrap_or_default(),
        wake: None,
        starts: Vec::new(),
    };
    if lifecycle.is_overdue() {
        lifecycle.expire();
    } else {
        lifecycle.advance(script);
    }
    match lifecycle.wake {
        _ if !lifecycle.starts.is_empty() => Next::Start(lifecycle.starts),
        _ if Some(&lifecycle.status) != pod.status.as_ref() => Next::Status(Box::new(lifecycle.status)),
        Some(wake) => Next::Wait(wake),
        None => Next::Nothing,
    }
}

/// A Pod that is being deleted ends when it is ready to, at the latest when its time is over.
fn end(pod: &Pod, deadline: Timestamp, script: &Script, process_states: &ProcessStates, now: Timestamp) -> Next {
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0).max(0);
    let asked = later(deadline, -grace);
    let grace = Duration::from_secs(grace.unsigned_abs());
    if process_states.any_running() {
        return Next::Stop(grace.saturating_sub(since(asked, now)));
    }
    let wait = script.stop_delay.min(grace).saturating_sub(since(asked, now));
    if wait.is_zero() || pods::is_terminal(pod) {
        Next::Remove
    } else {
        Next::Wait(wait)
    }
}

/// How long a Pod's processes may take to end.
pub(super) fn grace(pod: &Pod) -> Duration {
    let seconds = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
    Duration::from_secs(seconds.unwrap_or(30).max(0).unsigned_abs())
}

struct Lifecycle<'a> {
    pod: &'a Pod,
    placement: &'a PodPlacement<'a>,
    process_states: &'a ProcessStates,
    status: PodStatus,
    wake: Option<Duration>,
    starts: Vec<(String, i32)>,
}

impl Lifecycle<'_> {
    fn policy(&self) -> &str {
        let policy = self.pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref());
        policy.unwrap_or("Always")
    }

    fn wake_after(&mut self, wait: Duration) {
        self.wake = Some(self.wake.map_or(wait, |wake| wake.min(wait)));
    }

    /// Whether it has been active for longer than it may.
    fn is_overdue(&mut self) -> bool {
        let most = self.pod.spec.as_ref().and_then(|spec| spec.active_deadline_seconds);
        let (Some(most), Some(start)) = (most, self.status.start_time.as_ref().map(|time| time.0)) else {
            return false;
        };
        let left = until(later(start, most), self.placement.now);
        if left.is_zero() {
            return true;
        }
        self.wake_after(left);
        false
    }

    fn expire(&mut self) {
        self.status.phase = Some("Failed".to_owned());
        self.status.reason = Some("DeadlineExceeded".to_owned());
        self.status.message = Some("Pod was active on the node longer than the specified deadline".to_owned());
        let now = self.placement.now;
        for status in self.status.container_statuses.iter_mut().flatten() {
            if status.state.as_ref().is_some_and(|state| state.terminated.is_none()) {
                state::terminate(status, ContainerEnd::new(137, now));
            }
        }
        self.end_ephemeral();
        self.set_conditions();
    }

    fn advance(&mut self, script: &Script) {
        let now = self.placement.now;
        if self.status.start_time.is_none() {
            self.admit();
        }
        let start = self.status.start_time.as_ref().map_or(now, |time| time.0);
        // Times are written without fractions: what was started in this second may seem to begin before it did.
        let wait = script.start_delay.saturating_sub(since(start, now));
        if !wait.is_zero() {
            self.wake_after(wait);
            return;
        }
        // Before those that prepare the others: also a Pod that does not get that far can be looked into.
        self.advance_ephemeral();
        let is_prepared = !self.prepares_by_processes() || self.advance_init();
        if is_prepared {
            self.advance_containers();
        }
        self.set_phase();
        self.set_conditions();
    }

    fn advance_containers(&mut self) {
        let containers: Vec<Container> = self.pod.spec.iter().flat_map(|spec| spec.containers.clone()).collect();
        let policy = self.policy().to_owned();
        let mut statuses = self.status.container_statuses.take().unwrap_or_default();
        let mut cannot_start = false;
        for (container, status) in containers.iter().zip(&mut statuses) {
            let (script, _) = script::of_container(self.pod, &container.name, status.restart_count);
            cannot_start |= script.image_error.is_some();
            self.advance_container(container, status, &script, &policy);
        }
        self.status.container_statuses = Some(statuses);
        if !self.prepares_by_processes() && (!cannot_start || self.has_run()) {
            self.start_init_containers();
        }
    }

    /// The node has seen it: every container is being made.
    fn admit(&mut self) {
        let spec = self.pod.spec.clone().unwrap_or_default();
        let status = |container: &Container, reason: &str| ContainerStatus {
            name: container.name.clone(),
            image: container.image.clone().unwrap_or_default(),
            started: Some(false),
            state: Some(ContainerState {
                waiting: Some(ContainerStateWaiting {
                    reason: Some(reason.to_owned()),
                    message: None,
                }),
                ..ContainerState::default()
            }),
            ..ContainerStatus::default()
        };
        let reason = if spec.init_containers.as_ref().is_some_and(|init| !init.is_empty()) {
            "PodInitializing"
        } else {
            "ContainerCreating"
        };
        self.status.phase = Some("Pending".to_owned());
        self.status.start_time = Some(whole(self.placement.now));
        self.status.host_ip = Some(self.placement.host_ip.to_owned());
        self.status.host_ips = Some(vec![HostIP {
            ip: self.placement.host_ip.to_owned(),
        }]);
        self.status.container_statuses = Some(
            spec.containers
                .iter()
                .map(|container| status(container, reason))
                .collect(),
        );
        let init = spec.init_containers.iter().flatten();
        let init: Vec<_> = init.map(|container| status(container, "PodInitializing")).collect();
        self.status.init_container_statuses = (!init.is_empty()).then_some(init);
        self.set_conditions();
    }

    fn has_run(&self) -> bool {
        self.status
            .container_statuses
            .iter()
            .flatten()
            .any(|status| status.state.as_ref().is_some_and(|state| state.waiting.is_none()))
    }
}
