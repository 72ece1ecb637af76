//! Webhooks that write to the server that is asking them, and clients that do not wait: nothing nests, nothing goes on for
//! ever, and the audit trail knows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use kubewright_apiserver::{ApiServer, Options};
use serde_json::{Value, json};

use super::support::{CONFIG_MAPS, answer_to};

/// A server that asks `https://hooks.test` about every write of a `ConfigMap`.
async fn asking(server: &ApiServer, operations: &[&str]) {
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": "hook" },
        "webhooks": [{
            "name": "hook.example.com", "clientConfig": { "url": "https://hooks.test/" }, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "timeoutSeconds": 1,
            "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": operations, "resources": ["configmaps"] }],
        }],
    });
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    assert_eq!(send(server, "POST", path, &configuration).await, 201);
}

async fn send(server: &ApiServer, method: &str, path: &str, body: &Value) -> u16 {
    let kind = if method == "PATCH" {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    let request = Request::builder().method(method).uri(path).header("content-type", kind);
    let request = request.body(Bytes::from(body.to_string())).unwrap();
    server.handle(request).await.status().as_u16()
}

fn allow(review: &Bytes) -> Response<Bytes> {
    let review: Value = serde_json::from_slice(review).unwrap();
    Response::new(answer_to(&review, json!({ "allowed": true })))
}

fn config_map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } })
}

#[tokio::test(start_paused = true)]
async fn a_webhook_may_write_what_it_is_asked_about_again() {
    let server = ApiServer::new(Options::new());
    asking(&server, &["CREATE"]).await;
    let (calling, depth) = (server.clone(), Arc::new(AtomicUsize::new(0)));
    server.handle_host("hooks.test", 443, move |request: Request<Bytes>| {
        let (server, depth) = (calling.clone(), Arc::clone(&depth));
        async move {
            let level = depth.fetch_add(1, Ordering::Relaxed);
            if level < 40 {
                let name = format!("nested-{level}");
                send(&server, "POST", CONFIG_MAPS, &config_map(&name)).await;
            }
            allow(request.body())
        }
    });
    assert_eq!(send(&server, "POST", CONFIG_MAPS, &config_map("first")).await, 201);
    assert_eq!(
        send(&server, "GET", &format!("{CONFIG_MAPS}/nested-39"), &json!({})).await,
        200
    );
}

#[tokio::test(start_paused = true)]
async fn a_write_that_always_loses_ends_with_its_time() {
    let server = ApiServer::new(Options::new());
    send(&server, "POST", CONFIG_MAPS, &config_map("a")).await;
    asking(&server, &["UPDATE"]).await;
    let (calling, count) = (server.clone(), Arc::new(AtomicUsize::new(0)));
    let path = format!("{CONFIG_MAPS}/a");
    let touched = path.clone();
    server.handle_host("hooks.test", 443, move |request: Request<Bytes>| {
        let (server, count, path) = (calling.clone(), Arc::clone(&count), touched.clone());
        async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            // Whoever is asked about the patch changes the object under it, once the patch is known by its key.
            if String::from_utf8_lossy(request.body()).contains("patched") {
                let turn = count.fetch_add(1, Ordering::Relaxed);
                send(
                    &server,
                    "PATCH",
                    &path,
                    &json!({ "data": { "turn": turn.to_string(), "patched": null } }),
                )
                .await;
            }
            allow(request.body())
        }
    });
    let began = tokio::time::Instant::now();
    let code = send(
        &server,
        "PATCH",
        &format!("{path}?timeout=2s"),
        &json!({ "data": { "patched": "yes" } }),
    )
    .await;
    assert!(code >= 500, "{code}");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_request_nobody_waits_for_is_in_the_audit_trail() {
    let server = ApiServer::new(Options::new());
    asking(&server, &["CREATE"]).await;
    server.handle_host("hooks.test", 443, |_: Request<Bytes>| async move {
        std::future::pending::<Response<Bytes>>().await
    });
    let waiting = config_map("a");
    let request = send(&server, "POST", CONFIG_MAPS, &waiting);
    assert!(tokio::time::timeout(Duration::from_millis(10), request).await.is_err());
    let events = server.audit().events();
    let last = events.last().unwrap();
    assert_eq!(
        (&*last.attributes.verb, &*last.attributes.resource, last.code),
        ("create", "configmaps", 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_fork_is_free_of_what_is_only_being_written() {
    let server = ApiServer::new(Options::new());
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": "services" },
        "webhooks": [{
            "name": "hook.example.com", "clientConfig": { "url": "https://hooks.test/" }, "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["services"] }],
        }],
    });
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    send(&server, "POST", path, &configuration).await;
    server.handle_host("hooks.test", 443, |_: Request<Bytes>| async move {
        std::future::pending::<Response<Bytes>>().await
    });
    let services = "/api/v1/namespaces/default/services";
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "a" },
        "spec": { "clusterIP": "10.0.0.77", "ports": [{ "port": 80 }] },
    });
    let (writer, wanted) = (server.clone(), service.clone());
    let writing = tokio::spawn(async move { send(&writer, "POST", services, &wanted).await });
    tokio::time::sleep(Duration::from_millis(10)).await;
    let fork = server.fork();
    writing.abort();
    send(&fork, "DELETE", &format!("{path}/services"), &json!({})).await;
    assert_eq!(send(&fork, "POST", services, &service).await, 201);
}
