//! The status of a `Deployment`: counts and conditions, with upstream's reasons and messages.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet};

use super::size;
use crate::support::time;

pub(super) const AVAILABLE: &str = "Available";
pub(super) const PROGRESSING: &str = "Progressing";
const REPLICA_FAILURE: &str = "ReplicaFailure";
pub(super) const TIMED_OUT: &str = "ProgressDeadlineExceeded";
const NEW_AVAILABLE: &str = "NewReplicaSetAvailable";

/// A condition that holds since now.
pub(super) fn condition(
    type_: &str,
    status: &str,
    reason: &str,
    message: String,
    now: Timestamp,
) -> DeploymentCondition {
    DeploymentCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message),
        last_update_time: Some(time::whole(now)),
        last_transition_time: Some(time::whole(now)),
    }
}

/// The condition of a type.
pub(super) fn find<'a>(status: &'a DeploymentStatus, type_: &str) -> Option<&'a DeploymentCondition> {
    let conditions = status.conditions.as_deref()?;
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Adds or replaces a condition; one with the same status and reason stays as it is.
pub(super) fn set(status: &mut DeploymentStatus, mut condition: DeploymentCondition) {
    if let Some(current) = find(status, &condition.type_)
        && current.status == condition.status
    {
        if current.reason == condition.reason {
            return;
        }
        condition.last_transition_time.clone_from(&current.last_transition_time);
    }
    remove(status, &condition.type_);
    status.conditions.get_or_insert_default().push(condition);
}

/// Takes a condition away.
pub(super) fn remove(status: &mut DeploymentStatus, type_: &str) {
    if let Some(conditions) = &mut status.conditions {
        conditions.retain(|condition| condition.type_ != type_);
        if conditions.is_empty() {
            status.conditions = None;
        }
    }
}

/// Whether a `Deployment` is to say when it gets stuck, and after how long.
pub(super) fn deadline(deployment: &Deployment) -> Option<i64> {
    let seconds = deployment
        .spec
        .as_ref()
        .and_then(|spec| spec.progress_deadline_seconds)?;
    (seconds != i32::MAX).then_some(seconds.into())
}

/// Counts what the sets have, and says whether that is enough.
pub(super) fn count(
    deployment: &Deployment,
    all: &[&ReplicaSet],
    new: Option<&ReplicaSet>,
    now: Timestamp,
) -> DeploymentStatus {
    let sum = |count: fn(&ReplicaSet) -> i64| -> i64 { all.iter().map(|set| count(set)).sum() };
    let available = sum(size::available);
    let ready = all
        .iter()
        .filter_map(|set| set.status.as_ref()?.ready_replicas)
        .map(i64::from)
        .sum::<i64>();
    let some = |count: i64| (count != 0).then_some(i32::try_from(count).unwrap_or(i32::MAX));
    let before = deployment.status.clone().unwrap_or_default();
    let mut status = DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas: some(sum(size::actual)),
        updated_replicas: some(new.map_or(0, size::actual)),
        ready_replicas: some(ready),
        available_replicas: some(available),
        unavailable_replicas: some((sum(size::asked) - available).max(0)),
        terminating_replicas: terminating(all),
        collision_count: before.collision_count,
        conditions: before.conditions,
    };
    let enough = available >= size::wanted(deployment) - size::bounds(deployment).1;
    let (value, reason, message) = if enough {
        (
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        )
    } else {
        (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
    };
    set(
        &mut status,
        condition(AVAILABLE, value, reason, message.to_owned(), now),
    );
    status
}

/// The sum of what the sets say, unless one that has been looked at does not.
fn terminating(all: &[&ReplicaSet]) -> Option<i32> {
    let mut sum: i32 = 0;
    for set in all {
        let status = set.status.as_ref();
        match status.and_then(|status| status.terminating_replicas) {
            Some(count) => sum = sum.saturating_add(count),
            None if status.and_then(|status| status.observed_generation).unwrap_or(0) == 0 => {}
            None => return None,
        }
    }
    Some(sum)
}

/// Whether all wanted Pods are new and available, and no old ones are left.
pub(super) fn is_complete(deployment: &Deployment, status: &DeploymentStatus) -> bool {
    let wanted = size::wanted(deployment);
    let equals = |count: Option<i32>| i64::from(count.unwrap_or(0)) == wanted;
    equals(status.updated_replicas)
        && equals(status.replicas)
        && equals(status.available_replicas)
        && status.observed_generation >= deployment.metadata.generation
}

