//! What the tests share: a cluster with webhooks, replicas, and clients that check certificates at any time.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::certificates::{ManagedOptions, ServingCertificates, Source, Target};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::serve::{BindAddress, Checks, HttpServer, Router};
use kubewright_runtime::stop::Stopper;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::client::TlsStream;

pub(crate) const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
pub(crate) const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(crate) const SECRET: &str = "/api/v1/namespaces/shop/secrets/webhooks-cert";
/// The name the API server asks for.
pub(crate) const NAME: &str = "webhooks.shop.svc";

pub(crate) fn epoch() -> Timestamp {
    "2026-11-16T08:00:00Z".parse().unwrap()
}

/// A point in time that many days after the start.
pub(crate) fn day(days: i64) -> Timestamp {
    Timestamp::from_second(epoch().as_second() + days * 86400).unwrap()
}

pub(crate) struct Cluster {
    pub(crate) server: ApiServer,
    pub(crate) kube: kube::Client,
}

impl Cluster {
    /// A cluster with a namespace and nothing in it.
    pub(crate) async fn empty() -> Self {
        let server = ApiServer::new(Options::new().seed(7).epoch(epoch()));
        let cluster = Cluster {
            kube: server.client(),
            server,
        };
        cluster
            .post("/api/v1/namespaces", &json!({ "metadata": { "name": "shop" } }))
            .await;
        cluster
    }

    /// A cluster with two configurations and a definition whose webhooks are behind `shop/webhooks`.
    pub(crate) async fn with_webhooks() -> Self {
        let cluster = Self::empty().await;
        cluster.post(MUTATING, &configuration("Mutating", "shop")).await;
        cluster.post(VALIDATING, &configuration("Validating", "shop")).await;
        cluster.post(DEFINITIONS, &definition()).await;
        cluster
    }

    async fn send(&self, method: &str, uri: &str, content_type: &str, body: &Value) -> Result<Value, kube::Error> {
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header("content-type", content_type);
        self.kube.request(request.body(body).unwrap()).await
    }

    pub(crate) async fn post(&self, uri: &str, body: &Value) -> Value {
        self.send("POST", uri, "application/json", body).await.unwrap()
    }

    pub(crate) async fn put(&self, uri: &str, body: &Value) -> Value {
        self.send("PUT", uri, "application/json", body).await.unwrap()
    }

    pub(crate) async fn merge(&self, uri: &str, body: &Value) -> Value {
        let content_type = "application/merge-patch+json";
        self.send("PATCH", uri, content_type, body).await.unwrap()
    }

    pub(crate) async fn patch(&self, uri: &str, body: &Value) -> Value {
        let content_type = "application/json-patch+json";
        self.send("PATCH", uri, content_type, body).await.unwrap()
    }

    pub(crate) async fn delete(&self, uri: &str) {
        self.send("DELETE", uri, "application/json", &Value::Null)
            .await
            .unwrap();
    }

    pub(crate) async fn get(&self, uri: &str) -> Value {
        self.try_get(uri).await.unwrap()
    }

    pub(crate) async fn try_get(&self, uri: &str) -> Option<Value> {
        self.send("GET", uri, "application/json", &Value::Null).await.ok()
    }

    pub(crate) async fn mutating(&self) -> Value {
        self.get(&format!("{MUTATING}/shop")).await
    }

    pub(crate) async fn validating(&self) -> Value {
        self.get(&format!("{VALIDATING}/shop")).await
    }

    pub(crate) async fn definition(&self) -> Value {
        self.get(&format!("{DEFINITIONS}/boats.shop.example.com")).await
    }

    /// A field of the Secret, if it is there.
    pub(crate) async fn secret(&self, field: &str) -> Option<String> {
        let secret = self.try_get(SECRET).await?;
        decoded(&secret["data"][field])
    }

    /// Every caBundle of webhooks that are ours.
    pub(crate) async fn bundles(&self) -> Vec<Option<String>> {
        let (mutating, validating, definition) =
            (self.mutating().await, self.validating().await, self.definition().await);
        [
            &mutating["webhooks"][0]["clientConfig"]["caBundle"],
            &mutating["webhooks"][1]["clientConfig"]["caBundle"],
            &validating["webhooks"][0]["clientConfig"]["caBundle"],
            &validating["webhooks"][1]["clientConfig"]["caBundle"],
            &definition["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"],
        ]
        .map(decoded)
        .into()
    }

    /// Whether all of them are what the Secret says.
    pub(crate) async fn is_announced(&self) -> bool {
        let bundle = self.secret("ca.crt").await;
        bundle.is_some() && self.bundles().await.iter().all(|announced| *announced == bundle)
    }
}

/// Bytes as JSON holds them, as text.
pub(crate) fn decoded(value: &Value) -> Option<String> {
    let bytes: ByteString = serde_json::from_value(value.clone()).ok()?;
    String::from_utf8(bytes.0).ok().filter(|text| !text.is_empty())
}

