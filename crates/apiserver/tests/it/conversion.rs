//! Kinds whose versions a webhook converts (C12): every verb in every version, and webhooks that fail.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, Options};
use serde_json::{Value, json};

const GROUP: &str = "conversion.example.com";

/// A kind with two versions: `v1` has `spec.host` and `spec.port`, `v1beta1` has `spec.hostPort`. `v1` is stored.
fn definition(storage: &str) -> Value {
    let version = |name: &str, properties: Value| {
        json!({
            "name": name, "served": true, "storage": name == storage,
            "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                "spec": { "type": "object", "properties": properties },
                "status": { "type": "object", "properties": { "ready": { "type": "boolean" } } },
            } } },
            "subresources": { "status": {} },
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("gates.{GROUP}") },
        "spec": {
            "group": GROUP, "scope": "Namespaced", "names": { "plural": "gates", "kind": "Gate" },
            "versions": [
                version("v1", json!({ "host": { "type": "string" }, "port": { "type": "integer", "default": 80 } })),
                version("v1beta1", json!({ "hostPort": { "type": "string" } })),
            ],
            "conversion": { "strategy": "Webhook", "webhook": {
                "clientConfig": { "service": { "namespace": "default", "name": "converter", "path": "/convert" } },
                "conversionReviewVersions": ["v1"],
            } },
        },
    })
}

/// Converts a gate as its author would.
fn converted(mut gate: Value, wanted: &str) -> Value {
    let spec = gate["spec"].take();
    gate["spec"] = if wanted.ends_with("/v1") {
        let text = spec["hostPort"].as_str().unwrap_or_default();
        let (host, port) = text.split_once(':').unwrap_or((text, "0"));
        json!({ "host": host, "port": port.parse::<i64>().unwrap_or_default() })
    } else {
        let host = spec["host"].as_str().unwrap_or_default();
        json!({ "hostPort": format!("{host}:{}", spec["port"]) })
    };
    gate["apiVersion"] = wanted.into();
    gate
}

/// A server with the kind, whose webhook's answers `change` may spoil; and how often the webhook was asked.
async fn server_with(change: impl Fn(&mut Value) + Send + Sync + 'static) -> (ApiServer, Arc<AtomicUsize>) {
    let server = ApiServer::new(Options::new());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let change = Arc::new(change);
    server.handle_service("default", "converter", 443, move |request: Request<Bytes>| {
        count.fetch_add(1, Ordering::Relaxed);
        let change = Arc::clone(&change);
        async move {
            let review: Value = serde_json::from_slice(request.body()).unwrap();
            let asked = &review["request"];
            let wanted = asked["desiredAPIVersion"].as_str().unwrap();
            let objects = asked["objects"].as_array().unwrap();
            assert!(objects.iter().all(|object| object["apiVersion"] != wanted));
            let mut answer = json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
                "response": {
                    "uid": asked["uid"], "result": { "status": "Success" },
                    "convertedObjects": objects.iter().map(|object| converted(object.clone(), wanted)).collect::<Vec<_>>(),
                },
            });
            change(&mut answer);
            Response::builder()
                .header("content-type", "application/json")
                .body(answer.to_string().into())
                .unwrap()
        }
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, answer) = send(&server, Method::POST, path, "application/json", definition("v1")).await;
    assert_eq!(code, StatusCode::CREATED, "{answer}");
    (server, asked)
}

async fn server() -> ApiServer {
    server_with(|_| {}).await.0
}

async fn send(server: &ApiServer, method: Method, path: &str, kind: &str, body: Value) -> (StatusCode, Value) {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let request = Request::builder().method(method).uri(path).header("content-type", kind);
    let response = server.handle(request.body(body.into()).unwrap()).await;
    let code = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

fn gates(version: &str) -> String {
    format!("/apis/{GROUP}/{version}/namespaces/default/gates")
}

fn gate(version: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{version}"), "kind": "Gate", "metadata": { "name": name }, "spec": spec,
    })
}

