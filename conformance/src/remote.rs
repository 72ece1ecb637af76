//! A server behind TLS: the real kube-apiserver when recording, or another server that is compared with it.
//!
//! Every request opens a connection of its own, so that no connection pool can affect a watch. [`Remote::reusing_connections`] is for runs
//! whose requests are many and short.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST};
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use crate::kubelet::{RunningPod, ServePort, ports};
use crate::target::{
    AuditAnnotations, Compaction, Connection, OwnCredentials, ResponseFuture, RunPodFuture, Target, TransportError,
    UpgradeFuture,
};

/// How long the real server's caches take to notice a compaction: they poll every 15 s.
const CACHE_POLL: Duration = Duration::from_secs(17);

/// How often, and in which intervals, an audit event is looked for.
const AUDIT_TRIES: usize = 100;
const AUDIT_POLL: Duration = Duration::from_millis(50);

/// How long the real server's authorizer and webhooks take to learn of a change through their informers, with a margin.
pub(crate) const INFORMED: Duration = Duration::from_millis(400);

/// The address of a server and the credentials of its administrator.
#[derive(Clone, Debug)]
pub struct RemoteSettings {
    /// `https://host:port`.
    pub server: String,
    /// `http://host:port` of the server's etcd; by default the server's host and the port after the server's, as with `upstream/start`.
    pub etcd: Option<String>,
    /// A file holding the administrator's bearer token.
    pub token_file: PathBuf,
    /// The certificates that the server's certificate must chain to.
    pub ca_file: PathBuf,
}

/// A server reached over TLS with a bearer token.
pub struct Remote {
    host: String,
    port: u16,
    name: ServerName<'static>,
    etcd: (String, u16),
    authorization: HeaderValue,
    /// Where the server writes its audit events.
    audit_log: PathBuf,
    tls: TlsConnector,
    /// Connections whose last answer may have been read, if connections are used again.
    idle: Option<Mutex<Vec<SendRequest<Full<Bytes>>>>>,
}

/// The reason why the settings of a server cannot be used.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// The address is not `https://host:port`.
    #[error("{0:?} is not an address of the form https://host:port")]
    Address(String),
    /// The token cannot be read or is not a header value.
    #[error("no bearer token in {}: is the server started (conformance/upstream/start)?", .0.display())]
    Token(PathBuf),
    /// The certificates cannot be read.
    #[error("no certificates in {}: is the server started (conformance/upstream/start)?", .0.display())]
    Certificates(PathBuf),
    /// The TLS library refuses the settings.
    #[error("tls cannot be set up")]
    Tls(#[from] rustls::Error),
}

impl Remote {
    /// Reads token and certificates; connects only when a request is sent.
    pub fn new(settings: &RemoteSettings) -> Result<Self, RemoteError> {
        let address = || RemoteError::Address(settings.server.clone());
        let uri: Uri = settings.server.parse().map_err(|_| address())?;
        let host = uri.host().ok_or_else(address)?.to_owned();
        let name = ServerName::try_from(host.clone()).map_err(|_| address())?;
        let port = uri.port_u16().unwrap_or(443);
        let etcd = match &settings.etcd {
            None => (host.clone(), port.wrapping_add(1)),
            Some(etcd) => {
                let address = || RemoteError::Address(etcd.clone());
                let uri: Uri = etcd.parse().map_err(|_| address())?;
                (
                    uri.host().ok_or_else(address)?.to_owned(),
                    uri.port_u16().unwrap_or(2379),
                )
            }
        };
        Ok(Self {
            port,
            etcd,
            authorization: bearer(&settings.token_file)?,
            audit_log: settings.token_file.with_file_name("audit.log"),
            tls: TlsConnector::from(Arc::new(trusting(&settings.ca_file)?)),
            idle: None,
            host,
            name,
        })
    }

    /// Uses a connection again once its answer was read.
    pub fn reusing_connections(mut self) -> Self {
        self.idle = Some(Mutex::default());
        self
    }
}

/// The annotations of the event that ends a request, if it is in the log.
fn audited(log: &Path, id: &str) -> Result<Option<BTreeMap<String, String>>, TransportError> {
    let text = fs::read_to_string(log)?;
    let of_request = text.lines().rev().filter(|line| line.contains(id));
    let mut events = of_request.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let event = events.find(|event| event["auditID"] == id && event["stage"] == "ResponseComplete");
    Ok(event.map(|event| {
        let annotations = event["annotations"].as_object().into_iter().flatten();
        annotations
            .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect()
    }))
}

fn bearer(file: &Path) -> Result<HeaderValue, RemoteError> {
    let missing = || RemoteError::Token(file.to_owned());
    let token = fs::read_to_string(file).map_err(|_| missing())?;
    HeaderValue::try_from(format!("Bearer {}", token.trim())).map_err(|_| missing())
}

