//! Warnings about the Pods that are in a namespace when its policy changes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::pod::{list, text};
use crate::{LevelVersion, violations};

/// How many Pods are checked at most.
const MOST_PODS: usize = 3000;

/// What a namespace is warned with when it begins to enforce a policy that Pods in it violate.
pub fn warnings_of_existing_pods(namespace: &str, enforce: LevelVersion, pods: &[Value]) -> Vec<String> {
    let ordered = one_of_each_controller_first(pods);
    let mut names: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for pod in ordered.iter().take(MOST_PODS) {
        let found = violations(enforce, pod);
        if !found.is_empty() {
            let name = pod.get("metadata").map_or("", |metadata| text(metadata, "name"));
            names.entry(found.reasons()).or_default().push(name);
        }
    }
    let mut warnings = Vec::new();
    if ordered.len() > MOST_PODS {
        let total = ordered.len();
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {MOST_PODS} of {total} existing pods"
        ));
    }
    if !names.is_empty() {
        warnings.push(format!(
            "existing pods in namespace {namespace:?} violate the new PodSecurity enforce level \"{enforce}\""
        ));
    }
    let mut of_pods: Vec<String> = names
        .into_iter()
        .map(|(reasons, names)| {
            let first = names.iter().min().copied().unwrap_or_default();
            match names.len() {
                1 => format!("{first}: {reasons}"),
                2 => format!("{first} (and 1 other pod): {reasons}"),
                more => format!("{first} (and {} other pods): {reasons}", more - 1),
            }
        })
        .collect();
    of_pods.sort();
    warnings.append(&mut of_pods);
    warnings
}

/// Pods of one controller are alike: the first of each is checked before the others.
fn one_of_each_controller_first(pods: &[Value]) -> Vec<&Value> {
    let (mut first, mut others) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for pod in pods {
        let owner = list(pod.pointer("/metadata/ownerReferences"))
            .iter()
            .find(|owner| owner.get("controller") == Some(&Value::Bool(true)));
        match owner {
            Some(owner) if !seen.insert(text(owner, "uid")) => others.push(pod),
            _ => first.push(pod),
        }
    }
    first.append(&mut others);
    first
}
