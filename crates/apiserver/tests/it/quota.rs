//! Quotas under many writers, and what admission costs a namespace that has none.

use std::sync::Arc;

use http::StatusCode;
use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, Options};
use proptest::prelude::*;
use serde_json::{Value, json};

const NAMESPACE: &str = "/api/v1/namespaces/default";

async fn send(server: &ApiServer, method: &str, path: &str, content: &str, body: &Value) -> (StatusCode, Value) {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content)
        .body(body.to_string().into())
        .unwrap();
    let response = server.handle(request).await;
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

async fn post(server: &ApiServer, path: &str, body: &Value) -> (StatusCode, Value) {
    send(server, "POST", path, "application/json", body).await
}

/// A quota as its controller leaves it when nothing is used.
async fn quota(server: &ApiServer, name: &str, hard: &Value) {
    let object = json!({ "metadata": { "name": name }, "spec": { "hard": hard } });
    let (status, _) = post(server, &format!("{NAMESPACE}/resourcequotas"), &object).await;
    assert_eq!(status, StatusCode::CREATED);
    let zeros: serde_json::Map<String, Value> = hard
        .as_object()
        .unwrap()
        .keys()
        .map(|name| (name.clone(), "0".into()))
        .collect();
    let body = json!({ "status": { "hard": hard, "used": zeros } });
    let path = format!("{NAMESPACE}/resourcequotas/{name}/status");
    let (status, _) = send(server, "PATCH", &path, "application/merge-patch+json", &body).await;
    assert_eq!(status, StatusCode::OK);
}

async fn used(server: &ApiServer, name: &str) -> Value {
    let path = format!("{NAMESPACE}/resourcequotas/{name}");
    let (_, quota) = send(server, "GET", &path, "application/json", &Value::Null).await;
    quota["status"]["used"].clone()
}

fn pod(milli: u64) -> Value {
    json!({
        "metadata": { "generateName": "p-" },
        "spec": { "containers": [
            { "name": "c", "image": "i", "resources": { "requests": { "cpu": format!("{milli}m") } } },
        ] },
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// However many create at once, what is charged is what was created, and never more than any quota allows.
    #[test]
    fn creators_at_once_are_never_above_a_limit(
        requests in proptest::collection::vec(1_u64..400, 1..40),
        cpu in 0_u64..3000,
        pods in 0_u64..30,
        threads in 2_usize..6,
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap();
        runtime.block_on(async {
            let server = Arc::new(ApiServer::new(Options::new().seed(1)));
            quota(&server, "by-cpu", &json!({ "requests.cpu": format!("{cpu}m") })).await;
            quota(&server, "by-number", &json!({ "pods": pods.to_string() })).await;
            let mut creators = tokio::task::JoinSet::new();
            for milli in requests {
                let server = Arc::clone(&server);
                creators.spawn(async move {
                    let (status, answer) = post(&server, &format!("{NAMESPACE}/pods"), &pod(milli)).await;
                    if status != StatusCode::CREATED {
                        let said = answer["message"].as_str().unwrap_or_default();
                        assert!(said.contains("exceeded quota: by-"), "{said}");
                    }
                });
            }
            while let Some(created) = creators.join_next().await {
                created.unwrap();
            }
            let (_, list) = send(&server, "GET", &format!("{NAMESPACE}/pods"), "application/json", &Value::Null).await;
            let created: Vec<u64> = list["items"].as_array().unwrap().iter().map(|pod| {
                let cpu = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"].as_str().unwrap();
                cpu.trim_end_matches('m').parse().unwrap()
            }).collect();
            let total: u64 = created.iter().sum();
            let count = u64::try_from(created.len()).unwrap();
            assert!(total <= cpu && count <= pods, "{total} of {cpu}, {count} of {pods}");
            // A Pod that one quota let in and the other refused stays charged to the first until its controller counts.
            let charged = used(&server, "by-number").await["pods"].as_str().unwrap().parse::<u64>().unwrap();
            assert!(charged >= count && charged <= pods);
        });
    }
}

#[tokio::test]
async fn a_dry_run_is_checked_and_charges_nothing() {
    let server = ApiServer::new(Options::new());
    quota(&server, "small", &json!({ "count/configmaps": "1" })).await;
    let map = json!({ "metadata": { "name": "a" } });
    let (status, _) = post(&server, &format!("{NAMESPACE}/configmaps?dryRun=All"), &map).await;
    assert_eq!(status, StatusCode::CREATED);
    assert_eq!(used(&server, "small").await, json!({ "count/configmaps": "0" }));
    let (status, _) = post(&server, &format!("{NAMESPACE}/configmaps"), &map).await;
    assert_eq!(status, StatusCode::CREATED);
    let other = json!({ "metadata": { "name": "b" } });
    let (status, _) = post(&server, &format!("{NAMESPACE}/configmaps?dryRun=All"), &other).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn the_audit_trail_has_what_pod_security_would_have_refused() {
    let server = ApiServer::new(Options::new());
    let labels = json!({ "metadata": { "labels": { "pod-security.kubernetes.io/audit": "baseline" } } });
    let (status, _) = send(&server, "PATCH", NAMESPACE, "application/merge-patch+json", &labels).await;
    assert_eq!(status, StatusCode::OK);
    let pod = json!({ "metadata": { "name": "p" }, "spec": { "hostPID": true, "containers": [{ "name": "c", "image": "i" }] } });
    let (status, _) = post(&server, &format!("{NAMESPACE}/pods"), &pod).await;
    assert_eq!(status, StatusCode::CREATED);
    let annotations: Vec<String> = server
        .audit()
        .events()
        .into_iter()
        .flat_map(|event| event.annotations)
        .map(|(key, value)| format!("{key}: {value}"))
        .collect();
    assert!(
        annotations.iter().any(|annotation| annotation
            == "pod-security.kubernetes.io/audit-violations: would violate PodSecurity \"baseline:latest\": host namespaces \
                (hostPID=true)"),
        "{annotations:?}"
    );
}
