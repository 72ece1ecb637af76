//! Calls to webhooks: one HTTPS POST each. Redirects, repetitions and error messages are those of upstream's client
//! (A5, A7).
//!
//! [`post`] is all that admission and conversion need. Connections are kept and used again. A call that reaches its
//! timeout closes its connection.

mod answer;
mod caller;
mod error;
pub(crate) mod kubeconfig;
mod target;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::response::Parts;
use http::{HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use kubewright_admission::ClientConfig;
use kubewright_system::clock::Clock;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::server::Server;
use crate::service::local_endpoints::LocalEndpoint;
use crate::service::resolve::{self, Route};
use crate::service::tls::{self, Trust};
use crate::service::{Connection, EndpointAddress, OutgoingBody, SendError, connection};
pub(crate) use caller::{Caller, Credentials};
pub(crate) use error::CallError;
use target::Target;

/// The largest response body. Upstream sets no limit.
const MAX_ANSWER: usize = 64 << 20;
/// The number of webhooks whose connections are kept, as upstream.
const MAX_CALLERS: usize = 200;
const MAX_IDLE: usize = 25;
const IDLE_TIME: Duration = Duration::from_secs(90);
const MAX_REDIRECTS: usize = 10;
const MAX_RETRIES: usize = 10;
pub(crate) const DEADLINE: &str = "context deadline exceeded";

/// Posts a JSON document to a webhook and returns the body of a successful response.
pub(crate) async fn post(
    server: &Server,
    config: &ClientConfig,
    document: Vec<u8>,
    timeout: Duration,
) -> Result<Bytes, CallError> {
    let clients = &server.webhooks.clients;
    let client = clients.of(config, server.clock).map_err(CallError::NoClient)?;
    let call = OneCall {
        server,
        client: &client,
        document: document.into(),
        // Rounded up to whole seconds.
        query: format!("timeout={}s", timeout.as_nanos().div_ceil(1_000_000_000)),
        authorization: None,
        reading: AtomicBool::new(false),
    };
    call.within(timeout).await
}

fn exchange(method: &'static str, url: String, why: String) -> CallError {
    CallError::Exchange { method, url, why }
}

/// The clients of webhooks, by the webhook's `clientConfig`.
#[derive(Default)]
pub(super) struct WebhookClients(Mutex<HashMap<ClientConfig, Arc<WebhookClient>>>);

/// The client of a webhook, which keeps connections between calls.
struct WebhookClient {
    target: Target,
    /// Made when first needed, because the certificates that the system trusts may have to be read.
    tls: OnceLock<Arc<rustls::ClientConfig>>,
    clock: Clock,
    idle: Mutex<Vec<(Connection, Instant)>>,
    used: Mutex<Instant>,
}

impl WebhookClients {
    fn of(&self, config: &ClientConfig, clock: Clock) -> Result<Arc<WebhookClient>, String> {
        let mut clients = self.0.lock();
        let now = Instant::now();
        if let Some(client) = clients.get(config) {
            *client.used.lock() = now;
            return Ok(Arc::clone(client));
        }
        let tls = OnceLock::new();
        if !config.ca_bundle.is_empty() {
            let _ = tls.set(tls::config(Trust::Bundle(&config.ca_bundle), None, clock)?);
        }
        let client = Arc::new(WebhookClient {
            target: Target::of(config)?,
            tls,
            clock,
            idle: Mutex::default(),
            used: Mutex::new(now),
        });
        // Callers of configurations that have changed are not used again.
        clients.retain(|_, other| now.duration_since(*other.used.lock()) < IDLE_TIME);
        if clients.len() >= MAX_CALLERS {
            clients.clear();
        }
        clients.insert(config.clone(), Arc::clone(&client));
        Ok(client)
    }

    /// Forgets every open connection.
    pub(super) fn close_all(&self) {
        self.0.lock().clear();
    }
}

impl WebhookClient {
    fn tls(&self) -> Result<Arc<rustls::ClientConfig>, String> {
        if let Some(config) = self.tls.get() {
            return Ok(Arc::clone(config));
        }
        let config = tls::config(Trust::Bundle(&[]), None, self.clock)?;
        Ok(Arc::clone(self.tls.get_or_init(|| config)))
    }

    fn idle(&self) -> Option<Connection> {
        let mut idle = self.idle.lock();
        let now = Instant::now();
        idle.retain(|(connection, since)| connection.is_usable() && now.duration_since(*since) < IDLE_TIME);
        idle.pop().map(|(connection, _)| connection)
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock();
        if connection.is_usable() && idle.len() < MAX_IDLE {
            idle.push((connection, Instant::now()));
        }
    }
}

/// One call, with its redirects and repetitions.
struct OneCall<'a> {
    server: &'a Server,
    client: &'a WebhookClient,
    document: Bytes,
    query: String,
    /// The header by which the server says who it is.
    authorization: Option<&'a HeaderValue>,
    /// Whether a response has begun.
    reading: AtomicBool,
}

/// A response that is being read.
enum Response {
    Ready(http::Response<Bytes>),
    Incoming(http::Response<Incoming>, Connection),
}

