//! Ten thousand requests that nobody should send: none makes the server panic, each gets a well-formed answer.

use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::Request;
use kubewright_runtime::metrics::{Registry, RuntimeMetrics};
use kubewright_runtime::webhook::{AdmissionRequest, AdmissionResponse, Webhook, WebhookServer};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

const REQUESTS: usize = 10_000;
const SEED: u64 = 0x006b_7562_6577;

const PATHS: [&str; 5] = [
    "/mutate-view-zoetrope-github-io-v1-markdownview",
    "/validate-view-zoetrope-github-io-v1-markdownview",
    "/raw",
    "/nowhere",
    "/",
];

/// What means something in JSON.
const MARKS: &[u8] = b"{}[]\",:\\\0e-9";

fn review() -> Value {
    let view = json!({
        "apiVersion": "view.zoetrope.github.io/v1", "kind": "MarkdownView",
        "metadata": { "name": "sample", "namespace": "default", "labels": { "a/b": "c" } },
        "spec": { "markdowns": { "SUMMARY.md": "# x" }, "replicas": 3, "unknown": [{ "name": "x" }] },
    });
    json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": { "group": "view.zoetrope.github.io", "version": "v1", "kind": "MarkdownView" },
            "resource": { "group": "view.zoetrope.github.io", "version": "v1", "resource": "markdownviews" },
            "name": "sample", "namespace": "default", "operation": "UPDATE",
            "userInfo": { "username": "admin", "groups": ["system:masters"], "extra": { "k": ["v"] } },
            "object": view, "oldObject": view, "dryRun": true,
            "options": { "kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1" },
        },
    })
}

/// A value of any shape.
fn anything(random: &mut StdRng, depth: u32) -> Value {
    match random.random_range(0..if depth == 0 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => random.random::<bool>().into(),
        2 => random.random::<i64>().into(),
        3 => (random.random::<f64>() * 1e300).into(),
        4 => [
            "",
            "CREATE",
            "UPDATE",
            "DELETE",
            "CONNECT",
            "x",
            "view.zoetrope.github.io/v1",
            "a/b/c",
            "\u{0}\u{2028}é",
        ][random.random_range(0..9)]
        .into(),
        5 => u64::MAX.into(),
        6 => (0..random.random_range(0..5))
            .map(|_| anything(random, depth - 1))
            .collect(),
        _ => {
            let names = [
                "metadata",
                "spec",
                "request",
                "object",
                "uid",
                "kind",
                "name",
                "replicas",
                "markdowns",
            ];
            let fields = (0..random.random_range(0..5))
                .map(|_| (names[random.random_range(0..9)].to_owned(), anything(random, depth - 1)));
            Value::Object(fields.collect())
        }
    }
}

/// Replaces, removes or adds something somewhere.
fn disturb(value: &mut Value, random: &mut StdRng) {
    let here = random.random_range(0..4) == 0;
    match value {
        Value::Object(fields) if !here && !fields.is_empty() => {
            let at = random.random_range(0..fields.len());
            let name = fields.keys().nth(at).cloned().unwrap_or_default();
            match random.random_range(0..8) {
                0 => drop(fields.remove(&name)),
                1 => drop(fields.insert(format!("{name}~/"), anything(random, 2))),
                _ => {
                    if let Some(inner) = fields.get_mut(&name) {
                        disturb(inner, random);
                    }
                }
            }
        }
        Value::Array(items) if !here && !items.is_empty() => {
            let at = random.random_range(0..items.len());
            disturb(&mut items[at], random);
        }
        value => *value = anything(random, 3),
    }
}

