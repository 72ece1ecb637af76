//! The life of a Pod on its node: a pure function from what it is and what time it is to what it is next.
//! One step at a time, so that whoever watches sees each.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus,
    HostIP, Pod, PodCondition, PodIP, PodStatus,
};

use super::script::{self, ContainerScript, Script};
use crate::support::pods;
use crate::support::time::{later, since, until, whole};

/// The first pause before a container that keeps ending is started again; it doubles,
const BACK_OFF: Duration = Duration::from_secs(10);
/// up to this.
const LONGEST_BACK_OFF: Duration = Duration::from_mins(5);

/// What happens to a Pod next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Next {
    /// It gets another status.
    Status(Box<PodStatus>),
    /// It has ended and is taken away.
    Remove,
    /// Nothing, until some time has passed.
    Wait(Duration),
    /// Nothing, until something changes.
    Nothing,
}

/// Where a Pod is.
pub(super) struct Place<'a> {
    pub(super) host_ip: &'a str,
    pub(super) pod_ip: &'a str,
    pub(super) now: Timestamp,
}

/// What happens to a Pod next.
pub(super) fn step(pod: &Pod, script: &Script, place: &Place<'_>) -> Next {
    if let Some(deletion) = &pod.metadata.deletion_timestamp {
        return end(pod, deletion.0, script, place.now);
    }
    if pods::is_terminal(pod) {
        return Next::Nothing;
    }
    let mut life = Life {
        pod,
        place,
        status: pod.status.clone().unwrap_or_default(),
        wake: None,
    };
    if life.is_overdue() {
        life.expire();
    } else {
        life.advance(script);
    }
    match life.wake {
        _ if Some(&life.status) != pod.status.as_ref() => Next::Status(Box::new(life.status)),
        Some(wake) => Next::Wait(wake),
        None => Next::Nothing,
    }
}

/// A Pod that is being deleted ends when it is ready to, at the latest when its time is over.
fn end(pod: &Pod, deadline: Timestamp, script: &Script, now: Timestamp) -> Next {
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0).max(0);
    let asked = later(deadline, -grace);
    let stop_delay = script.stop_delay.min(Duration::from_secs(grace.unsigned_abs()));
    let wait = stop_delay.saturating_sub(since(asked, now));
    if wait.is_zero() || pods::is_terminal(pod) {
        Next::Remove
    } else {
        Next::Wait(wait)
    }
}

struct Life<'a> {
    pod: &'a Pod,
    place: &'a Place<'a>,
    status: PodStatus,
    wake: Option<Duration>,
}

