//! Ephemeral containers: added to a Pod that runs, to look into it. They are started once and say nothing about the Pod.

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateWaiting, ContainerStatus, EphemeralContainer, Pod,
};

use super::state::{self, ContainerEnd};
use super::{Lifecycle, script};

/// The ephemeral containers of a Pod, as containers: they lack ports, probes, hooks and resources, which the API server refuses.
pub(in crate::kubelet) fn ephemeral_containers(pod: &Pod) -> impl Iterator<Item = Container> {
    let spec = pod.spec.iter();
    spec.flat_map(|spec| spec.ephemeral_containers.iter().flatten())
        .cloned()
        .map(|ephemeral: EphemeralContainer| Container {
            args: ephemeral.args,
            command: ephemeral.command,
            env: ephemeral.env,
            env_from: ephemeral.env_from,
            image: ephemeral.image,
            image_pull_policy: ephemeral.image_pull_policy,
            name: ephemeral.name,
            security_context: ephemeral.security_context,
            stdin: ephemeral.stdin,
            stdin_once: ephemeral.stdin_once,
            termination_message_path: ephemeral.termination_message_path,
            termination_message_policy: ephemeral.termination_message_policy,
            tty: ephemeral.tty,
            volume_mounts: ephemeral.volume_mounts,
            working_dir: ephemeral.working_dir,
            ..Container::default()
        })
}

impl Lifecycle<'_> {
    /// Starts those that were added since, and follows the others.
    pub(super) fn advance_ephemeral(&mut self) {
        let mut statuses = self.status.ephemeral_container_statuses.take().unwrap_or_default();
        for container in ephemeral_containers(self.pod) {
            let known = statuses.iter().position(|status| status.name == container.name);
            let place = known.unwrap_or_else(|| {
                statuses.push(created(&container));
                statuses.len() - 1
            });
            let status = &mut statuses[place];
            let (script, _) = script::of_ephemeral(self.pod, &container.name);
            self.advance_container(&container, status, &script, "Never");
            // Nobody asks whether they are ready.
            status.ready = false;
            status.started = None;
        }
        self.status.ephemeral_container_statuses = (!statuses.is_empty()).then_some(statuses);
    }

    /// Those that still run end with their Pod.
    pub(super) fn end_ephemeral(&mut self) {
        let now = self.placement.now;
        for status in self.status.ephemeral_container_statuses.iter_mut().flatten() {
            if status.state.as_ref().is_some_and(|state| state.terminated.is_none()) {
                state::terminate(status, ContainerEnd::new(137, now));
                status.started = None;
            }
        }
    }
}

fn created(container: &Container) -> ContainerStatus {
    ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        state: Some(ContainerState {
            waiting: Some(ContainerStateWaiting {
                reason: Some("ContainerCreating".to_owned()),
                message: None,
            }),
            ..ContainerState::default()
        }),
        ..ContainerStatus::default()
    }
}
