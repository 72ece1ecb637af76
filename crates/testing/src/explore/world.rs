//! What others do to objects, on the server itself.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::{Method, Request};
use kubewright_apiserver::ApiServer;
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::observation::family;
use super::plan::ObjectName;

/// The name of the owner that a foreign object has.
const OTHER_OWNER: &str = "explore-other-owner";

/// The object that a plan names: the first of its family, if its name is generated.
pub(super) fn find<'a>(cluster: &'a Cluster, wanted: &ObjectName) -> Option<(&'a ObjectName, &'a Value)> {
    let objects = cluster.objects().iter();
    let mut found = objects.filter(|(name, object)| family(name, object) == *wanted);
    found.next().map(|(name, object)| (name, &**object))
}

/// The nodes of Pods that are not as before the first step.
pub(super) fn nodes_with_new_pods(cluster: &Cluster) -> BTreeSet<ObjectName> {
    let pods = cluster.changed().filter(|(name, _, _)| name.resource == "pods");
    let nodes = pods.filter_map(|(_, pod, _)| pod["spec"]["nodeName"].as_str());
    let named = nodes.map(|node| ObjectName {
        resource: "nodes".to_owned(),
        name: node.to_owned(),
    });
    named.collect()
}

/// A merge patch that changes something which the operator has set.
pub(super) fn edit(object: &Value) -> Option<Value> {
    let first = |value: &Value| value.as_object().and_then(|members| members.keys().next().cloned());
    if let Some(key) = first(&object["data"]) {
        // Text, and Base64 as well.
        return Some(json!({ "data": { key: "ZWRpdGVk" } }));
    }
    if let Some(replicas) = object["spec"]["replicas"].as_i64() {
        return Some(json!({ "spec": { "replicas": replicas + 1 } }));
    }
    let label = first(&object["metadata"]["labels"])?;
    Some(json!({ "metadata": { "labels": { label: null } } }))
}

/// Deletes an object. Whether it was there.
pub(super) async fn delete(server: &ApiServer, name: &ObjectName, object: &Value) -> bool {
    ask(server, Method::DELETE, &path(name, object, true), None).await
}

/// Deletes an object with its dependents, before them, or without them.
pub(super) async fn delete_with(server: &ApiServer, name: &ObjectName, object: &Value, policy: &str) -> bool {
    let path = format!("{}?propagationPolicy={policy}", path(name, object, true));
    ask(server, Method::DELETE, &path, None).await
}

/// Changes an object by a merge patch.
pub(super) async fn patch(server: &ApiServer, name: &ObjectName, object: &Value, change: &Value) -> bool {
    let path = format!("{}?fieldManager=somebody-else", path(name, object, true));
    ask(server, Method::PATCH, &path, Some(change)).await
}

/// Makes an object again that was deleted, with the labels and annotations that it had when it was `created`.
pub(super) async fn make_again(server: &ApiServer, name: &ObjectName, object: &Value, created: &Value) -> bool {
    let mut again = object.clone();
    again["metadata"] = json!({
        "name": created["name"], "namespace": created["namespace"],
        "labels": created["labels"], "annotations": created["annotations"],
    });
    if let Some(members) = again.as_object_mut() {
        members.remove("status");
    }
    // The test's own, as the first one was.
    let path = format!("{}?fieldManager={}", path(name, object, false), crate::env::FIELD_OWNER);
    ask(server, Method::POST, &path, Some(&again)).await
}