fn has_progressed(before: &DeploymentStatus, after: &DeploymentStatus) -> bool {
    let number = |count: Option<i32>| i64::from(count.unwrap_or(0));
    let old = |status: &DeploymentStatus| number(status.replicas) - number(status.updated_replicas);
    number(after.updated_replicas) > number(before.updated_replicas)
        || old(after) < old(before)
        || number(after.ready_replicas) > number(before.ready_replicas)
        || number(after.available_replicas) > number(before.available_replicas)
}

fn has_timed_out(deadline: i64, status: &DeploymentStatus, now: Timestamp) -> bool {
    let Some(progress) = find(status, PROGRESSING) else {
        return false;
    };
    match progress.reason.as_deref() {
        Some(NEW_AVAILABLE) => false,
        Some(TIMED_OUT) => true,
        _ => progress
            .last_update_time
            .as_ref()
            .is_some_and(|from| time::later(from.0, deadline) < now),
    }
}

/// The status of a `Deployment` that is rolling out, or has.
pub(super) fn of_rollout(
    deployment: &Deployment,
    all: &[&ReplicaSet],
    new: Option<&ReplicaSet>,
    now: Timestamp,
) -> DeploymentStatus {
    let before = deployment.status.clone().unwrap_or_default();
    let mut status = count(deployment, all, new, now);
    match deadline(deployment) {
        None => remove(&mut status, PROGRESSING),
        Some(deadline) => {
            let current = find(&before, PROGRESSING).cloned();
            let was_complete = status.replicas == status.updated_replicas
                && current
                    .as_ref()
                    .is_some_and(|current| current.reason.as_deref() == Some(NEW_AVAILABLE));
            if !was_complete {
                progress(deployment, &before, &mut status, current.as_ref(), new, (deadline, now));
            }
        }
    }
    let failures = |set: &&ReplicaSet| -> Option<DeploymentCondition> {
        let conditions = set.status.as_ref()?.conditions.as_deref()?;
        let failure = conditions.iter().find(|condition| condition.type_ == REPLICA_FAILURE)?;
        Some(DeploymentCondition {
            type_: REPLICA_FAILURE.to_owned(),
            status: failure.status.clone(),
            reason: failure.reason.clone(),
            message: failure.message.clone(),
            last_transition_time: failure.last_transition_time.clone(),
            last_update_time: failure.last_transition_time.clone(),
        })
    };
    match new.iter().find_map(failures).or_else(|| all.iter().find_map(failures)) {
        Some(failure) => set(&mut status, failure),
        None => remove(&mut status, REPLICA_FAILURE),
    }
    status
}

fn progress(
    deployment: &Deployment,
    before: &DeploymentStatus,
    status: &mut DeploymentStatus,
    current: Option<&DeploymentCondition>,
    new: Option<&ReplicaSet>,
    (deadline, now): (i64, Timestamp),
) {
    let name = |metadata: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta| {
        metadata.name.clone().unwrap_or_default()
    };
    let who = match new {
        Some(new) => format!("ReplicaSet {:?}", name(&new.metadata)),
        None => format!("Deployment {:?}", name(&deployment.metadata)),
    };
    if is_complete(deployment, status) {
        let message = format!("{who} has successfully progressed.");
        set(status, condition(PROGRESSING, "True", NEW_AVAILABLE, message, now));
    } else if has_progressed(before, status) {
        let mut updated = condition(
            PROGRESSING,
            "True",
            "ReplicaSetUpdated",
            format!("{who} is progressing."),
            now,
        );
        if let Some(current) = current {
            if current.status == "True" {
                updated.last_transition_time.clone_from(&current.last_transition_time);
            }
            // Progress is written down each time, so that the deadline runs from the last of it.
            remove(status, PROGRESSING);
        }
        set(status, updated);
    } else if has_timed_out(deadline, status, now) {
        let message = format!("{who} has timed out progressing.");
        set(status, condition(PROGRESSING, "False", TIMED_OUT, message, now));
    }
}

/// When to look again whether a `Deployment` is stuck.
pub(super) fn next_check(deployment: &Deployment, status: &DeploymentStatus, now: Timestamp) -> Option<Duration> {
    let deadline = deadline(deployment)?;
    let current = find(deployment.status.as_ref()?, PROGRESSING)?;
    if is_complete(deployment, status) || current.reason.as_deref() == Some(TIMED_OUT) {
        return None;
    }
    let from = current.last_update_time.as_ref()?.0;
    // The second makes sure that it is late enough then: times are written without fractions.
    Some(time::until(time::later(from, deadline), now) + Duration::from_secs(1))
}
