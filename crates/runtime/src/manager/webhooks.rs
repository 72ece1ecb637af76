//! The webhooks of a manager: served on every replica, from before the caches are filled until after they are gone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::ManagerError;
use super::debug::DebugPage;
use super::group::ServiceGroup;
use crate::certificates::ServingCertificates;
use crate::client::Client;
use crate::conversion::{self, Conversion, Conversions};
use crate::metrics::RuntimeMetrics;
use crate::serve::{BindAddress, Checks, HttpServer};
use crate::webhook::{self, Endpoint, Webhook, WebhookError, WebhookServer};

/// How long the readiness check waits for a connection, as controller-runtime does.
const REACH: Duration = Duration::from_secs(10);

/// What is served, and how.
pub(super) struct Webhooks {
    pub(super) admission: Vec<Webhook>,
    pub(super) conversions: Vec<Conversion>,
    pub(super) address: BindAddress,
    /// The certificates, and whether HTTP/2 is spoken.
    pub(super) tls: Option<(ServingCertificates, bool)>,
}

impl Default for Webhooks {
    fn default() -> Self {
        Webhooks {
            admission: Vec::new(),
            conversions: Vec::new(),
            address: BindAddress::At { host: None, port: 9443 },
            tls: None,
        }
    }
}

/// Webhooks that are being served.
pub(super) struct Served {
    listening: ServiceGroup,
    /// The task that maintains the certificates and the caBundles of webhook configurations.
    keeping: ServiceGroup,
}

impl Webhooks {
    pub(super) fn is_served(&self) -> bool {
        let any = !self.admission.is_empty() || !self.conversions.is_empty();
        any && !matches!(self.address, BindAddress::Off)
    }

    /// Every mistake that can be known before anything is started.
    pub(super) fn check(&self) -> Result<(), ManagerError> {
        webhook::check(&self.admission)?;
        let conversions = conversions(&self.conversions)?;
        let taken = |hook: &webhook::WebhookDescription| hook.path == conversion::PATH;
        if !conversions.is_empty()
            && let Some(hook) = self.admission.iter().flat_map(Webhook::describe).find(taken)
        {
            return Err(WebhookError::SamePath {
                path: hook.path,
                first: hook.name,
                second: "conversion".to_owned(),
            }
            .into());
        }
        if self.is_served() && self.tls.is_none() {
            return Err(ManagerError::NoWebhookCertificates);
        }
        Ok(())
    }

    /// A replica is not ready before its webhooks answer.
    pub(super) fn announce(&self, ready: &Checks) -> Arc<OnceLock<SocketAddr>> {
        let started = Arc::new(OnceLock::new());
        if self.is_served() {
            let (started, certificates) = (Arc::clone(&started), self.tls.clone());
            ready.add("webhook", move || {
                let address = started.get().copied();
                let known = certificates
                    .as_ref()
                    .map_or(Ok(()), |(certificates, _)| certificates.check());
                async move {
                    let address = address.ok_or("webhook server has not been started yet")?;
                    known?;
                    reach(address).await
                }
            });
        }
        started
    }

    /// Begins to listen.
    pub(super) async fn start(
        self,
        client: &Client,
        metrics: &RuntimeMetrics,
        started: &OnceLock<SocketAddr>,
        debug: &DebugPage,
    ) -> Result<Served, ManagerError> {
        let mut running = Served {
            listening: ServiceGroup::new(),
            keeping: ServiceGroup::new(),
        };
        if !self.is_served() {
            return Ok(running);
        }
        let Some((certificates, http2)) = self.tls else {
            return Err(ManagerError::NoWebhookCertificates);
        };
        let server = serve_counting(&self.admission, &self.conversions, client, Some(metrics))?;
        debug.show_webhooks(server.clone());
        let address = self.address;
        let listening = match HttpServer::bind(&address, server.router()).await {
            Ok(Some(listening)) => listening,
            Ok(None) => return Ok(running),
            Err(source) => return Err(ManagerError::Listen { address, source }),
        };
        let certificates = certificates.with_metrics(metrics.certificates.clone());
        let listening = listening
            .with_tls(certificates.certificates(), http2)
            .map_err(ManagerError::WebhookCertificates)?;
        let paths: Vec<_> = server.paths().map(str::to_owned).collect();
        tracing::info!(address = %listening.address(), ?paths, "serving webhooks");
        let _ = started.set(listening.address());
        running.listening.spawn(listening.run(running.listening.stop()));
        let (kube, clock, stop) = (client.kube().clone(), client.clock(), running.keeping.stop());
        running
            .keeping
            .spawn(async move { certificates.keep(kube, clock, stop).await });
        Ok(running)
    }
}

impl Served {
    /// Gives back what was taken from the API server, then answers what is asked already, and nothing more.
    pub(super) async fn finish(self, deadline: Instant) {
        let half = Instant::now() + deadline.saturating_duration_since(Instant::now()) / 2;
        for (group, what, deadline) in [
            (self.keeping, "keeping certificates", half),
            (self.listening, "answering webhooks", deadline),
        ] {
            if !group.finish(deadline).await {
                tracing::warn!("{what} did not end in time");
            }
        }
    }
}

/// A server of webhooks and conversions.
pub(crate) fn serve(
    admission: &[Webhook],
    kinds: &[Conversion],
    client: &Client,
) -> Result<WebhookServer, ManagerError> {
    serve_counting(admission, kinds, client, None)
}

fn serve_counting(
    admission: &[Webhook],
    kinds: &[Conversion],
    client: &Client,
    metrics: Option<&RuntimeMetrics>,
) -> Result<WebhookServer, ManagerError> {
    let mut server = WebhookServer::with_client(admission.iter().cloned(), client)?;
    let mut conversions = conversions(kinds)?;
    if let Some(metrics) = metrics {
        conversions = conversions.with_metrics(metrics);
    }
    if !conversions.is_empty() {
        server = server.route(conversion::PATH, Convert(conversions))?;
    }
    Ok(match metrics {
        Some(metrics) => server.with_metrics(metrics),
        None => server,
    })
}

fn conversions(kinds: &[Conversion]) -> Result<Conversions, ManagerError> {
    let mut conversions = Conversions::new();
    for kind in kinds {
        conversions.add(kind.clone())?;
    }
    Ok(conversions)
}

/// Conversion as an endpoint.
struct Convert(Conversions);

impl Endpoint for Convert {
    fn call(&self, request: Request<Bytes>) -> futures_util::future::BoxFuture<'static, Response<Bytes>> {
        let conversions = self.0.clone();
        Box::pin(async move {
            let (parts, body) = conversions.answer(request.body()).into_parts();
            // A whole body is never an error.
            let body = body
                .collect()
                .await
                .map(http_body_util::Collected::to_bytes)
                .unwrap_or_default();
            Response::from_parts(parts, body)
        })
    }

    fn max_body(&self) -> usize {
        conversion::MAX_BODY
    }
}

/// Whether a port is open.
async fn reach(address: SocketAddr) -> Result<(), String> {
    let host = match address.ip() {
        IpAddr::V4(host) if host.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(host) if host.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        host => host,
    };
    match timeout(REACH, TcpStream::connect((host, address.port()))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(format!("webhook server is not reachable: {error}")),
        Err(_) => Err("webhook server is not reachable: it does not accept connections".to_owned()),
    }
}
