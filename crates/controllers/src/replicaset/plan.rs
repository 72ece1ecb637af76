//! What a `ReplicaSet` needs, and what its status says: pure.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetCondition, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;

use crate::support::{labels, pods, time};

/// So many Pods are made or deleted at once, at most.
pub(super) const BURST: usize = 500;

/// What is to be done about the number of Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    /// As many as wanted.
    None,
    /// So many more are wanted.
    Create(usize),
    /// So many fewer are wanted.
    Delete(usize),
}

/// Compares what is wanted with what is there.
pub(super) fn difference(set: &ReplicaSet, active: usize) -> Difference {
    let wanted = usize::try_from(wanted(set)).unwrap_or(0);
    match wanted.checked_sub(active) {
        _ if set.metadata.deletion_timestamp.is_some() => Difference::None,
        Some(0) => Difference::None,
        Some(more) => Difference::Create(more.min(BURST)),
        None => Difference::Delete((active - wanted).min(BURST)),
    }
}

/// How many Pods a set wants. The server fills it in.
pub(super) fn wanted(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

/// How long Pods of a set must be ready to be available.
pub(super) fn min_ready_seconds(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0)
}

/// The status of a set with these Pods. `failure` is why Pods could not be made or deleted.
pub(super) fn status<'a>(
    set: &ReplicaSet,
    active: impl IntoIterator<Item = &'a Pod>,
    terminating: usize,
    failure: Option<&str>,
    now: Timestamp,
) -> ReplicaSetStatus {
    let template = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
    let template_labels = template
        .and_then(|template| template.metadata.as_ref())
        .and_then(|metadata| metadata.labels.as_ref());
    let (mut replicas, mut labeled, mut ready, mut available) = (0, 0, 0, 0);
    for pod in active {
        replicas += 1;
        labeled += i32::from(labels::is_subset(template_labels, pod.metadata.labels.as_ref()));
        ready += i32::from(pods::is_ready(pod));
        available += i32::from(pods::is_available(pod, min_ready_seconds(set), now));
    }
    let mut conditions = set
        .status
        .as_ref()
        .and_then(|status| status.conditions.clone())
        .unwrap_or_default();
    let failed = conditions
        .iter()
        .position(|condition| condition.type_ == "ReplicaFailure");
    match (failure, failed) {
        (Some(message), None) => conditions.push(ReplicaSetCondition {
            type_: "ReplicaFailure".to_owned(),
            status: "True".to_owned(),
            last_transition_time: Some(time::whole(now)),
            reason: Some(
                if replicas < wanted(set) {
                    "FailedCreate"
                } else {
                    "FailedDelete"
                }
                .to_owned(),
            ),
            message: Some(message.to_owned()),
        }),
        (None, Some(position)) => {
            conditions.remove(position);
        }
        _ => {}
    }
    let some = |count: i32| (count != 0).then_some(count);
    ReplicaSetStatus {
        replicas,
        fully_labeled_replicas: some(labeled),
        ready_replicas: some(ready),
        available_replicas: some(available),
        terminating_replicas: Some(i32::try_from(terminating).unwrap_or(i32::MAX)),
        observed_generation: set.metadata.generation,
        conditions: (!conditions.is_empty()).then_some(conditions),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(replicas: i32, deleting: bool) -> ReplicaSet {
        let mut set = json!({
            "metadata": { "name": "web", "generation": 4 },
            "spec": {
                "replicas": replicas, "minReadySeconds": 10, "selector": {},
                "template": { "metadata": { "labels": { "app": "web" } } },
            },
        });
        if deleting {
            set["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        serde_json::from_value(set).unwrap()
    }

    fn pod(ready: bool, labels: &[(&str, &str)]) -> Pod {
        let labels: serde_json::Map<_, _> = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).into()))
            .collect();
        serde_json::from_value(json!({
            "metadata": { "labels": labels },
            "status": { "phase": "Running", "conditions": [{
                "type": "Ready", "status": if ready { "True" } else { "False" },
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }] },
        }))
        .unwrap()
    }

    #[test]
    fn the_difference_is_bounded_and_none_while_the_set_goes() {
        assert_eq!(difference(&set(3, false), 1), Difference::Create(2));
        assert_eq!(difference(&set(3, false), 3), Difference::None);
        assert_eq!(difference(&set(0, false), 3), Difference::Delete(3));
        assert_eq!(difference(&set(2000, false), 0), Difference::Create(BURST));
        assert_eq!(difference(&set(3, true), 1), Difference::None);
    }

    #[test]
    fn the_status_counts_what_is_labelled_ready_and_available() {
        let pods = [
            pod(true, &[("app", "web"), ("more", "x")]),
            pod(false, &[("app", "other")]),
        ];
        let now = "2026-01-01T00:00:05Z".parse().unwrap();
        let early = status(&set(2, false), &pods, 1, None, now);
        assert_eq!(
            (early.replicas, early.fully_labeled_replicas, early.ready_replicas),
            (2, Some(1), Some(1))
        );
        assert_eq!((early.available_replicas, early.terminating_replicas), (None, Some(1)));
        assert_eq!(early.observed_generation, Some(4));
        let late = status(&set(2, false), &pods, 0, None, "2026-01-01T00:00:10Z".parse().unwrap());
        assert_eq!(late.available_replicas, Some(1));
    }

    #[test]
    fn a_failure_becomes_a_condition_and_goes_with_its_cause() {
        let now = "2026-01-01T00:00:05Z".parse().unwrap();
        let mut set = set(2, false);
        let failed = status(&set, [], 0, Some("no room"), now);
        let condition = &failed.conditions.as_ref().unwrap()[0];
        assert_eq!(condition.reason.as_deref(), Some("FailedCreate"));
        assert_eq!(condition.message.as_deref(), Some("no room"));
        set.status = Some(failed);
        assert_eq!(status(&set, [], 0, None, now).conditions, None);
    }
}
