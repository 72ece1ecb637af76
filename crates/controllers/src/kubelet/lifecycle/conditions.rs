//! What the states of the containers mean for their Pod: its phase, and its conditions.

use k8s_openapi::api::core::v1::{PodCondition, PodIP};

use super::Lifecycle;
use crate::support::time::whole;

impl Lifecycle<'_> {
    pub(super) fn set_phase(&mut self) {
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
        let phase = if self.preparation_failed() {
            "Failed"
        } else if !statuses.is_empty() && ended.len() == statuses.len() && ended.iter().all(stays_ended) {
            if ended.iter().all(|code| *code == 0) {
                "Succeeded"
            } else {
                "Failed"
            }
        } else if statuses.iter().all(|status| {
            let waits = status.state.as_ref().is_some_and(|state| state.waiting.is_some());
            // The API server adds an empty value where it is missing.
            let has_run = status.last_state.as_ref().is_some_and(|last| last.terminated.is_some());
            waits && !has_run
        }) {
            "Pending"
        } else {
            "Running"
        };
        if phase != "Pending" && self.status.pod_ip.is_none() {
            self.status.pod_ip = Some(self.placement.pod_ip.to_owned());
            self.status.pod_ips = Some(vec![PodIP {
                ip: self.placement.pod_ip.to_owned(),
            }]);
        }
        if matches!(phase, "Succeeded" | "Failed") {
            for status in self.status.container_statuses.iter_mut().flatten() {
                status.ready = false;
            }
            self.end_ephemeral();
        }
        self.status.phase = Some(phase.to_owned());
        self.status.observed_generation = self.pod.metadata.generation;
    }

    pub(super) fn set_conditions(&mut self) {
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
        let placement = known.unwrap_or_else(|| {
            // The scheduler's condition stays at the end, where it is in a real cluster.
            let scheduled = conditions
                .iter()
                .position(|condition| condition.type_ == "PodScheduled");
            let placement = scheduled.unwrap_or(conditions.len());
            let new = PodCondition {
                type_: type_.to_owned(),
                ..PodCondition::default()
            };
            conditions.insert(placement, new);
            placement
        });
        let condition = &mut conditions[placement];
        if condition.status != status {
            condition.last_transition_time = Some(whole(self.placement.now));
            status.clone_into(&mut condition.status);
        }
        condition.reason = reason.map(str::to_owned);
        condition.message = message;
    }
}