async fn get(server: &ApiServer, version: &str, name: &str) -> Value {
    let path = format!("{}/{name}", gates(version));
    let (code, gate) = send(server, Method::GET, &path, "", Value::Null).await;
    assert_eq!(code, StatusCode::OK, "{gate}");
    assert_eq!(gate["apiVersion"], format!("{GROUP}/{version}"));
    gate
}

async fn create(server: &ApiServer, version: &str, name: &str, spec: Value) -> (StatusCode, Value) {
    send(
        server,
        Method::POST,
        &gates(version),
        "application/json",
        gate(version, name, &spec),
    )
    .await
}

#[tokio::test]
async fn what_is_written_in_one_version_is_read_in_the_other() {
    let server = server().await;
    let (code, answer) = create(
        &server,
        "v1beta1",
        "north",
        json!({ "hostPort": "a:8080", "unknown": 1 }),
    )
    .await;
    assert_eq!(code, StatusCode::CREATED, "{answer}");
    assert_eq!(answer["spec"], json!({ "hostPort": "a:8080" }));
    assert_eq!(answer["apiVersion"], format!("{GROUP}/v1beta1"));
    assert_eq!(
        get(&server, "v1", "north").await["spec"],
        json!({ "host": "a", "port": 8080 })
    );

    let (code, _) = create(&server, "v1", "south", json!({ "host": "b" })).await;
    assert_eq!(code, StatusCode::CREATED);
    let south = get(&server, "v1beta1", "south").await;
    assert_eq!(south["spec"], json!({ "hostPort": "b:80" }));
    assert!(!south["metadata"]["resourceVersion"].as_str().unwrap().is_empty());

    let (_, list) = send(&server, Method::GET, &gates("v1beta1"), "", Value::Null).await;
    let specs: Vec<&Value> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["spec"]["hostPort"])
        .collect();
    assert_eq!(specs, ["a:8080", "b:80"]);
}