fn trusting(file: &Path) -> Result<ClientConfig, RemoteError> {
    let missing = || RemoteError::Certificates(file.to_owned());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|_| missing())? {
        roots.add(certificate.map_err(|_| missing())?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

impl Target for Remote {
    fn send(&self, request: Request<Bytes>) -> ResponseFuture<'_> {
        Box::pin(async move {
            let response = self.answer(request).await?;
            Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
        })
    }

    fn upgrade(&self, request: Request<Bytes>) -> UpgradeFuture<'_> {
        Box::pin(async move {
            let mut response = self.answer(request).await?;
            let mut connection: Option<Box<dyn Connection>> = None;
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                connection = Some(Box::new(TokioIo::new(hyper::upgrade::on(&mut response).await?)));
            }
            Ok((response.map(|body| body.map_err(Into::into).boxed_unsync()), connection))
        })
    }

    fn run_pod<'a>(&'a self, _: &'a str, _: &'a str, served: Vec<(String, ServePort)>) -> RunPodFuture<'a> {
        Box::pin(async move {
            // As `upstream/start` has it.
            let kubelet = self.port.wrapping_add(3);
            if TcpStream::connect((self.host.as_str(), kubelet)).await.is_err() {
                let advice = "is it built (conformance/upstream/build answering-kubelet)?";
                return Err(format!("no kubelet on port {kubelet}: {advice}").into());
            }
            let address = ports::own_address()?;
            let mut running = RunningPod {
                kubelet,
                address: address.to_string(),
                ports: BTreeMap::new(),
                serving: JoinSet::new(),
            };
            for (name, serve) in served {
                let port = ports::listen(address, serve, &mut running.serving).await?;
                running.ports.insert(name, port);
            }
            Ok(running)
        })
    }

    fn audit_annotations<'a>(&'a self, id: &'a str) -> AuditAnnotations<'a> {
        Box::pin(async move {
            // The event is written once the response is on its way.
            for _ in 0..AUDIT_TRIES {
                if let Some(event) = audited(&self.audit_log, id)? {
                    return Ok(event);
                }
                tokio::time::sleep(AUDIT_POLL).await;
            }
            Err(format!("no event {id} in {}", self.audit_log.display()).into())
        })
    }

    fn compact(&self) -> Compaction<'_> {
        Box::pin(async move {
            let newest = self.etcd("/v3/kv/range", json!({"key": BASE64.encode("/")})).await?;
            let revision = newest["header"]["revision"]
                .as_str()
                .ok_or("etcd names no revision")?
                .to_owned();
            self.etcd("/v3/kv/compaction", json!({"revision": revision, "physical": true}))
                .await?;
            // The server's watch caches keep snapshots of their own until they read a newer value of this key.
            let value = BASE64.encode(&revision);
            self.etcd(
                "/v3/kv/put",
                json!({"key": BASE64.encode("compact_rev_key"), "value": value}),
            )
            .await?;
            tokio::time::sleep(CACHE_POLL).await;
            Ok(())
        })
    }

    fn takes_effect_within(&self) -> Duration {
        INFORMED
    }
}

impl Remote {
    /// Sends a request on a connection of its own.
    async fn answer(&self, mut request: Request<Bytes>) -> Result<Response<Incoming>, TransportError> {
        let mut sender = match self.idle_connection() {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let own = request.extensions().get::<OwnCredentials>().is_some();
        let headers = request.headers_mut();
        headers.insert(HOST, HeaderValue::try_from(format!("{}:{}", self.host, self.port))?);
        if !own {
            headers.insert(AUTHORIZATION, self.authorization.clone());
        }
        let answer = sender.send_request(request.map(Full::new)).await?;
        if let Some(idle) = &self.idle {
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        }
        Ok(answer)
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, TransportError> {
        let tcp = TcpStream::connect((self.host.as_str(), self.port)).await?;
        let stream = self.tls.connect(self.name.clone(), tcp).await?;
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection.with_upgrades());
        Ok(sender)
    }

    /// A connection whose answer was read to its end.
    fn idle_connection(&self) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = self.idle.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|sender| !sender.is_closed());
        let ready = idle.iter().position(SendRequest::is_ready)?;
        Some(idle.swap_remove(ready))
    }

    /// Sends a request to etcd's JSON gateway.
    async fn etcd(&self, path: &str, body: Value) -> Result<Value, TransportError> {
        let tcp = TcpStream::connect((self.etcd.0.as_str(), self.etcd.1)).await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(tcp)).await?;
        tokio::spawn(connection);
        let request = Request::post(path)
            .header(HOST, self.etcd.0.as_str())
            .body(Full::new(Bytes::from(body.to_string())))?;
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        if status.is_success() {
            return Ok(serde_json::from_slice(&body)?);
        }
        Err(format!("etcd answers {status}: {}", String::from_utf8_lossy(&body)).into())
    }
}
