//! A server with webhooks in this process: what they are asked is kept, what they answer is up to the test.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, Options};
use parking_lot::Mutex;
use serde_json::{Value, json};

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A server, and what its webhooks have been asked.
pub(crate) struct Cluster {
    pub(crate) server: ApiServer,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

/// What a request was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
    pub(crate) warnings: Vec<String>,
}

impl Answer {
    pub(crate) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

impl Cluster {
    /// A server whose webhooks at `https://hooks.test` answer the request in a review as `decide` says, by the path they
    /// are called at.
    pub(crate) fn new(decide: impl Fn(&str, &Value) -> Value + Send + Sync + 'static) -> Cluster {
        Cluster::over(ApiServer::new(Options::new().seed(7)), decide)
    }

    pub(crate) fn over(server: ApiServer, decide: impl Fn(&str, &Value) -> Value + Send + Sync + 'static) -> Cluster {
        let asked: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        let (decide, notes) = (Arc::new(decide), Arc::clone(&asked));
        server.handle_host("hooks.test", 443, move |request: Request<Bytes>| {
            let (decide, notes) = (Arc::clone(&decide), Arc::clone(&notes));
            async move {
                let path = request.uri().path().trim_start_matches('/').to_owned();
                let review: Value = serde_json::from_slice(request.body()).unwrap();
                let response = decide(&path, &review["request"]);
                notes.lock().push((path, review["request"].clone()));
                Response::new(answer_to(&review, response))
            }
        });
        Cluster { server, asked }
    }

    /// A server whose webhooks answer by themselves.
    pub(crate) fn over_hooked(server: ApiServer) -> Cluster {
        Cluster {
            server,
            asked: Arc::default(),
        }
    }

    /// What was asked since the last time, by path.
    pub(crate) fn asked(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut *self.asked.lock())
    }

    /// The paths that were called since the last time.
    pub(crate) fn called(&self) -> Vec<String> {
        self.asked().into_iter().map(|(path, _)| path).collect()
    }

    /// Writes a configuration: `kind` is `Mutating` or `Validating`.
    pub(crate) async fn configure(&self, kind: &str, name: &str, webhooks: &[Value]) {
        let resource = format!("{}webhookconfigurations", kind.to_lowercase());
        let object = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}WebhookConfiguration"),
            "metadata": { "name": name }, "webhooks": webhooks,
        });
        let path = format!("/apis/admissionregistration.k8s.io/v1/{resource}");
        self.send("DELETE", &format!("{path}/{name}"), Value::Null).await;
        let answer = self.send("POST", &path, object).await;
        assert_eq!(answer.code, 201, "{answer:?}");
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: Value) -> Answer {
        self.send_as(method, path, "application/json", body).await
    }

    pub(crate) async fn send_as(&self, method: &str, path: &str, content_type: &str, body: Value) -> Answer {
        send(&self.server, method, path, content_type, body).await
    }

    pub(crate) async fn create(&self, name: &str) -> Answer {
        self.send("POST", CONFIG_MAPS, config_map(name)).await
    }
}

pub(crate) async fn send(server: &ApiServer, method: &str, path: &str, content_type: &str, body: Value) -> Answer {
    let bytes = if body.is_null() {
        Bytes::new()
    } else {
        body.to_string().into()
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type)
        .body(bytes)
        .unwrap();
    let response = server.handle(request).await;
    let code = response.status().as_u16();
    let warnings = response
        .headers()
        .get_all("warning")
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    Answer {
        code,
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
        warnings,
    }
}

/// The body of an answer to a review: `response` with the right uid, unless it has one.
pub(crate) fn answer_to(review: &Value, mut response: Value) -> Bytes {
    if response.is_object() && response.get("uid").is_none() {
        response["uid"] = review["request"]["uid"].clone();
    }
    json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response })
        .to_string()
        .into()
}

pub(crate) fn allow() -> Value {
    json!({ "allowed": true })
}

pub(crate) fn deny(message: &str) -> Value {
    json!({ "allowed": false, "status": { "message": message } })
}

pub(crate) fn patch(operations: &Value) -> Value {
    json!({ "allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(operations.to_string()) })
}

/// A webhook of `ConfigMaps` at this path of `https://hooks.test`, with other fields than usual.
pub(crate) fn webhook(path: &str, other: Value) -> Value {
    let mut webhook = json!({
        "name": format!("{path}.example.com"),
        "clientConfig": { "url": format!("https://hooks.test/{path}") },
        "rules": [{ "operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] }],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    });
    if let Value::Object(fields) = other {
        for (key, value) in fields {
            webhook[key] = value;
        }
    }
    webhook
}

/// Rules for these operations on these resources of a group.
pub(crate) fn rules(operations: &[&str], group: &str, resources: &[&str]) -> Value {
    json!([{ "operations": operations, "apiGroups": [group], "apiVersions": ["*"], "resources": resources }])
}

pub(crate) fn config_map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "a": "b" } })
}