#[tokio::test]
async fn the_stored_version_needs_no_webhook() {
    let (server, asked) = server_with(|_| {}).await;
    create(&server, "v1", "north", json!({ "host": "a" })).await;
    get(&server, "v1", "north").await;
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn every_kind_of_write_goes_through_the_other_version() {
    let server = server().await;
    create(&server, "v1", "north", json!({ "host": "a", "port": 1 })).await;
    let path = format!("{}/north", gates("v1beta1"));

    let mut north = get(&server, "v1beta1", "north").await;
    north["spec"]["hostPort"] = "b:2".into();
    let (code, answer) = send(&server, Method::PUT, &path, "application/json", north).await;
    assert_eq!(
        (code, &answer["spec"]["hostPort"]),
        (StatusCode::OK, &json!("b:2")),
        "{answer}"
    );
    assert_eq!(answer["metadata"]["generation"], 2);

    let change = json!({ "spec": { "hostPort": "c:3" } });
    let (code, answer) = send(&server, Method::PATCH, &path, "application/merge-patch+json", change).await;
    assert_eq!(
        (code, &answer["spec"]["hostPort"]),
        (StatusCode::OK, &json!("c:3")),
        "{answer}"
    );
    assert_eq!(
        get(&server, "v1", "north").await["spec"],
        json!({ "host": "c", "port": 3 })
    );

    let status = json!({ "status": { "ready": true } });
    let (code, answer) = send(
        &server,
        Method::PATCH,
        &format!("{path}/status"),
        "application/merge-patch+json",
        status,
    )
    .await;
    assert_eq!(code, StatusCode::OK, "{answer}");

    let dry = format!("{path}?dryRun=All");
    let change = json!({ "spec": { "hostPort": "d:4" } });
    let (code, answer) = send(&server, Method::PATCH, &dry, "application/merge-patch+json", change).await;
    assert_eq!(
        (code, &answer["spec"]["hostPort"]),
        (StatusCode::OK, &json!("d:4")),
        "{answer}"
    );
    assert_eq!(answer["apiVersion"], format!("{GROUP}/v1beta1"));
    assert_eq!(get(&server, "v1", "north").await["spec"]["host"], "c");

    let (code, answer) = send(&server, Method::DELETE, &path, "", Value::Null).await;
    assert_eq!(code, StatusCode::OK, "{answer}");
}

#[tokio::test]
async fn owners_keep_their_fields_across_versions() {
    let server = server().await;
    let apply = |version: &str, manager: &str, spec: Value| {
        let path = format!("{}/north?fieldManager={manager}", gates(version));
        let server = server.clone();
        let body = gate(version, "north", &spec);
        async move { send(&server, Method::PATCH, &path, "application/apply-patch+yaml", body).await }
    };
    let (code, answer) = apply("v1", "one", json!({ "host": "a", "port": 1 })).await;
    assert_eq!(code, StatusCode::CREATED, "{answer}");
    let (code, answer) = apply("v1beta1", "two", json!({ "hostPort": "b:2" })).await;
    assert_eq!(code, StatusCode::CONFLICT, "{answer}");
    // The fields are named as their owner knows them.
    let message = "Apply failed with 2 conflicts: conflicts with \"one\":\n- .spec.host\n- .spec.port";
    assert_eq!(answer["message"], message);
    let (code, answer) = apply("v1beta1", "two", json!({ "hostPort": "a:1" })).await;
    assert_eq!(code, StatusCode::OK, "{answer}");
    let owners = answer["metadata"]["managedFields"].as_array().unwrap().iter();
    let owned: HashMap<&str, &Value> = owners
        .map(|entry| (entry["manager"].as_str().unwrap(), &entry["fieldsV1"]["f:spec"]))
        .collect();
    let expected = [json!({ "f:host": {}, "f:port": {} }), json!({ "f:hostPort": {} })];
    assert_eq!(owned, HashMap::from([("one", &expected[0]), ("two", &expected[1])]));
}

#[tokio::test]
async fn a_watch_shows_the_version_it_asked_for() {
    let server = server().await;
    create(&server, "v1", "north", json!({ "host": "a", "port": 1 })).await;
    let path = format!("{}?watch=1&timeoutSeconds=1", gates("v1beta1"));
    let response = server.handle(Request::get(&path).body(Bytes::new()).unwrap()).await;
    let mut body = response.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    let first: Value = serde_json::from_slice(&first).unwrap();
    assert_eq!(first["object"]["spec"]["hostPort"], "a:1");
    create(&server, "v1", "south", json!({ "host": "b", "port": 2 })).await;
    let second = body.frame().await.unwrap().unwrap().into_data().unwrap();
    let second: Value = serde_json::from_slice(&second).unwrap();
    assert_eq!(
        (&second["type"], &second["object"]["spec"]["hostPort"]),
        (&json!("ADDED"), &json!("b:2"))
    );
}

#[tokio::test]
async fn another_storage_version_rewrites_what_is_written_and_reads_what_is_not() {
    let server = server().await;
    create(&server, "v1", "old", json!({ "host": "a", "port": 1 })).await;
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gates.{GROUP}");
    let mut now = definition("v1beta1");
    let (_, live) = send(&server, Method::GET, &path, "", Value::Null).await;
    now["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
    let (code, answer) = send(&server, Method::PUT, &path, "application/json", now).await;
    assert_eq!(code, StatusCode::OK, "{answer}");
    assert_eq!(answer["status"]["storedVersions"], json!(["v1", "v1beta1"]));
    for version in ["v1", "v1beta1"] {
        let spec = get(&server, version, "old").await["spec"].clone();
        let expected = json!({ "v1": { "host": "a", "port": 1 }, "v1beta1": { "hostPort": "a:1" } });
        assert_eq!(spec, expected[version]);
    }
    let change = json!({ "metadata": { "labels": { "touched": "yes" } } });
    let touched = format!("{}/old", gates("v1"));
    send(&server, Method::PATCH, &touched, "application/merge-patch+json", change).await;
    assert_eq!(
        get(&server, "v1beta1", "old").await["spec"],
        json!({ "hostPort": "a:1" })
    );
    assert_eq!(
        get(&server, "v1", "old").await["spec"],
        json!({ "host": "a", "port": 1 })
    );
}

#[tokio::test]
async fn a_webhook_that_fails_is_named_with_its_reason() {
    type Change = fn(&mut Value);
    let table: [(Change, &str); 8] = [
        (
            |answer| answer["response"]["result"] = json!({ "status": "Failed", "message": "no such gate" }),
            "conversion webhook for conversion.example.com/v1, Kind=Gate failed: no such gate",
        ),
        (
            |answer| answer["response"]["result"] = json!({ "status": "Failed" }),
            "conversion webhook for conversion.example.com/v1, Kind=Gate failed: response.result.status was 'Failed', not 'Success'",
        ),
        (
            |answer| answer["response"]["convertedObjects"] = json!([]),
            "conversion webhook for conversion.example.com/v1, Kind=Gate returned 0 objects, expected 1",
        ),
        (
            |answer| answer["response"]["convertedObjects"][0]["apiVersion"] = "other/v1".into(),
            "conversion webhook for conversion.example.com/v1, Kind=Gate returned invalid object at index 0: invalid groupVersion (expected conversion.example.com/v1beta1, received other/v1)",
        ),
        (
            |answer| answer["response"]["convertedObjects"][0]["metadata"]["name"] = "other".into(),
            "conversion webhook for conversion.example.com/v1, Kind=Gate returned invalid object: must have the same name: north != other",
        ),
        (
            |answer| answer["response"]["convertedObjects"][0]["metadata"]["labels"] = json!({ "a": "not a label!" }),
            "conversion webhook for conversion.example.com/v1, Kind=Gate returned invalid metadata: metadata.labels: Invalid value: \"not a label!\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ),
        (
            |answer| answer["kind"] = "Other".into(),
            r#"conversion webhook for conversion.example.com/v1, Kind=Gate failed: no kind "Other" is registered for version "apiextensions.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111""#,
        ),
        (
            |answer| answer["response"]["uid"] = "other".into(),
            "expected response.uid=",
        ),
    ];
    for (change, message) in table {
        let (server, _) = server_with(change).await;
        create(&server, "v1", "north", json!({ "host": "a" })).await;
        let path = format!("{}/north", gates("v1beta1"));
        let (code, answer) = send(&server, Method::GET, &path, "", Value::Null).await;
        assert_eq!(code, StatusCode::INTERNAL_SERVER_ERROR, "{answer}");
        assert!(
            answer["message"].as_str().unwrap().contains(message),
            "{answer}\n{message}"
        );
        // The stored version is none of the webhook's business.
        get(&server, "v1", "north").await;
    }
}

#[tokio::test]
async fn a_definition_with_a_dead_webhook_can_be_deleted_with_its_objects() {
    let (server, _) = server_with(|answer| *answer = json!("nonsense")).await;
    create(&server, "v1", "north", json!({ "host": "a" })).await;
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gates.{GROUP}");
    let (code, _) = send(&server, Method::DELETE, &path, "", Value::Null).await;
    assert_eq!(code, StatusCode::OK);
    let (code, _) = send(&server, Method::GET, &path, "", Value::Null).await;
    assert_eq!(code, StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn a_request_does_not_wait_for_a_conversion_longer_than_its_client() {
    let server = server().await;
    create(&server, "v1", "north", json!({ "host": "a" })).await;
    server.handle_service("default", "converter", 443, |_: Request<Bytes>| async move {
        std::future::pending::<Response<Bytes>>().await
    });
    let began = tokio::time::Instant::now();
    let path = format!("{}/north?timeout=1s", gates("v1beta1"));
    let (code, answer) = send(&server, Method::GET, &path, "", Value::Null).await;
    assert_eq!(code, StatusCode::GATEWAY_TIMEOUT, "{answer}");
    assert_eq!(began.elapsed().as_secs(), 1);
}