impl OneCall<'_> {
    async fn within(&self, timeout: Duration) -> Result<Bytes, CallError> {
        match tokio::time::timeout(timeout, self.run()).await {
            Ok(outcome) => outcome,
            Err(_) if self.reading.load(Ordering::Relaxed) => Err(CallError::Body(DEADLINE.into())),
            Err(_) => Err(exchange("Post", self.client.target.url(&self.query), DEADLINE.into())),
        }
    }

    async fn run(&self) -> Result<Bytes, CallError> {
        let mut repetitions = 0;
        loop {
            let (parts, body) = self.follow().await?;
            match answer::retry_after(&parts) {
                Some(seconds) if repetitions < MAX_RETRIES => {
                    repetitions += 1;
                    self.reading.store(false, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                }
                _ => return answer::read(&parts, body),
            }
        }
    }

    /// Posts, and follows redirects.
    async fn follow(&self) -> Result<(Parts, Bytes), CallError> {
        let (mut target, mut query) = (self.client.target.clone(), self.query.clone());
        let mut method = Method::POST;
        for redirects in 0.. {
            let name = if method == Method::POST { "Post" } else { "Get" };
            let response = self
                .send(&target, &query, &method, redirects == 0)
                .await
                .map_err(|why| exchange(name, target.url(&query), why))?;
            let (parts, body) = self.receive(response).await?;
            let location = parts.headers.get(header::LOCATION);
            let location = location.and_then(|location| location.to_str().ok()).map(str::to_owned);
            let (Some(location), 301 | 302 | 303 | 307 | 308) = (location, parts.status.as_u16()) else {
                return Ok((parts, body));
            };
            if redirects + 1 >= MAX_REDIRECTS {
                return Err(exchange(name, location, "stopped after 10 redirects".into()));
            }
            let Some(next) = target.redirected(&location) else {
                let why = "unsupported protocol scheme";
                return Err(exchange(name, location, why.into()));
            };
            (target, query) = next;
            if parts.status.as_u16() < 307 {
                method = Method::GET;
            }
        }
        Err(exchange("Post", target.url(&query), DEADLINE.into()))
    }

    async fn send(&self, target: &Target, query: &str, method: &Method, own: bool) -> Result<Response, String> {
        let request = self.request(target, query, method)?;
        if let Some(LocalEndpoint::Handler(handler)) = self.server.local_endpoints.get(target_address(target)) {
            let mut whole = Request::new(self.body(method));
            *whole.headers_mut() = request.headers().clone();
            *whole.method_mut() = method.clone();
            *whole.uri_mut() = target.url(query).parse().map_err(|_| "invalid URL".to_owned())?;
            // In a task of its own, as behind a socket: one that calls this server back does not nest into the call, and
            // one that panics ends its connection.
            let mut answering = HandlerTask(tokio::spawn(async move { handler(whole).await }));
            let answered = (&mut answering.0).await;
            return answered.map(Response::Ready).map_err(|_| "EOF".to_owned());
        }
        if own && let Some(mut connection) = self.client.idle() {
            match connection.send(request).await {
                Ok(response) => return Ok(Response::Incoming(response, connection)),
                Err(SendError { stale: false, why, .. }) => return Err(why),
                // The server closed the connection while it was idle: once more over a new one.
                Err(_) => {}
            }
        }
        let route = match &target.service {
            Some((namespace, name, port)) => resolve::service(self.server, namespace, name, *port)?.route,
            None => Route::Host(target.host().to_owned(), target.port()),
        };
        // A certificate must be for the name of the Service, whatever address the Service resolves to.
        let name = match &self.client.target.service {
            Some(_) => self.client.target.host(),
            None => target.host(),
        };
        let secured = if target.tls {
            Some((self.client.tls()?, name))
        } else {
            None
        };
        let mut connection = Connection::to(route, secured).await?;
        let request = self.request(target, query, method)?;
        match connection.send(request).await {
            Ok(response) => Ok(Response::Incoming(response, connection)),
            Err(error) => Err(error.why),
        }
    }

    fn body(&self, method: &Method) -> Bytes {
        if *method == Method::POST {
            self.document.clone()
        } else {
            Bytes::new()
        }
    }

    fn request(&self, target: &Target, query: &str, method: &Method) -> Result<Request<OutgoingBody>, String> {
        let mark = if query.is_empty() { "" } else { "?" };
        let uri: Uri = format!("{}{mark}{query}", target.path)
            .parse()
            .map_err(|_| "invalid URL".to_owned())?;
        let body = Full::new(self.body(method)).map_err(|never| match never {});
        let mut request = Request::new(body.boxed_unsync());
        *request.uri_mut() = uri;
        *request.method_mut() = method.clone();
        let headers = request.headers_mut();
        let host = HeaderValue::from_str(&target.authority).map_err(|_| "invalid URL".to_owned())?;
        headers.insert(header::HOST, host);
        headers.insert(header::USER_AGENT, HeaderValue::from_static("kube-apiserver-admission"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, */*"));
        if *method == Method::POST {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        if let Some(authorization) = self.authorization {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        Ok(request)
    }

    async fn receive(&self, response: Response) -> Result<(Parts, Bytes), CallError> {
        let (parts, mut incoming, connection) = match response {
            Response::Ready(response) => return Ok(response.into_parts()),
            Response::Incoming(response, connection) => {
                let (parts, incoming) = response.into_parts();
                (parts, incoming, connection)
            }
        };
        self.reading.store(true, Ordering::Relaxed);
        let mut body = BytesMut::new();
        while let Some(frame) = incoming.frame().await {
            let frame = frame.map_err(|error| CallError::Body(connection::body_text(&error)))?;
            let data = frame.into_data().unwrap_or_default();
            if body.len() + data.len() > MAX_ANSWER {
                return Err(CallError::Body("http: response body too large".into()));
            }
            body.extend_from_slice(&data);
        }
        self.reading.store(false, Ordering::Relaxed);
        self.client.keep(connection);
        Ok((parts, body.freeze()))
    }
}

/// A running handler of this process. Dropping this aborts it.
struct HandlerTask(tokio::task::JoinHandle<http::Response<Bytes>>);

impl Drop for HandlerTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn target_address(target: &Target) -> EndpointAddress<'_> {
    match &target.service {
        Some((namespace, name, port)) => EndpointAddress::Service(namespace, name, *port),
        None => EndpointAddress::Host(target.host(), target.port()),
    }
}
