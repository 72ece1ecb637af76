//! Init containers, and sidecars: init containers that keep running.

use k8s_openapi::api::core::v1::Container;

use super::state::{self, ContainerEnd};
use super::{Lifecycle, script};

/// Whether a container of this sort stays beside the others.
fn accompanies(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

impl Lifecycle<'_> {
    fn init_containers(&self) -> impl Iterator<Item = &Container> {
        let spec = self.pod.spec.iter();
        spec.flat_map(|spec| spec.init_containers.iter().flatten())
    }

    /// Whether processes prepare the others, which takes its time.
    pub(super) fn prepares_by_processes(&self) -> bool {
        self.init_containers()
            .any(|container| self.process_states.0.contains_key(&container.name))
    }

    /// Simulated containers that prepare the others have done so at once; those that accompany them run.
    pub(super) fn start_init_containers(&mut self) {
        let spec = self.pod.spec.as_ref();
        let now = self.placement.now;
        for status in self.status.init_container_statuses.iter_mut().flatten() {
            let waits = status.state.as_ref().is_some_and(|state| state.waiting.is_some());
            let accompanies = spec
                .iter()
                .flat_map(|spec| spec.init_containers.iter().flatten())
                .any(|init| init.name == status.name && accompanies(init));
            if !waits {
                continue;
            }
            state::run(self.pod, status, "simulated", now);
            if !accompanies {
                state::terminate(status, ContainerEnd::new(0, now));
            }
            status.ready = true;
        }
    }

    /// Runs them one after the other. Whether all have done what the others wait for.
    pub(super) fn advance_init(&mut self) -> bool {
        let containers: Vec<Container> = self.init_containers().cloned().collect();
        let mut statuses = self.status.init_container_statuses.take().unwrap_or_default();
        let policy = match self.policy() {
            "Never" => "Never",
            _ => "OnFailure",
        };
        let now = self.placement.now;
        let mut is_done = true;
        for (container, status) in containers.iter().zip(&mut statuses) {
            let is_simulated = !self.process_states.0.contains_key(&container.name);
            let has_begun = status.state.as_ref().is_some_and(|state| state.waiting.is_none());
            if accompanies(container) {
                let (script, _) = script::of_container(self.pod, &container.name, status.restart_count);
                self.advance_container(container, status, &script, "Always");
                is_done = status.started == Some(true);
            } else if is_simulated && !has_begun {
                state::run(self.pod, status, "simulated", now);
                state::terminate(status, ContainerEnd::new(0, now));
                status.ready = true;
            } else if !is_simulated && !status.ready {
                let (script, _) = script::of_container(self.pod, &container.name, status.restart_count);
                self.advance_container(container, status, &script, policy);
                let ended = status.state.as_ref().and_then(|state| state.terminated.as_ref());
                // Such a container is ready when it has done its work.
                status.ready = ended.is_some_and(|ended| ended.exit_code == 0);
                is_done = status.ready;
            }
            if !is_done {
                break;
            }
        }
        self.status.init_container_statuses = Some(statuses);
        is_done
    }

    /// Whether a container that was to prepare the others has failed for good.
    pub(super) fn preparation_failed(&self) -> bool {
        let statuses = self.status.init_container_statuses.iter().flatten();
        let failed = statuses.filter_map(|status| Some((status, status.state.as_ref()?.terminated.as_ref()?)));
        let mut failed = failed.filter(|(_, ended)| ended.exit_code != 0);
        self.policy() == "Never"
            && failed.any(|(status, _)| {
                self.init_containers()
                    .any(|container| container.name == status.name && !accompanies(container))
            })
    }
}
