//! The objects that all peers work on.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::{Value, json};

/// A sentence, four times: the size of an ordinary value.
const TEXT: &str = concat!(
    "The quick brown fox jumps over the lazy dog. The quick brown fox jumps over the lazy dog. ",
    "The quick brown fox jumps over the lazy dog. The quick brown fox jumps over the lazy dog. "
);

/// A `ConfigMap` of ordinary size.
pub fn config_map(i: usize) -> Result<ConfigMap, serde_json::Error> {
    serde_json::from_value(json!({
        "metadata": { "name": format!("cm-{i}"), "labels": { "app": "bench" } },
        "data": { "number": "0", "text": TEXT },
    }))
}

/// A Pod of three containers with twelve variables each: about 5.4 KB as protobuf, managedFields included.
pub fn pod(i: usize) -> Result<Pod, serde_json::Error> {
    let container = |name: &str| {
        let variables: Vec<Value> = (0..12)
            .map(|at| json!({ "name": format!("SETTING_{at}"), "value": format!("{name}-{at}-of-pod-{i}") }))
            .collect();
        json!({
            "name": name,
            "image": format!("registry.example.com/bench/{name}:1.2.3"),
            "env": variables,
            "resources": { "requests": { "cpu": "100m", "memory": "128Mi" } },
        })
    };
    serde_json::from_value(json!({
        "metadata": {
            "name": format!("pod-{i}"),
            "labels": { "app.kubernetes.io/name": "bench", "app.kubernetes.io/instance": format!("bench-{}", i % 100) },
            "annotations": { "example.com/revision": format!("{i}") },
        },
        "spec": { "containers": [container("server"), container("proxy"), container("agent")] },
    }))
}