impl Life<'_> {
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
        let left = until(later(start, most), self.place.now);
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
        let now = self.place.now;
        for status in self.status.container_statuses.iter_mut().flatten() {
            if status.state.as_ref().is_some_and(|state| state.terminated.is_none()) {
                terminate(status, 137, now);
            }
        }
        self.set_conditions();
    }

    fn advance(&mut self, script: &Script) {
        let now = self.place.now;
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
        let containers: Vec<Container> = self.pod.spec.iter().flat_map(|spec| spec.containers.clone()).collect();
        let mut statuses = self.status.container_statuses.take().unwrap_or_default();
        let mut cannot_start = false;
        for (container, status) in containers.iter().zip(&mut statuses) {
            let (script, _) = script::of_container(self.pod, &container.name, status.restart_count);
            cannot_start |= script.image_error.is_some();
            self.advance_container(container, status, &script);
        }
        self.status.container_statuses = Some(statuses);
        if !cannot_start || self.has_run() {
            self.start_init_containers();
        }
        self.set_phase();
        self.set_conditions();
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
        self.status.start_time = Some(whole(self.place.now));
        self.status.host_ip = Some(self.place.host_ip.to_owned());
        self.status.host_ips = Some(vec![HostIP {
            ip: self.place.host_ip.to_owned(),
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

    /// Containers that prepare the others have done so; those that accompany them run.
    fn start_init_containers(&mut self) {
        let spec = self.pod.spec.as_ref();
        let now = self.place.now;
        for status in self.status.init_container_statuses.iter_mut().flatten() {
            let waits = status.state.as_ref().is_some_and(|state| state.waiting.is_some());
            let accompanies = spec
                .iter()
                .flat_map(|spec| spec.init_containers.iter().flatten())
                .any(|init| init.name == status.name && init.restart_policy.as_deref() == Some("Always"));
            if !waits {
                continue;
            }
            run(self.pod, status, now);
            if accompanies {
                status.ready = true;
            } else {
                terminate(status, 0, now);
                status.ready = true;
            }
        }
    }

    fn advance_container(&mut self, container: &Container, status: &mut ContainerStatus, script: &ContainerScript) {
        let now = self.place.now;
        let state = status.state.clone().unwrap_or_default();
        if let Some(running) = &state.running {
            self.advance_running(status, running, script);
        } else if let Some(terminated) = &state.terminated {
            self.advance_terminated(status, terminated);
        } else if let Some(error) = &script.image_error {
            let image = container.image.as_deref().unwrap_or_default();
            self.fail_to_pull(status, image, error);
        } else if let Some(ended) = status.last_state.clone().and_then(|last| last.terminated) {
            let left = back_off(status.restart_count).saturating_sub(since(finished(&ended, now), now));
            if left.is_zero() {
                status.restart_count += 1;
                run(self.pod, status, now);
                let script = script::of_container(self.pod, &container.name, status.restart_count).0;
                self.get_ready(status, now, &script);
            } else {
                self.wake_after(left);
            }
        } else {
            run(self.pod, status, now);
            self.get_ready(status, now, script);
        }
    }

    fn advance_running(
        &mut self,
        status: &mut ContainerStatus,
        running: &ContainerStateRunning,
        script: &ContainerScript,
    ) {
        let now = self.place.now;
        let started = running.started_at.as_ref().map_or(now, |time| time.0);
        match script.run_time {
            Some(run_time) if since(started, now) >= run_time => {
                terminate(status, script.exit_code, now);
                self.wake_after(Duration::ZERO);
                return;
            }
            Some(run_time) => self.wake_after(run_time.saturating_sub(since(started, now))),
            None => {}
        }
        self.get_ready(status, started, script);
    }

    fn get_ready(&mut self, status: &mut ContainerStatus, started: Timestamp, script: &ContainerScript) {
        let wait = script.ready_delay.saturating_sub(since(started, self.place.now));
        status.ready = script.ready && wait.is_zero();
        if script.ready && !wait.is_zero() {
            self.wake_after(wait);
        }
    }

    fn advance_terminated(&mut self, status: &mut ContainerStatus, ended: &ContainerStateTerminated) {
        let restarts = match self.policy() {
            "Always" => true,
            "OnFailure" => ended.exit_code != 0,
            _ => false,
        };
        if !restarts {
            return;
        }
        let now = self.place.now;
        status.last_state = Some(ContainerState {
            terminated: Some(ended.clone()),
            ..ContainerState::default()
        });
        if since(finished(ended, now), now) >= back_off(status.restart_count) {
            status.restart_count += 1;
            run(self.pod, status, now);
            let script = script::of_container(self.pod, &status.name, status.restart_count).0;
            self.get_ready(status, now, &script);
            return;
        }
        let delay = back_off(status.restart_count).as_secs();
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
        wait_for(status_state(status), "CrashLoopBackOff", message);
    }

    fn fail_to_pull(&mut self, status: &mut ContainerStatus, image: &str, error: &str) {
        let start = self.status.start_time.as_ref().map_or(self.place.now, |time| time.0);
        let left = BACK_OFF.saturating_sub(since(start, self.place.now));
        if left.is_zero() {
            let message = format!("Back-off pulling image \"{image}\": ErrImagePull: {error}");
            wait_for(status_state(status), "ImagePullBackOff", message);
        } else {
            wait_for(status_state(status), "ErrImagePull", error.to_owned());
            self.wake_after(left);
        }
    }

    fn set_phase(&mut self) {
        let statuses = self.status.container_statuses.as_deref().unwrap_or_default();
        let ended: Vec<i32> = statuses
            .iter()
            .filter_map(|status| status.state.as_ref()?.terminated.as_ref())
            .map(|terminated| terminated.exit_code)
            .collect();
        let stays_ended = |code: &i32| match self.policy() {
            "Always" => false,
            "OnFailure" => *code == 0,
            _ => true,
        };
        let phase = if !statuses.is_empty() && ended.len() == statuses.len() && ended.iter().all(stays_ended) {
            if ended.iter().all(|code| *code == 0) {
                "Succeeded"
            } else {
                "Failed"
            }
        } else if statuses.iter().all(|status| {
            status.state.as_ref().is_some_and(|state| state.waiting.is_some()) && status.last_state.is_none()
        }) {
            "Pending"
        } else {
            "Running"
        };
        if phase != "Pending" && self.status.pod_ip.is_none() {
            self.status.pod_ip = Some(self.place.pod_ip.to_owned());
            self.status.pod_ips = Some(vec![PodIP {
                ip: self.place.pod_ip.to_owned(),
            }]);
        }
        if matches!(phase, "Succeeded" | "Failed") {
            for status in self.status.container_statuses.iter_mut().flatten() {
                status.ready = false;
            }
        }
        self.status.phase = Some(phase.to_owned());
        self.status.observed_generation = self.pod.metadata.generation;
    }

    fn set_conditions(&mut self) {
        let phase = self.status.phase.clone().unwrap_or_default();
        let statuses = self.status.container_statuses.clone().unwrap_or_default();
        let unready: Vec<&str> = statuses
            .iter()
            .filter(|status| !status.ready)
            .map(|status| status.name.as_str())
            .collect();
        let (ready, reason, message) = match phase.as_str() {
            "Succeeded" => (false, Some("PodCompleted"), None),
            "Failed" => (false, Some("PodFailed"), None),
            _ if unready.is_empty() => (true, None, None),
            _ => {
                let message = format!("containers with unready status: [{}]", unready.join(" "));
                (false, Some("ContainersNotReady"), Some(message))
            }
        };
        let finished = phase == "Succeeded";
        let initialized = self
            .status
            .init_container_statuses
            .iter()
            .flatten()
            .all(|status| status.ready);
        let running = matches!(phase.as_str(), "Running");
        self.set_condition("PodReadyToStartContainers", running, None, None);
        let reason_initialized = if finished {
            Some("PodCompleted")
        } else if initialized {
            None
        } else {
            Some("ContainersNotInitialized")
        };
        self.set_condition("Initialized", initialized, reason_initialized, None);
        let gates_open = self
            .pod
            .spec
            .iter()
            .flat_map(|spec| spec.readiness_gates.iter().flatten())
            .all(|gate| {
                self.status
                    .conditions
                    .iter()
                    .flatten()
                    .any(|condition| condition.type_ == gate.condition_type && condition.status == "True")
            });
        if ready && !gates_open {
            let message = "the status of pod readiness gate is not \"True\"".to_owned();
            self.set_condition("Ready", false, Some("ReadinessGatesNotReady"), Some(message));
        } else {
            self.set_condition("Ready", ready, reason, message.clone());
        }
        self.set_condition("ContainersReady", ready, reason, message);
    }

    fn set_condition(&mut self, type_: &str, value: bool, reason: Option<&str>, message: Option<String>) {
        let status = if value { "True" } else { "False" };
        let conditions = self.status.conditions.get_or_insert_default();
        let known = conditions.iter().position(|condition| condition.type_ == type_);
        let place = known.unwrap_or_else(|| {
            // The scheduler's condition stays at the end, where it is in a real cluster.
            let scheduled = conditions
                .iter()
                .position(|condition| condition.type_ == "PodScheduled");
            let place = scheduled.unwrap_or(conditions.len());
            let new = PodCondition {
                type_: type_.to_owned(),
                ..PodCondition::default()
            };
            conditions.insert(place, new);
            place
        });
        let condition = &mut conditions[place];
        if condition.status != status {
            condition.last_transition_time = Some(whole(self.place.now));
            status.clone_into(&mut condition.status);
        }
        condition.reason = reason.map(str::to_owned);
        condition.message = message;
    }
}

fn status_state(status: &mut ContainerStatus) -> &mut ContainerState {
    status.ready = false;
    status.started = Some(false);
    status.state.get_or_insert_default()
}

fn wait_for(state: &mut ContainerState, reason: &str, message: String) {
    *state = ContainerState {
        waiting: Some(ContainerStateWaiting {
            reason: Some(reason.to_owned()),
            message: Some(message),
        }),
        ..ContainerState::default()
    };
}

fn run(pod: &Pod, status: &mut ContainerStatus, now: Timestamp) {
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    status.container_id = Some(format!("simulated://{uid}-{}-{}", status.name, status.restart_count));
    status.image_id.clone_from(&status.image);
    status.started = Some(true);
    status.state = Some(ContainerState {
        running: Some(ContainerStateRunning {
            started_at: Some(whole(now)),
        }),
        ..ContainerState::default()
    });
}

fn terminate(status: &mut ContainerStatus, exit_code: i32, now: Timestamp) {
    let running = status.state.as_ref().and_then(|state| state.running.clone());
    status.ready = false;
    status.started = Some(false);
    status.state = Some(ContainerState {
        terminated: Some(ContainerStateTerminated {
            exit_code,
            reason: Some(if exit_code == 0 { "Completed" } else { "Error" }.to_owned()),
            started_at: running
                .and_then(|running| running.started_at)
                .or_else(|| Some(whole(now))),
            finished_at: Some(whole(now)),
            container_id: status.container_id.clone(),
            ..ContainerStateTerminated::default()
        }),
        ..ContainerState::default()
    });
}

fn finished(ended: &ContainerStateTerminated, now: Timestamp) -> Timestamp {
    ended.finished_at.as_ref().map_or(now, |time| time.0)
}

/// The pause before the next restart: none before the first.
fn back_off(restarts: i32) -> Duration {
    match u32::try_from(restarts) {
        Ok(0) | Err(_) => Duration::ZERO,
        Ok(restarts) => BACK_OFF
            .saturating_mul(2_u32.saturating_pow(restarts - 1))
            .min(LONGEST_BACK_OFF),
    }
}
