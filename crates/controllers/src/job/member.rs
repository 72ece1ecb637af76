//! What matters of a Pod of a Job. Pure.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};

use crate::support::pods;
use crate::support::time::later;

/// While a Pod has this finalizer it is not counted yet.
pub(super) const TRACKING: &str = "batch.kubernetes.io/job-tracking";
/// The index of a Pod, as annotation and label.
pub(super) const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// How many Pods of the same index failed before.
pub(super) const FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
/// How many of them were ignored.
pub(super) const IGNORED_FAILURES: &str = "batch.kubernetes.io/job-index-ignored-failure-count";

/// A Pod by its name and what matters of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobPod<'a> {
    pub(super) pod: &'a Pod,
    pub(super) name: &'a str,
    pub(super) uid: &'a str,
    pub(super) tracked: bool,
    pub(super) index: Option<i32>,
}

impl<'a> JobPod<'a> {
    pub(super) fn of(pod: &'a Pod) -> Self {
        JobPod {
            pod,
            name: pod.metadata.name.as_deref().unwrap_or_default(),
            uid: pod.metadata.uid.as_deref().unwrap_or_default(),
            tracked: is_tracked(pod),
            index: number(pod, INDEX),
        }
    }

    pub(super) fn has_succeeded(&self) -> bool {
        pods::phase(self.pod) == "Succeeded"
    }

    /// How many Pods of its index failed before it and counted; how many did not count.
    pub(super) fn failures(&self) -> (i32, i32) {
        let count = |annotation| number(self.pod, annotation).unwrap_or(0);
        (count(FAILURES), count(IGNORED_FAILURES))
    }

    /// All failures of its index before it.
    pub(super) fn all_failures(&self) -> i32 {
        let (counted, ignored) = self.failures();
        counted.saturating_add(ignored)
    }

    /// When it ended: by its containers, its condition, or its deletion timestamp.
    pub(super) fn ended(&self) -> Timestamp {
        let made = || self.pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let ended = self.containers_ended().or_else(|| self.unready_since());
        let ended = ended.or_else(|| self.deleted()).or_else(made);
        ended.unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn containers_ended(&self) -> Option<Timestamp> {
        let status = self.pod.status.as_ref()?;
        let inits = self
            .pod
            .spec
            .iter()
            .flat_map(|spec| spec.init_containers.iter().flatten());
        let sidecars: Vec<&str> = inits
            .filter(|container| container.restart_policy.as_deref() == Some("Always"))
            .map(|container| container.name.as_str())
            .collect();
        let end = |status: &ContainerStatus| {
            let terminated = status.state.as_ref()?.terminated.as_ref()?;
            terminated.finished_at.as_ref().map(|time| time.0)
        };
        let containers = status.container_statuses.iter().flatten();
        let ends = containers.chain(
            status
                .init_container_statuses
                .iter()
                .flatten()
                .filter(|status| sidecars.contains(&status.name.as_str())),
        );
        // Unknown while one of them has not ended.
        let ends: Option<Vec<Timestamp>> = ends.map(end).collect();
        ends?.into_iter().max()
    }

    fn unready_since(&self) -> Option<Timestamp> {
        let conditions = self.pod.status.as_ref()?.conditions.as_deref()?;
        let ready = conditions.iter().find(|condition| condition.type_ == "Ready")?;
        let since = ready.last_transition_time.as_ref().filter(|_| ready.status == "False");
        since.map(|time| time.0)
    }

    fn deleted(&self) -> Option<Timestamp> {
        let deadline = self.pod.metadata.deletion_timestamp.as_ref()?.0;
        let grace = self.pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
        Some(later(deadline, grace.saturating_neg()))
    }
}

/// Whether a Pod waits to be counted.
pub(super) fn is_tracked(pod: &Pod) -> bool {
    pod.metadata.finalizers.iter().flatten().any(|own| own == TRACKING)
}

/// The number in an annotation. `None` if it is not a number, or negative.
fn number(pod: &Pod, annotation: &str) -> Option<i32> {
    let text = pod.metadata.annotations.as_ref()?.get(annotation)?;
    text.parse().ok().filter(|number| *number >= 0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn ended(pod: &Value) -> String {
        let pod: Pod = serde_json::from_value(pod.clone()).unwrap();
        JobPod::of(&pod).ended().to_string()
    }

    #[test]
    fn the_end_is_that_of_the_last_container_or_what_is_known_instead() {
        let end = |name: &str, at: &str| {
            json!({
                "name": name, "image": "", "imageID": "", "ready": false, "restartCount": 0,
                "state": { "terminated": { "exitCode": 1, "finishedAt": at } },
            })
        };
        let mut pod = json!({
            "metadata": {
                "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-01T00:05:30Z",
                "deletionGracePeriodSeconds": 30,
            },
            "spec": { "containers": [], "initContainers": [{ "name": "side", "restartPolicy": "Always" }] },
            "status": {
                "conditions": [{ "type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:04:00Z" }],
                "containerStatuses": [end("a", "2026-01-01T00:01:00Z"), end("b", "2026-01-01T00:02:00Z")],
                "initContainerStatuses": [end("init", "2026-01-01T00:09:00Z"), end("side", "2026-01-01T00:03:00Z")],
            },
        });
        assert_eq!(ended(&pod), "2026-01-01T00:03:00Z");
        pod["status"]["containerStatuses"][1]["state"] = json!({ "running": {} });
        assert_eq!(ended(&pod), "2026-01-01T00:04:00Z");
        pod["status"]["conditions"] = json!([]);
        assert_eq!(ended(&pod), "2026-01-01T00:05:00Z");
        pod["metadata"] = json!({ "creationTimestamp": "2026-01-01T00:00:00Z" });
        assert_eq!(ended(&pod), "2026-01-01T00:00:00Z");
    }
}