fn body(random: &mut StdRng) -> Vec<u8> {
    let mut value = review();
    match random.random_range(0..10) {
        0 => (0..random.random_range(0..200)).map(|_| random.random()).collect(),
        1 => anything(random, 4).to_string().into_bytes(),
        2 => {
            let depth = random.random_range(1..3000);
            let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            review().to_string().replace("true", &deep).into_bytes()
        }
        3..=6 => {
            for _ in 0..random.random_range(1..5) {
                disturb(&mut value, random);
            }
            value.to_string().into_bytes()
        }
        kind => {
            let mut bytes = value.to_string().into_bytes();
            for _ in 0..random.random_range(1..6) {
                let at = random.random_range(0..bytes.len());
                match kind {
                    7 => bytes[at] = random.random(),
                    8 => bytes.truncate(at.max(1)),
                    _ => bytes.insert(at, MARKS[random.random_range(0..MARKS.len())]),
                }
            }
            bytes
        }
    }
}

fn request(random: &mut StdRng) -> Request<Bytes> {
    let methods = ["POST", "POST", "POST", "PUT", "GET", "DELETE", "PATCH", "OPTIONS"];
    let mut request = Request::builder()
        .method(methods[random.random_range(0..methods.len())])
        .uri(PATHS[random.random_range(0..PATHS.len())]);
    match random.random_range(0..12) {
        0 => {}
        1 => request = request.header("content-type", "application/json; charset=utf-8"),
        2 => request = request.header("content-type", &[0xff, b'a', b'<'][..]),
        _ => request = request.header("content-type", "application/json"),
    }
    request.body(Bytes::from(body(random))).unwrap()
}

/// An answer that the API server can read.
fn is_well_formed(code: u16, body: &[u8]) -> bool {
    if code == 404 {
        return body == b"404 page not found\n";
    }
    let Ok(answer) = serde_json::from_slice::<Value>(body) else {
        return false;
    };
    let response = &answer["response"];
    code == 200
        && response["uid"].is_string()
        && response["allowed"].is_boolean()
        && response["status"]["code"]
            .as_u64()
            .is_some_and(|code| (200..600).contains(&code))
        && response["allowed"] == json!(response["status"]["code"] == json!(200))
}

#[tokio::test]
async fn ten_thousand_hostile_requests_get_ten_thousand_answers() {
    let registry = Registry::new();
    let metrics = RuntimeMetrics::register(&registry).unwrap();
    let raw = Webhook::raw("/raw", |request: AdmissionRequest| async move {
        let patch = kubewright_runtime::webhook::PatchOperation::between(&request.old_object, &request.object);
        AdmissionResponse::patched(patch).with_warnings([request.user_info.username])
    });
    let views = Webhook::of::<super::markdown_view::MarkdownView>()
        .defaulter(super::markdown_view::Defaults)
        .validator(super::markdown_view::Rules);
    let server = WebhookServer::new([Webhook::from(views), raw])
        .unwrap()
        .with_metrics(&metrics);
    let mut random = StdRng::seed_from_u64(SEED);
    let (mut allowed, mut refused, mut unread) = (0, 0, 0);
    for number in 0..REQUESTS {
        let request = request(&mut random);
        let asked = format!("request {number}: {request:?}");
        let answer = AssertUnwindSafe(server.answer(request)).catch_unwind().await;
        let answer = answer.unwrap_or_else(|_| panic!("{asked} made the server panic"));
        let (code, body) = (answer.status().as_u16(), answer.into_body());
        assert!(is_well_formed(code, &body), "{asked} got {body:?}");
        match body {
            body if body.windows(14).any(|part| part == b"\"allowed\":true") => allowed += 1,
            body if body.starts_with(b"{\"response\"") => unread += 1,
            _ => refused += 1,
        }
    }
    // Handlers that panicked would have been answered too, and counted.
    let text = registry.render();
    assert!(text.contains("\ncontroller_runtime_webhook_panics_total 0\n"), "{text}");
    let in_flight = "\ncontroller_runtime_webhook_requests_in_flight{webhook=\"/raw\"} 0\n";
    assert!(text.contains(in_flight), "{text}");
    for (what, count) in [("allowed", allowed), ("refused", refused), ("not read", unread)] {
        assert!(
            count > 500,
            "only {count} requests were {what}: the requests are not mixed well"
        );
    }
}
