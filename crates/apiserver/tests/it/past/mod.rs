//! The server as it was: forks at a revision of the past, the times of revisions, and following what is new.

mod any_history;
mod following;
mod forks;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, User};
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const BOATS: &str = "/apis/shop.example.com/v1/namespaces/default/boats";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A request of a user, and the answer.
async fn ask_as(user: &User, server: &ApiServer, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
    let content_type = if method == Method::PATCH {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    let body = body.map_or(Bytes::new(), |body| body.to_string().into());
    let request = Request::builder().method(method).uri(path);
    let request = request.header("content-type", content_type).body(body).unwrap();
    let response = server.handle_as(Some(user), request).await;
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

async fn ask(server: &ApiServer, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
    ask_as(&User::admin(), server, method, path, body).await
}

async fn get(server: &ApiServer, path: &str) -> (u16, Value) {
    ask(server, Method::GET, path, None).await
}

async fn delete(server: &ApiServer, path: &str) {
    let (code, answer) = ask(server, Method::DELETE, path, None).await;
    assert_eq!(code, 200, "{path}: {answer}");
}

async fn create(server: &ApiServer, path: &str, object: &Value) -> Value {
    let (code, answer) = ask(server, Method::POST, path, Some(object)).await;
    assert_eq!(code, 201, "{path}: {answer}");
    answer
}

async fn patch(server: &ApiServer, path: &str, change: &Value) -> Value {
    let (code, answer) = ask(server, Method::PATCH, path, Some(change)).await;
    assert_eq!(code, 200, "{path}: {answer}");
    answer
}

fn config_map(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "data": { "k": "v" } })
}

/// A definition of boats or whatever else is asked for, with these properties of `spec`.
fn definition(plural: &str, kind: &str, version: &str, properties: &Value) -> Value {
    json!({
        "metadata": { "name": format!("{plural}.shop.example.com") },
        "spec": {
            "group": "shop.example.com",
            "scope": "Namespaced",
            "names": { "plural": plural, "kind": kind },
            "versions": [{
                "name": version, "served": true, "storage": true,
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "properties": { "spec": { "type": "object", "properties": properties } },
                } },
            }],
        },
    })
}

fn boats() -> Value {
    definition("boats", "Boat", "v1", &json!({ "masts": { "type": "integer" } }))
}

fn boat(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "shop.example.com/v1", "kind": "Boat", "metadata": { "name": name }, "spec": spec })
}

/// Whether the discovery of a group names a resource.
async fn is_discovered(server: &ApiServer, group_version: &str, plural: &str) -> bool {
    let (_, answer) = get(server, &format!("/apis/{group_version}")).await;
    let resources = answer["resources"].as_array().cloned().unwrap_or_default();
    resources.iter().any(|resource| resource["name"] == plural)
}
