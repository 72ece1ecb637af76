//! How much time an admission webhook adds to a create. Every server calls the same HTTPS webhook; one client sends one request at a
//! time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Method, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioExecutor;
use hyper_util::server::conn::auto::Builder;
use kubewright_system::certificates;
use kubewright_system::listen::{self, Limits};
use kubewright_system::stop::Stopper;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::client::Failure;
use crate::endpoint::{Endpoint, EndpointClient};
use crate::work::{NAMESPACE, request};

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const NAME: &str = "bench.example.com";
/// How many creates are timed with and without the webhook.
const TIMED: usize = 400;
/// How long a webhook configuration may take to be in effect.
const PATIENCE: Duration = Duration::from_secs(30);

/// The median time that an HTTPS webhook adds to a create.
pub(crate) async fn added(endpoint: &Endpoint) -> Result<Duration, Failure> {
    let hook = Webhook::start().await?;
    added_by(endpoint, &hook, "tls").await
}

/// The same for a webhook in the server's own process. `None` where the server does not offer that.
pub(crate) async fn added_in_process(endpoint: &Endpoint) -> Result<Option<Duration>, Failure> {
    let Endpoint::InProcess(server) = endpoint else {
        return Ok(None);
    };
    let mut hook = Webhook::start().await?;
    hook.url = String::from("https://hook.bench/");
    let count = Arc::clone(&hook.asked);
    server.handle_host("hook.bench", 443, move |request: http::Request<Bytes>| {
        let count = Arc::clone(&count);
        async move { answer(request.body(), &count).unwrap_or_default() }
    });
    added_by(endpoint, &hook, "here").await.map(Some)
}

async fn added_by(endpoint: &Endpoint, hook: &Webhook, prefix: &str) -> Result<Duration, Failure> {
    let mut client = endpoint.open().await?;
    let without = median(endpoint, &mut client, &format!("{prefix}-without")).await?;
    let configuration = configuration(hook).to_string();
    let create = request(
        endpoint,
        Method::POST,
        CONFIGURATIONS,
        "application/json",
        configuration,
    )?;
    client.send(create).await?;
    until_asked(endpoint, &mut client, hook, prefix).await?;
    let before = hook.asked();
    let with = median(endpoint, &mut client, &format!("{prefix}-with")).await?;
    if hook.asked() - before < TIMED {
        return Err("the webhook was not asked about every create".into());
    }
    let path = format!("{CONFIGURATIONS}/{NAME}");
    client
        .send(request(endpoint, Method::DELETE, &path, "", String::new())?)
        .await?;
    Ok(with.saturating_sub(without))
}

fn configuration(hook: &Webhook) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": NAME },
        "webhooks": [{
            "name": NAME,
            "clientConfig": { "url": hook.url, "caBundle": STANDARD.encode(&hook.authority) },
            "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"] }],
            "objectSelector": { "matchLabels": { "hooked": "yes" } },
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }],
    })
}

async fn create(endpoint: &Endpoint, client: &mut EndpointClient, name: &str) -> Result<(), Failure> {
    let path = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
    let body = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "labels": { "hooked": "yes" } }, "data": { "key": "value" },
    });
    client
        .send(request(
            endpoint,
            Method::POST,
            &path,
            "application/json",
            body.to_string(),
        )?)
        .await?;
    Ok(())
}

async fn median(endpoint: &Endpoint, client: &mut EndpointClient, prefix: &str) -> Result<Duration, Failure> {
    let mut taken = Vec::with_capacity(TIMED);
    for i in 0..TIMED {
        let began = Instant::now();
        create(endpoint, client, &format!("{prefix}-{i}")).await?;
        taken.push(began.elapsed());
    }
    taken.sort_unstable();
    Ok(taken[TIMED / 2])
}

/// Waits until the server calls the webhook: the real one reads configurations a moment after they are written.
async fn until_asked(
    endpoint: &Endpoint,
    client: &mut EndpointClient,
    hook: &Webhook,
    prefix: &str,
) -> Result<(), Failure> {
    let began = Instant::now();
    for i in 0.. {
        create(endpoint, client, &format!("{prefix}-marker-{i}")).await?;
        if hook.asked() > 0 {
            break;
        }
        if began.elapsed() > PATIENCE {
            return Err("the webhook configuration never took effect".into());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// A webhook that allows everything.
struct Webhook {
    url: String,
    /// The certificate to trust, as PEM.
    authority: String,
    asked: Arc<AtomicUsize>,
    /// Dropping it ends the webhook.
    _stopper: Stopper,
}

impl Webhook {
    async fn start() -> Result<Webhook, Failure> {
        let certificate = certificates::self_signed(&["127.0.0.1"])?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.certificate_der()], certificate.key_der())?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let (stopper, stop) = Stopper::new();
        let limits = Limits {
            connections: None,
            drain: Duration::ZERO,
        };
        tokio::spawn(listen::accept(listener, limits, stop, move |socket, stop| {
            let (acceptor, count) = (acceptor.clone(), Arc::clone(&count));
            async move {
                let Ok(stream) = acceptor.accept(socket).await else {
                    return;
                };
                let service = service_fn(move |request| allow(request, Arc::clone(&count)));
                let http = Builder::new(TokioExecutor::new());
                // An error means that the client closed the connection.
                let _ = listen::serve_http(&http, stream, service, &stop).await;
            }
        }));
        Ok(Webhook {
            url: format!("https://{address}/"),
            authority: certificate.certificate_pem(),
            asked,
            _stopper: stopper,
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

async fn allow(request: http::Request<Incoming>, count: Arc<AtomicUsize>) -> Result<Response<Full<Bytes>>, Failure> {
    let body = request.into_body().collect().await?.to_bytes();
    Ok(answer(&body, &count)?.map(Full::new))
}

fn answer(body: &[u8], count: &AtomicUsize) -> Result<Response<Bytes>, Failure> {
    let review: Value = serde_json::from_slice(body)?;
    count.fetch_add(1, Ordering::Relaxed);
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": { "uid": review["request"]["uid"], "allowed": true },
    });
    Ok(Response::builder()
        .header(header::CONTENT_TYPE, "application/json")
        .body(answer.to_string().into())?)
}