/// Makes an object with the name of another one, which belongs to somebody else.
pub(super) async fn make_foreign(server: &ApiServer, name: &ObjectName, object: &Value) -> bool {
    let namespace = &object["metadata"]["namespace"];
    let place = namespace.as_str().unwrap_or("default");
    let owner = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": OTHER_OWNER } });
    let owners = format!("/api/v1/namespaces/{place}/serviceaccounts");
    let request = request(Method::POST, &owners, Some(&owner));
    // Boxed: the types of requests are too deep for the compiler in a future that is deep itself.
    let answer = Box::pin(server.handle(request)).await;
    let Ok(made) = http_body_util::BodyExt::collect(answer.into_body()).await else {
        return false;
    };
    let made: Value = serde_json::from_slice(&made.to_bytes()).unwrap_or_default();
    let mut foreign = object.clone();
    foreign["metadata"] = json!({
        "name": object["metadata"]["name"], "namespace": namespace,
        "annotations": { "kubewright.dev/explore": "this object belongs to somebody else" },
        "ownerReferences": [{
            "apiVersion": "v1", "kind": "ServiceAccount", "name": OTHER_OWNER, "uid": made["metadata"]["uid"],
            "controller": true, "blockOwnerDeletion": false,
        }],
    });
    if let Some(members) = foreign.as_object_mut() {
        members.remove("status");
        if members.contains_key("data") {
            members.insert("data".to_owned(), json!({ "foreign": "Zm9yZWlnbg==" }));
        }
        if let Some(spec) = members.get_mut("spec").and_then(Value::as_object_mut) {
            for address in ["clusterIP", "clusterIPs"] {
                spec.remove(address);
            }
        }
    }
    ask(server, Method::POST, &path(name, object, false), Some(&foreign)).await
}

/// What must stay of a foreign object: all but what the cluster itself writes.
pub(super) fn essence(object: &Value) -> Value {
    let metadata = &object["metadata"];
    json!({
        "uid": metadata["uid"], "labels": metadata["labels"], "ownerReferences": metadata["ownerReferences"],
        "spec": object["spec"], "data": object["data"], "deletionTimestamp": metadata["deletionTimestamp"],
    })
}

/// An object as the server has it.
pub(super) async fn read(server: &ApiServer, name: &ObjectName, object: &Value) -> Option<Value> {
    answer(server, Method::GET, &path(name, object, true), None).await
}

/// Replaces an object, as the test's own client would; what the server has then, or `None` if it refuses.
pub(super) async fn replace(server: &ApiServer, name: &ObjectName, object: &Value, by: &Value) -> Option<Value> {
    let path = format!("{}?fieldManager={}", path(name, object, true), crate::env::FIELD_OWNER);
    answer(server, Method::PUT, &path, Some(by)).await
}

async fn answer(server: &ApiServer, method: Method, path: &str, body: Option<&Value>) -> Option<Value> {
    let answer = Box::pin(server.handle(request(method, path, body))).await;
    if !answer.status().is_success() {
        return None;
    }
    let body = http_body_util::BodyExt::collect(answer.into_body()).await.ok()?;
    serde_json::from_slice(&body.to_bytes()).ok()
}

async fn ask(server: &ApiServer, method: Method, path: &str, body: Option<&Value>) -> bool {
    let answer = Box::pin(server.handle(request(method, path, body))).await;
    answer.status().is_success()
}

fn request(method: Method, path: &str, body: Option<&Value>) -> Request<Bytes> {
    let kind = if method == Method::PATCH {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
    let mut request = Request::new(body);
    *request.method_mut() = method;
    // Names of objects that exist are valid in paths.
    *request.uri_mut() = path.parse().unwrap_or_default();
    let kind = http::HeaderValue::from_static(kind);
    request.headers_mut().insert(http::header::CONTENT_TYPE, kind);
    request
}

fn path(name: &ObjectName, object: &Value, with_name: bool) -> String {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let root = if version.contains('/') { "/apis/" } else { "/api/" };
    let plural = name.resource.split('.').next().unwrap_or_default();
    let metadata = &object["metadata"];
    let mut path = format!("{root}{version}");
    if let Some(namespace) = metadata["namespace"].as_str() {
        path = format!("{path}/namespaces/{namespace}");
    }
    path = format!("{path}/{plural}");
    match metadata["name"].as_str() {
        Some(name) if with_name => format!("{path}/{name}"),
        _ => path,
    }
}