pub(crate) fn encoded(text: &str) -> Value {
    serde_json::to_value(ByteString(text.as_bytes().to_vec())).unwrap()
}

fn webhook(name: &str, path: &str) -> Value {
    json!({
        "name": name,
        "clientConfig": { "service": { "name": "webhooks", "namespace": "shop", "path": path } },
        "rules": [{ "apiGroups": ["shop.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["boats"] }],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 7,
        "failurePolicy": "Fail",
    })
}

pub(crate) fn configuration(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": format!("{kind}WebhookConfiguration"),
        "metadata": { "name": name },
        "webhooks": [webhook("a.shop.example.com", "/a"), webhook("b.shop.example.com", "/b")],
    })
}

pub(crate) fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "boats.shop.example.com" },
        "spec": {
            "group": "shop.example.com",
            "names": { "kind": "Boat", "plural": "boats" },
            "scope": "Namespaced",
            "conversion": { "strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": { "service": { "name": "webhooks", "namespace": "shop", "path": "/convert" } },
            } },
            "versions": [{ "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } } }],
        },
    })
}

pub(crate) fn targets() -> [Target; 3] {
    [
        Target::mutating("shop"),
        Target::validating("shop"),
        Target::conversion("boats.shop.example.com"),
    ]
}

pub(crate) fn options() -> ManagedOptions {
    let mut options = ManagedOptions::new("shop", "webhooks");
    options.targets = targets().into();
    options
}

/// A replica that keeps certificates.
pub(crate) struct Replica {
    pub(crate) certificates: ServingCertificates,
    pub(crate) stopper: Stopper,
    pub(crate) task: JoinHandle<()>,
}

impl Replica {
    /// Starts one whose clock shows this time.
    pub(crate) fn start(kube: kube::Client, source: Source, now: Timestamp) -> Self {
        Self::resume(source.open().unwrap(), kube, now)
    }

    /// Starts one that shows what it showed before.
    pub(crate) fn resume(certificates: ServingCertificates, kube: kube::Client, now: Timestamp) -> Self {
        let (stopper, stop) = Stopper::new();
        let keeping = certificates.clone();
        let clock = Clock::starting_at(now);
        let task = tokio::spawn(async move { keeping.keep(kube, clock, stop).await });
        Replica {
            certificates,
            stopper,
            task,
        }
    }

    pub(crate) fn managed(cluster: &Cluster, now: Timestamp) -> Self {
        Self::start(cluster.kube.clone(), Source::Managed(options()), now)
    }

    pub(crate) async fn ready(&self) {
        let ready = tokio::time::timeout(Duration::from_mins(5), self.certificates.ready());
        assert!(ready.await.is_ok(), "never ready: {:?}", self.certificates.check());
    }

    /// Ends as it should.
    pub(crate) async fn stop(self) -> ServingCertificates {
        self.stopper.stop();
        self.task.await.unwrap();
        self.certificates
    }

    /// Ends at once, as after `kill -9`: nothing is cleaned up.
    pub(crate) async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }
}

/// Waits until something holds.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..12_000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never happened that {what}");
}

/// A real server that shows the certificates.
pub(crate) struct Listening {
    pub(crate) address: SocketAddr,
    _stopper: Stopper,
}

pub(crate) async fn listen(certificates: &ServingCertificates) -> Listening {
    let router = Router::new().route("/healthz", Checks::new().handler("/healthz"));
    let server = HttpServer::bind(&BindAddress::loopback(), router)
        .await
        .unwrap()
        .unwrap();
    let server = server.with_tls(certificates.certificates(), false).unwrap();
    let (stopper, stop) = Stopper::new();
    let address = server.address();
    tokio::spawn(server.run(stop));
    Listening {
        address,
        _stopper: stopper,
    }
}

#[derive(Debug)]
struct At(Timestamp);

impl TimeProvider for At {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from(self.0.as_second()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}

/// A handshake of somebody who trusts nothing but the bundle, asks for the name, and lives at that time.
pub(crate) async fn connect(
    address: SocketAddr,
    bundle: &str,
    name: &str,
    now: Timestamp,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let config = ClientConfig::builder_with_details(Arc::new(ring::default_provider()), Arc::new(At(now)))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    connector.connect(name, stream).await
}

/// Asks for the health of the server, and leaves the connection open.
pub(crate) async fn ask(stream: &mut TlsStream<TcpStream>) -> std::io::Result<String> {
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await?;
    let mut answer = vec![0; 4096];
    let length = stream.read(&mut answer).await?;
    answer.truncate(length);
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// The certificate that is shown.
pub(crate) fn shown(stream: &TlsStream<TcpStream>) -> Vec<u8> {
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}
