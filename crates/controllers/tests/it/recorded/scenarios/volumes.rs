//! Claims that somebody deletes while they are in use.

use serde_json::json;

use super::{Act, Scenario, delete, patch, scenario};

fn claim(name: &str) -> Act {
    Act::Create(json!({
        "kind": "PersistentVolumeClaim", "metadata": { "name": name }, "spec": {
            "resources": { "requests": { "storage": "1Gi" } }, "accessModes": ["ReadWriteOnce"],
            "storageClassName": "manual",
        },
    }))
}

fn pod(name: &str, node: Option<&str>, claim: &str) -> Act {
    Act::Create(json!({
        "kind": "Pod", "metadata": { "name": name },
        "spec": {
            "nodeName": node, "containers": [{ "name": "main", "image": "nginx:1" }],
            "volumes": [{ "name": "data", "persistentVolumeClaim": { "claimName": claim } }],
        },
    }))
}

fn gone(kind: &str, name: &str) -> Act {
    delete(kind, name, "Background")
}

fn without_finalizers(kind: &str, name: &str) -> Act {
    patch(kind, name, json!({ "metadata": { "finalizers": null } }))
}

pub(super) fn all() -> Vec<Scenario> {
    vec![scenario(
        "claim-is-protected",
        vec![
            claim("a"),
            without_finalizers("PersistentVolumeClaim", "a"),
            pod("one", Some("somewhere"), "a"),
            pod("two", None, "a"),
            gone("PersistentVolumeClaim", "a"),
            Act::Kill(2),
            Act::Gone(1),
            claim("b"),
            pod("three", None, "b"),
            gone("PersistentVolumeClaim", "b"),
        ],
    )]
}
