//! Revisions: the annotations by which a `Deployment` and its `ReplicaSets` remember what was rolled out when.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};

pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
pub(super) const MOST: &str = "deployment.kubernetes.io/max-replicas";
pub(super) const ROLLBACK: &str = "deprecated.deployment.rollback.to";
/// A history of about 100 revisions.
const LONGEST_HISTORY: usize = 2000;

type Annotations = BTreeMap<String, String>;

/// Annotations that are not handed on between a `Deployment` and its sets.
fn stays(key: &str) -> bool {
    const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
    matches!(key, LAST_APPLIED | REVISION | HISTORY | DESIRED | MOST | ROLLBACK)
}

/// The revision of a `ReplicaSet`; 0 if it has none, an error if it is not a number.
pub(super) fn revision(set: &ReplicaSet) -> Option<i64> {
    match set.metadata.annotations.as_ref().and_then(|all| all.get(REVISION)) {
        None => Some(0),
        Some(text) => text.parse().ok(),
    }
}

/// A number of replicas that an annotation of a set holds.
pub(super) fn number(set: &ReplicaSet, key: &str) -> Option<i64> {
    let text = set.metadata.annotations.as_ref()?.get(key)?;
    text.parse::<u32>()
        .ok()
        .filter(|count| i32::try_from(*count).is_ok())
        .map(i64::from)
}

/// Gives a set the annotations of its `Deployment` and at least this revision. Whether something changed.
pub(super) fn annotate(set: &mut ReplicaSet, deployment: &Deployment, newest: i64) -> bool {
    let annotations = set.metadata.annotations.get_or_insert_default();
    let mut changed = copy(deployment.metadata.annotations.as_ref(), annotations);
    let before = annotations.get(REVISION).cloned();
    let number = match before.as_deref() {
        None | Some("") => 0,
        Some(text) => match text.parse::<i64>() {
            Ok(number) => number,
            Err(_) => return false,
        },
    };
    if number < newest {
        annotations.insert(REVISION.to_owned(), newest.to_string());
        changed = true;
        // It had a revision: this is a way back to it, and the way is remembered.
        if let Some(before) = before {
            remember(annotations, before);
        }
    }
    changed
}

fn copy(from: Option<&Annotations>, to: &mut Annotations) -> bool {
    let mut changed = false;
    for (key, value) in from.into_iter().flatten() {
        if !stays(key) && to.get(key) != Some(value) {
            to.insert(key.clone(), value.clone());
            changed = true;
        }
    }
    changed
}

fn remember(annotations: &mut Annotations, revision: String) {
    let history = annotations.get(HISTORY).cloned().unwrap_or_default();
    if history.is_empty() {
        annotations.insert(HISTORY.to_owned(), revision);
        return;
    }
    let mut revisions: Vec<&str> = history.split(',').collect();
    let mut length = history.len() + revision.len() + 1;
    while length > LONGEST_HISTORY && !revisions.is_empty() {
        length -= revisions.remove(0).len() + 1;
    }
    if length <= LONGEST_HISTORY {
        revisions.push(&revision);
        annotations.insert(HISTORY.to_owned(), revisions.join(","));
    }
}

/// Writes down how large the `Deployment` wants to be, and may be. Whether something changed.
pub(super) fn annotate_size(set: &mut ReplicaSet, desired: i64, most: i64) -> bool {
    let annotations = set.metadata.annotations.get_or_insert_default();
    let mut changed = false;
    for (key, value) in [(DESIRED, desired.to_string()), (MOST, most.to_string())] {
        if annotations.get(key) != Some(&value) {
            annotations.insert(key.to_owned(), value);
            changed = true;
        }
    }
    changed
}

/// Gives a `Deployment` the annotations of the set it goes back to.
pub(super) fn restore(deployment: &mut Deployment, set: &ReplicaSet) {
    let annotations = deployment.metadata.annotations.get_or_insert_default();
    annotations.retain(|key, _| stays(key));
    let earlier = set.metadata.annotations.iter().flatten();
    annotations.extend(
        earlier
            .filter(|(key, _)| !stays(key))
            .map(|(key, value)| (key.clone(), value.clone())),
    );
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(annotations: &serde_json::Value) -> ReplicaSet {
        serde_json::from_value(json!({ "metadata": { "annotations": annotations } })).unwrap()
    }

    fn deployment(annotations: &serde_json::Value) -> Deployment {
        serde_json::from_value(json!({ "metadata": { "annotations": annotations } })).unwrap()
    }

    #[test]
    fn a_set_that_is_rolled_back_to_remembers_its_former_revisions() {
        let mut set = set(&json!({ REVISION: "1" }));
        let deployment = deployment(&json!({ "cause": "edit", REVISION: "7" }));
        assert!(annotate(&mut set, &deployment, 3));
        assert!(annotate(&mut set, &deployment, 5));
        assert!(!annotate(&mut set, &deployment, 4));
        let annotations = set.metadata.annotations.unwrap();
        assert_eq!(
            (annotations[REVISION].as_str(), annotations[HISTORY].as_str()),
            ("5", "1,3")
        );
        assert_eq!(annotations["cause"], "edit");
    }

    #[test]
    fn a_history_never_grows_beyond_its_limit() {
        let mut set = set(&json!({ REVISION: "1" }));
        for revision in 2..900 {
            annotate(&mut set, &deployment(&json!({})), revision);
        }
        let annotations = set.metadata.annotations.unwrap();
        assert!(annotations[HISTORY].len() <= LONGEST_HISTORY);
        assert!(annotations[HISTORY].ends_with(",897,898"));
    }

    #[test]
    fn a_revision_that_is_no_number_is_left_alone() {
        let mut set = set(&json!({ REVISION: "x" }));
        assert!(!annotate(&mut set, &deployment(&json!({})), 3));
        assert_eq!(revision(&set), None);
    }
}
