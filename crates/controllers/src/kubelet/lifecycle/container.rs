//! The lifecycle of one container: it is pulled, runs, gets ready, ends, and runs again after a back-off.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStatus,
};

use super::process_state::{PROCESS, ProcessState};
use super::state::{self, BACK_OFF, ContainerEnd};
use super::{Lifecycle, script};
use crate::kubelet::script::ContainerScript;
use crate::support::time::since;

/// How long until what could not be started is tried again.
pub(in crate::kubelet) const RETRY: Duration = Duration::from_secs(5);

impl Lifecycle<'_> {
    /// Brings a container a step further.
    pub(super) fn advance_container(
        &mut self,
        container: &Container,
        status: &mut ContainerStatus,
        script: &ContainerScript,
        policy: &str,
    ) {
        let now = self.placement.now;
        let state = status.state.clone().unwrap_or_default();
        let is_simulated = !self.process_states.0.contains_key(&container.name);
        if let Some(running) = &state.running {
            match self.process_states.seen(&container.name, status.restart_count).cloned() {
                None => self.advance_running(status, running, script),
                Some(seen) => self.watch(status, &seen),
            }
        } else if let Some(terminated) = &state.terminated {
            self.advance_terminated(status, terminated, policy);
        } else if let Some(error) = script.image_error.as_ref().filter(|_| is_simulated) {
            let image = container.image.as_deref().unwrap_or_default();
            self.fail_to_pull(status, image, error);
        } else if let Some(ended) = status.last_state.clone().and_then(|last| last.terminated) {
            let left = state::back_off(status.restart_count).saturating_sub(since(state::finished(&ended, now), now));
            if left.is_zero() {
                self.begin(status, status.restart_count.saturating_add(1));
            } else {
                self.wake_after(left);
            }
        } else {
            self.begin(status, 0);
        }
    }

    /// A run begins.
    fn begin(&mut self, status: &mut ContainerStatus, run: i32) {
        let now = self.placement.now;
        match self.process_states.seen(&status.name, run).cloned() {
            None => {
                status.restart_count = run;
                state::run(self.pod, status, "simulated", now);
                let script = script::of_container(self.pod, &status.name, run).0;
                self.get_ready(status, now, &script);
            }
            Some(ProcessState::Nothing) => self.starts.push((status.name.clone(), run)),
            Some(ProcessState::Refused { reason, message }) => {
                state::wait_for(state::status_state(status), reason, message);
                self.wake_after(RETRY);
            }
            // A process that has ended since is reported as running first.
            Some(seen @ (ProcessState::Running { since, .. } | ProcessState::Ended { since, .. })) => {
                status.restart_count = run;
                state::run(self.pod, status, PROCESS, since);
                if let Some(process) = self.process_states.0.get(&status.name) {
                    status.image_id.clone_from(&process.image_id);
                }
                match seen {
                    ProcessState::Running { started, ready, .. } => {
                        status.started = Some(started);
                        status.ready = started && ready;
                    }
                    _ => self.wake_after(Duration::ZERO),
                }
            }
        }
    }

    /// Follows a process that was running at the last step.
    fn watch(&mut self, status: &mut ContainerStatus, seen: &ProcessState) {
        match seen {
            ProcessState::Running { started, ready, .. } => {
                status.started = Some(*started);
                status.ready = *started && *ready;
            }
            ProcessState::Ended {
                at, exit_code, message, ..
            } => {
                let end = ContainerEnd {
                    exit_code: *exit_code,
                    at: *at,
                    message: message.clone(),
                };
                state::terminate(status, end);
                self.wake_after(Duration::ZERO);
            }
            // The process ended with the kubelet that started it.
            ProcessState::Nothing | ProcessState::Refused { .. } => {
                let end = ContainerEnd {
                    message: Some("The process was ended with the kubelet that ran it".to_owned()),
                    ..ContainerEnd::new(137, self.placement.now)
                };
                state::terminate(status, end);
                self.wake_after(Duration::ZERO);
            }
        }
    }

    fn advance_running(
        &mut self,
        status: &mut ContainerStatus,
        running: &ContainerStateRunning,
        script: &ContainerScript,
    ) {
        let now = self.placement.now;
        let started = running.started_at.as_ref().map_or(now, |time| time.0);
        match script.run_time {
            Some(run_time) if since(started, now) >= run_time => {
                state::terminate(status, ContainerEnd::new(script.exit_code, now));
                self.wake_after(Duration::ZERO);
                return;
            }
            Some(run_time) => self.wake_after(run_time.saturating_sub(since(started, now))),
            None => {}
        }
        self.get_ready(status, started, script);
    }

    fn get_ready(&mut self, status: &mut ContainerStatus, started: Timestamp, script: &ContainerScript) {
        let wait = script.ready_delay.saturating_sub(since(started, self.placement.now));
        status.ready = script.ready && wait.is_zero();
        if script.ready && !wait.is_zero() {
            self.wake_after(wait);
        }
    }

    fn advance_terminated(&mut self, status: &mut ContainerStatus, ended: &ContainerStateTerminated, policy: &str) {
        let restarts = match policy {
            "Always" => true,
            "OnFailure" => ended.exit_code != 0,
            _ => false,
        };
        if !restarts {
            return;
        }
        let now = self.placement.now;
        status.last_state = Some(ContainerState {
            terminated: Some(ended.clone()),
            ..ContainerState::default()
        });
        let pause = state::back_off(status.restart_count);
        if since(state::finished(ended, now), now) >= pause {
            self.begin(status, status.restart_count.saturating_add(1));
            return;
        }
        let delay = pause.as_secs();
        let pause = if delay >= 60 {
            format!("{}m{}s", delay / 60, delay % 60)
        } else {
            format!("{delay}s")
        };
        let meta = &self.pod.metadata;
        let message = format!(
            "back-off {pause} restarting failed container={} pod={}_{}({})",
            status.name,
            meta.name.as_deref().unwrap_or_default(),
            meta.namespace.as_deref().unwrap_or_default(),
            meta.uid.as_deref().unwrap_or_default()
        );
        state::wait_for(state::status_state(status), "CrashLoopBackOff", message);
    }

    fn fail_to_pull(&mut self, status: &mut ContainerStatus, image: &str, error: &str) {
        let start = self
            .status
            .start_time
            .as_ref()
            .map_or(self.placement.now, |time| time.0);
        let left = BACK_OFF.saturating_sub(since(start, self.placement.now));
        if left.is_zero() {
            let message = format!("Back-off pulling image \"{image}\": ErrImagePull: {error}");
            state::wait_for(state::status_state(status), "ImagePullBackOff", message);
        } else {
            state::wait_for(state::status_state(status), "ErrImagePull", error.to_owned());
            self.wake_after(left);
        }
    }
}
