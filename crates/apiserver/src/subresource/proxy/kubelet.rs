//! What the kubelet of a simulated node answers to requests through `nodes/proxy`: its health, its Pods and the logs of their containers.

use http::{HeaderValue, Method, Response, StatusCode, header};
use kubewright_apimachinery::go::quote;
use serde_json::{Value, json};

use super::location::text;
use crate::object;
use crate::registry::BuiltInId;
use crate::request::HandlerOutput;
use crate::request::call::Call;
use crate::subresource::log;
use crate::wire::body::Body;
use crate::wire::respond;

/// Answers for the kubelet of a node.
pub(super) fn answer(call: &Call<'_>, node: &str, path: &str) -> HandlerOutput {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let is_read = matches!(*call.method(), Method::GET | Method::HEAD);
    let response = match parts[..] {
        ["healthz"] if is_read => plain(StatusCode::OK, "ok"),
        ["pods"] if is_read => pods(call, node),
        ["containerLogs", namespace, pod, container] if is_read => {
            return logs(call, node, (namespace, pod), container);
        }
        ["healthz" | "pods"] | ["containerLogs", _, _, _] => {
            plain(StatusCode::METHOD_NOT_ALLOWED, "405: Method Not Allowed")
        }
        _ => plain(StatusCode::NOT_FOUND, "404 page not found\n"),
    };
    HandlerOutput::Response(response)
}

fn plain(code: StatusCode, words: impl Into<String>) -> Response<Body> {
    respond::text(code, words.into())
}

/// The Pods that are bound to the node.
fn pods(call: &Call<'_>, node: &str) -> Response<Body> {
    let pods = BuiltInId::Pods.resource();
    let snapshot = call.server.store.snapshot(pods.table);
    let all = snapshot.records(None, None);
    let all = all.map(|record| object::to_value(pods, record, record.revision));
    let items: Vec<Value> = all
        .filter(|pod| is_on(pod, node))
        .map(|mut pod| {
            // As in every list, the items do not say what they are.
            if let Some(pod) = pod.as_object_mut() {
                pod.remove("apiVersion");
                pod.remove("kind");
            }
            pod
        })
        .collect();
    let list = json!({ "kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items });
    let mut response = Response::new(Body::from(bytes::Bytes::from(respond::text_of(&list))));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// The log of a container. What the kubelet refuses is text, not a Status.
fn logs(call: &Call<'_>, node: &str, (namespace, name): (&str, &str), container: &str) -> HandlerOutput {
    let pods = BuiltInId::Pods.resource();
    let record = call.server.store.get(pods.table, &object::key(namespace, name));
    let pod = record.map(|record| object::to_value(pods, &record, record.revision));
    let Some(pod) = pod.filter(|pod| is_on(pod, node)) else {
        let why = format!("pod {} does not exist", quote(name));
        return HandlerOutput::Response(plain(StatusCode::NOT_FOUND, why));
    };
    if log::container(&pod, container).is_err() {
        let why = format!("container {} not found in pod {}", quote(container), quote(name));
        return HandlerOutput::Response(plain(StatusCode::NOT_FOUND, why));
    }
    log::read(call, namespace, name, container)
        .unwrap_or_else(|refusal| HandlerOutput::Response(plain(refusal.code, refusal.message)))
}

fn is_on(pod: &Value, node: &str) -> bool {
    pod.get("spec").is_some_and(|spec| text(spec, "nodeName") == node)
}
