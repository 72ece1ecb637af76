//! What a kubelet knows of its Pods, as documents: all of them, those that run, and a summary of what they use, in which nothing is
//! measured.

use http::Response;
use serde_json::{Value, json};

use super::super::location::text;
use super::Kubelet;
use crate::registry::BuiltInId;
use crate::wire::body::Body;
use crate::wire::respond;

/// The Pods that are bound to the node.
pub(super) fn pods(kubelet: Kubelet<'_>) -> Response<Body> {
    let mut pods = kubelet.pods();
    for pod in pods.iter_mut().filter_map(Value::as_object_mut) {
        // As in every list, the items do not say what they are.
        pod.remove("apiVersion");
        pod.remove("kind");
    }
    list(pods)
}

/// The Pods of which a container runs, as a runtime knows them: by their names and those of their containers.
pub(super) fn running_pods(kubelet: Kubelet<'_>) -> Response<Body> {
    let pods = kubelet.pods();
    let running = pods.iter().filter_map(|pod| {
        let containers: Vec<Value> = running_containers(pod)
            .map(|status| json!({ "name": status["name"], "image": status["image"], "resources": {} }))
            .collect();
        let known = ["name", "namespace", "uid"].map(|field| (field, &pod["metadata"][field]));
        let metadata: serde_json::Map<String, Value> = known
            .into_iter()
            .map(|(field, value)| (field.to_owned(), value.clone()))
            .collect();
        let pod = json!({ "metadata": metadata, "spec": { "containers": containers }, "status": {} });
        (!containers.is_empty()).then_some(pod)
    });
    list(running.collect())
}

fn list(items: Vec<Value>) -> Response<Body> {
    // A kubelet without Pods has a list of Go's that was never made.
    let items = if items.is_empty() { Value::Null } else { items.into() };
    let list = json!({ "kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items });
    super::json(respond::text_of(&list))
}

/// What the node and its Pods use: their names and when they started, since nothing is measured.
pub(super) fn summary(kubelet: Kubelet<'_>) -> Response<Body> {
    let pods = kubelet.pods();
    let pods = pods.iter().filter_map(|pod| {
        let containers: Vec<Value> = running_containers(pod)
            .map(|status| json!({ "name": status["name"], "startTime": status["state"]["running"]["startedAt"] }))
            .collect();
        let known = ["name", "namespace", "uid"].map(|field| (field, &pod["metadata"][field]));
        let reference: serde_json::Map<String, Value> = known
            .into_iter()
            .map(|(field, value)| (field.to_owned(), value.clone()))
            .collect();
        let told = json!({ "podRef": reference, "startTime": pod["status"]["startTime"], "containers": containers });
        (!containers.is_empty()).then_some(told)
    });
    let pods: Vec<Value> = pods.collect();
    let node = BuiltInId::Nodes.resource();
    let started = kubelet.call.server.store.get(node.table, kubelet.node);
    let started = started.map(|record| crate::object::to_value(node, &record, record.revision));
    let started = started.map_or(Value::Null, |node| node["metadata"]["creationTimestamp"].clone());
    let mut node = json!({ "nodeName": kubelet.node, "startTime": started });
    if kubelet.call.query.text("only_cpu_and_memory") != "true" {
        node["runtime"] = json!({});
    }
    let pods = if pods.is_empty() { Value::Null } else { pods.into() };
    super::json(respond::text_of(&json!({ "node": node, "pods": pods })))
}

/// The statuses of the containers that run.
pub(super) fn running_containers(pod: &Value) -> impl Iterator<Item = &Value> {
    let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
    statuses.filter(|status| status["state"]["running"].is_object() && !text(status, "name").is_empty())
}
