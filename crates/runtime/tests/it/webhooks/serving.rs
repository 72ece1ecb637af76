//! Webhooks served by a manager: over TLS, on every replica, until the last answer is given.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::certificates::{ManagedOptions, Source};
use kubewright_runtime::lease::ElectionOptions;
use kubewright_runtime::manager::{Manager, ManagerError};
use kubewright_runtime::serve::BindAddress;
use kubewright_runtime::stop::Stopper;
use kubewright_runtime::webhook::{
    AdmissionRequest, AdmissionResponse, ClientConfig, Configurations, MAX_BODY, Rejection, Webhook,
};
use kubewright_test_support::free_port;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;

use super::support::{certificates, connect, create, eventually, https, post};

fn labelling() -> Webhook {
    let label = |object: &mut ConfigMap, _: &AdmissionRequest| -> Result<(), Rejection> {
        let labels = object.metadata.labels.get_or_insert_default();
        labels.insert("seen".to_owned(), "yes".to_owned());
        Ok(())
    };
    Webhook::of::<ConfigMap>().defaulter(label).into()
}

fn at(port: u16) -> BindAddress {
    format!("127.0.0.1:{port}").parse().unwrap()
}

fn settings(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap()
}

const REVIEW: &str = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"7"}}"#;

#[tokio::test]
async fn the_server_calls_webhooks_of_a_replica_that_does_not_lead() {
    let server = ApiServer::new(Options::new());
    let lease: Lease = serde_json::from_value(json!({
        "metadata": { "name": "lock", "namespace": "default" },
        "spec": {
            "holderIdentity": "somebody else", "leaseDurationSeconds": 3600,
            "acquireTime": "2100-01-01T00:00:00.000000Z", "renewTime": "2100-01-01T00:00:00.000000Z",
        },
    }))
    .unwrap();
    let leases: Api<Lease> = Api::default_namespaced(server.client());
    leases.create(&PostParams::default(), &lease).await.unwrap();

    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let (shown, trusted) = certificates(folder.path());
    let manager = Manager::new()
        .webhook(labelling())
        .webhook_address(at(port))
        .webhook_certificates(shown, false)
        .leader_election(ElectionOptions::new("default", "lock"));
    let (ready, registry) = (manager.ready().clone(), manager.registry().clone());
    let page = manager.debug_page();
    let (stopper, stop) = Stopper::new();
    let running = tokio::spawn(manager.run(server.client(), stop));
    eventually(|| async {
        match ready.ask("/webhook", "").await {
            (200, _) => Ok(()),
            (_, text) => Err(text),
        }
    })
    .await;

    let config = ClientConfig::url(format!("https://127.0.0.1:{port}"), trusted);
    let configuration = Configurations::render("shop", &labelling().describe(), &config)
        .mutating
        .unwrap();
    create(&server, &configuration).await;
    let objects: Api<ConfigMap> = Api::default_namespaced(server.client());
    let made = objects.create(&PostParams::default(), &settings("a")).await.unwrap();
    assert_eq!(made.metadata.labels.unwrap()["seen"], "yes");

    let shown = page.value().unwrap()["webhooks"][0].take();
    assert_eq!(
        (&shown["path"], &shown["inFlight"], &shown["calls"]),
        (
            &json!("/mutate--v1-configmap"),
            &json!(0),
            &json!({ "allowed": 1, "denied": 0, "errored": 0 })
        )
    );
    let text = registry.render();
    let webhook = "webhook=\"/mutate--v1-configmap\"";
    for line in [
        format!("controller_runtime_webhook_requests_total{{code=\"200\",{webhook}}} 1\n"),
        format!("controller_runtime_webhook_requests_total{{code=\"500\",{webhook}}} 0\n"),
        format!("controller_runtime_webhook_requests_in_flight{{{webhook}}} 0\n"),
        format!("controller_runtime_webhook_latency_seconds_count{{{webhook}}} 1\n"),
        "controller_runtime_webhook_panics_total 0\n".to_owned(),
    ] {
        assert!(text.contains(&line), "{line} is missing in\n{text}");
    }
    stopper.stop();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_replica_without_a_certificate_is_not_ready_and_says_why() {
    let server = ApiServer::new(Options::new());
    let nobody = kubewright_apiserver::User::service_account("default", "nobody");
    let source = Source::Managed(ManagedOptions::new("default", "webhooks"));
    let manager = Manager::new()
        .webhook(labelling())
        .webhook_address(at(0))
        .webhook_certificates(source.open().unwrap(), false);
    let ready = manager.ready().clone();
    let (stopper, stop) = Stopper::new();
    let running = tokio::spawn(manager.run(server.client_as(nobody), stop));
    eventually(|| async {
        let (code, text) = ready.ask("/webhook", "").await;
        let says_why = code == 500 && text.contains("secrets");
        says_why.then_some(()).ok_or(text)
    })
    .await;
    assert_eq!(ready.ask("", "").await.0, 500);
    stopper.stop();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn webhooks_without_a_certificate_are_refused_before_anything_starts() {
    let server = ApiServer::new(Options::new());
    let (_stopper, stop) = Stopper::new();
    let error = Manager::new()
        .webhook(labelling())
        .run(server.client(), stop)
        .await
        .unwrap_err();
    assert!(matches!(error, ManagerError::NoWebhookCertificates), "{error}");
}

#[tokio::test]
async fn an_answer_that_is_being_made_is_given_though_the_manager_stops() {
    let server = ApiServer::new(Options::new());
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let (shown, trusted) = certificates(folder.path());
    let (asked, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let slow = {
        let (asked, go_on) = (Arc::clone(&asked), Arc::clone(&go_on));
        Webhook::raw("/slow", move |_: AdmissionRequest| {
            let (asked, go_on) = (Arc::clone(&asked), Arc::clone(&go_on));
            async move {
                asked.notify_one();
                go_on.notified().await;
                AdmissionResponse::allowed()
            }
        })
    };
    let manager = Manager::new()
        .webhook(slow)
        .webhook_address(at(port))
        .webhook_certificates(shown, false);
    let ready = manager.ready().clone();
    let (stopper, stop) = Stopper::new();
    let running = tokio::spawn(manager.run(server.client(), stop));
    eventually(|| async {
        (ready.ask("/webhook", "").await.0 == 200)
            .then_some(())
            .ok_or_else(String::new)
    })
    .await;

    let calling = tokio::spawn(async move { https(port, &trusted, &post("/slow", REVIEW)).await });
    asked.notified().await;
    stopper.stop();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!running.is_finished(), "the manager did not wait");
    go_on.notify_one();
    let (head, body) = calling.await.unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["response"]["uid"], "7");
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_is_too_large_is_not_read_and_what_is_nowhere_is_not_found() {
    let server = ApiServer::new(Options::new());
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let (shown, trusted) = certificates(folder.path());
    let manager = Manager::new()
        .webhook(labelling())
        .webhook_address(at(port))
        .webhook_certificates(shown, true);
    let ready = manager.ready().clone();
    let (stopper, stop) = Stopper::new();
    let running = tokio::spawn(manager.run(server.client(), stop));
    eventually(|| async {
        (ready.ask("/webhook", "").await.0 == 200)
            .then_some(())
            .ok_or_else(String::new)
    })
    .await;

    let large = format!("{REVIEW}{}", " ".repeat(MAX_BODY));
    let (head, body) = https(port, &trusted, &post("/mutate--v1-configmap", &large)).await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert_eq!(
        body,
        "{\"response\":{\"uid\":\"\",\"allowed\":false,\"status\":{\"metadata\":{},\"message\":\"request entity is too large; \
         limit is 7340032 bytes\",\"code\":413}}}\n"
    );
    let (head, body) = https(port, &trusted, &post("/nowhere", "")).await;
    assert!(head.starts_with("HTTP/1.1 404 Not Found\r\n"), "{head}");
    assert_eq!(body, "404 page not found\n");

    // HTTP/2 was asked for.
    let stream = connect(port, &trusted, &[b"h2"]).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    // A head that is longer than any server's is refused, not read for ever.
    let mut stream = connect(port, &trusted, &[b"http/1.1"]).await;
    let long = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
        "x".repeat(2 << 20)
    );
    let _ = stream.write_all(long.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    stopper.stop();
    running.await.unwrap().unwrap();
}
