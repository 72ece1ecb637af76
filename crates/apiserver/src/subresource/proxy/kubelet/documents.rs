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
    let running = told(
        kubelet,
        |status| json!({ "name": status["name"], "image": status["image"], "resources": {} }),
    );
    let pods = running.into_iter().map(
        |(pod, containers)| json!({ "metadata": reference(&pod), "spec": { "containers": containers }, "status": {} }),
    );
    list(pods.collect())
}

/// The Pods of which a container runs, with what is told of these containers.
fn told(kubelet: Kubelet<'_>, of: impl Fn(&Value) -> Value) -> Vec<(Value, Vec<Value>)> {
    let pods = kubelet.pods().into_iter().map(|pod| {
        let containers: Vec<Value> = running_containers(&pod).map(&of).collect();
        (pod, containers)
    });
    pods.filter(|(_, containers)| !containers.is_empty()).collect()
}

/// Which Pod it is.
fn reference(pod: &Value) -> Value {
    let [name, namespace, uid] = ["name", "namespace", "uid"].map(|field| &pod["metadata"][field]);
    json!({ "name": name, "namespace": namespace, "uid": uid })
}

fn list(items: Vec<Value>) -> Response<Body> {
    // A kubelet without Pods has a list of Go's that was never made.
    let items = if items.is_empty() { Value::Null } else { items.into() };
    let list = json!({ "kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items });
    super::json(respond::text_of(&list))
}

/// What the node and its Pods use: their names and when they started, since nothing is measured.
pub(super) fn summary(kubelet: Kubelet<'_>) -> Response<Body> {
    let running = told(
        kubelet,
        |status| json!({ "name": status["name"], "startTime": status["state"]["running"]["startedAt"] }),
    );
    let pods: Vec<Value> = running
        .into_iter()
        .map(|(pod, containers)| {
            json!({ "podRef": reference(&pod), "startTime": pod["status"]["startTime"], "containers": containers })
        })
        .collect();
    let node = BuiltInId::Nodes.resource();
    let started = kubelet.call.server.store.get(node.table, kubelet.node);
    let started = started.map(|record| crate::object::to_value(node, &record, record.revision));
    let started = started.map_or(Value::Null, |node| node["metadata"]["creationTimestamp"].clone());
    let mut node = json!({ "nodeName": kubelet.node, "startTime": started });
    if kubelet.query.text("only_cpu_and_memory") != "true" {
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
