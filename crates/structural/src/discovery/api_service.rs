//! The `APIService` objects of custom resources: one per served group-version, made and removed by the server itself.

use serde_json::{Value, json};

use crate::crd::Definition;

/// The names of the objects that the definitions call for, in order and each once; established or not.
pub fn api_service_names<'d>(definitions: impl IntoIterator<Item = &'d Definition>) -> Vec<String> {
    let mut names: Vec<String> = definitions
        .into_iter()
        .flat_map(|definition| {
            let served = definition.versions.iter().filter(|version| version.served);
            served.map(|version| format!("{}.{}", version.name, definition.group))
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The object of a group-version, available since `now` (RFC 3339): groups of custom resources come last, and their
/// versions in the order of their names.
pub fn api_service(group: &str, version: &str, now: &str) -> Value {
    json!({
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {
            "name": format!("{version}.{group}"),
            "labels": {"kube-aggregator.kubernetes.io/automanaged": "true"},
        },
        "spec": {
            "group": group,
            "version": version,
            "groupPriorityMinimum": 1000,
            "versionPriority": 100,
        },
        "status": {
            "conditions": [{
                "type": "Available",
                "status": "True",
                "lastTransitionTime": now,
                "reason": "Local",
                "message": "Local APIServices are always available",
            }],
        },
    })
}
