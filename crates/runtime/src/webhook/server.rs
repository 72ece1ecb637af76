//! Answers the API server's calls, with or without a socket.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use tokio::time::timeout;
use tracing::Instrument as _;

use super::builder::Webhook;
use super::counts::{CallCounts, CallVerdict, Calls};
use super::error::{WebhookError, check};
use super::handler::AnyHandler;
use super::response::AdmissionResponse;
use super::review::{self, Review};
use super::traced::TracedCall;
use crate::client::Client;
use crate::metrics::{Gauge, RuntimeMetrics, WebhookMetrics};
use crate::serve::{HttpResponse, ResponseBody, Router};
use crate::trace::Trace;

/// From this size on a review is not read, as in controller-runtime: two objects of at most 3 MiB each, and what is around them.
pub const MAX_BODY: usize = 7 << 20;

/// How long a body may take to arrive; the API server has given up by then.
const BODY: Duration = Duration::from_secs(30);

/// Something served beside the webhooks, as the conversion between versions at `/convert`. Async functions of a request are
/// endpoints.
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use kubewright_runtime::webhook::{Endpoint, WebhookServer};
///
/// fn hello() -> impl Endpoint {
///     |_: Request<Bytes>| async { Response::new(Bytes::from("hello")) }
/// }
/// let server = WebhookServer::empty().route("/hello", hello()).unwrap();
/// assert!(!server.is_empty());
/// ```
pub trait Endpoint: Send + Sync + 'static {
    /// The answer to a request.
    fn call(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>>;

    /// Longer bodies are refused with 413.
    fn max_body(&self) -> usize {
        MAX_BODY
    }
}

impl<F, R> Endpoint for F
where
    F: Fn(Request<Bytes>) -> R + Send + Sync + 'static,
    R: Future<Output = Response<Bytes>> + Send + 'static,
{
    fn call(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>> {
        Box::pin(self(request))
    }
}

/// The handler of a path.
#[derive(Clone)]
enum Route {
    Admission(Arc<dyn AnyHandler>),
    Other(Arc<dyn Endpoint>),
}

#[derive(Clone, Default)]
struct Inner {
    routes: BTreeMap<String, (Route, Arc<CallCounts>)>,
    metrics: Option<WebhookMetrics>,
    trace: Trace,
}

/// Answers the API server's calls. Cloning shares it.
///
/// It has no socket of its own: [`service`](WebhookServer::service) answers in this process, [`router`](WebhookServer::router) is
/// for an [`HttpServer`](crate::serve::HttpServer), and a manager does all that.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use bytes::Bytes;
/// use http::Request;
/// use kubewright_runtime::webhook::{AdmissionRequest, AdmissionResponse, Webhook, WebhookServer};
///
/// let never = Webhook::raw("/never", |_: AdmissionRequest| async { AdmissionResponse::denied("never") });
/// let server = WebhookServer::new([never]).unwrap();
/// let review = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"7"}}"#;
/// let request = Request::post("/never").header("content-type", "application/json").body(Bytes::from(review)).unwrap();
/// let answer = server.answer(request).await;
/// assert_eq!(
///     answer.body(),
///     "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"response\":{\"uid\":\"7\",\"allowed\":false,\
///      \"status\":{\"metadata\":{},\"message\":\"never\",\"reason\":\"Forbidden\",\"code\":403}}}\n"
/// );
/// # }
/// ```
#[derive(Clone)]
pub struct WebhookServer(Arc<Inner>);

impl WebhookServer {
    /// A server of nothing, to which endpoints can be added.
    pub fn empty() -> Self {
        WebhookServer(Arc::default())
    }

    /// A server of these webhooks, none of which needs a client.
    pub fn new(webhooks: impl IntoIterator<Item = impl Into<Webhook>>) -> Result<Self, WebhookError> {
        Self::build(webhooks, None)
    }

    /// A server of these webhooks.
    pub(crate) fn with_client(
        webhooks: impl IntoIterator<Item = impl Into<Webhook>>,
        client: &Client,
    ) -> Result<Self, WebhookError> {
        Self::build(webhooks, Some(client))
    }

    fn build(
        webhooks: impl IntoIterator<Item = impl Into<Webhook>>,
        client: Option<&Client>,
    ) -> Result<Self, WebhookError> {
        let webhooks: Vec<Webhook> = webhooks.into_iter().map(Into::into).collect();
        check(&webhooks)?;
        let mut routes = BTreeMap::new();
        for (description, factory) in webhooks.iter().flat_map(Webhook::hooks) {
            let Some(handler) = factory.make(client) else {
                return Err(WebhookError::NeedsClient(description.path));
            };
            routes.insert(description.path, (Route::Admission(handler), Arc::default()));
        }
        Ok(WebhookServer(Arc::new(Inner {
            routes,
            metrics: None,
            trace: client.map_or_else(Trace::off, |client| client.trace().clone()),
        })))
    }

    /// Serves something else at a path that no webhook has.
    pub fn route(self, path: impl Into<String>, endpoint: impl Endpoint) -> Result<Self, WebhookError> {
        let path = path.into();
        let mut inner = Arc::unwrap_or_clone(self.0);
        if inner.routes.contains_key(&path) {
            let (first, second) = (path.clone(), path.clone());
            return Err(WebhookError::SamePath { path, first, second });
        }
        let endpoint = Route::Other(Arc::new(endpoint));
        inner.routes.insert(path, (endpoint, Arc::default()));
        Ok(WebhookServer(Arc::new(inner)))
    }

    /// Counts what it answers, under controller-runtime's names.
    pub fn with_metrics(self, metrics: &RuntimeMetrics) -> Self {
        let metrics = metrics.webhooks.clone();
        let mut inner = Arc::unwrap_or_clone(self.0);
        for path in inner.routes.keys() {
            metrics.in_flight.with([path]);
            // The likely ones are there from the start, so that rates can be computed.
            for code in ["200", "500"] {
                metrics.requests.with([path, code]);
            }
        }
        inner.metrics = Some(metrics);
        WebhookServer(Arc::new(inner))
    }

    #[cfg(test)]
    pub(super) fn with_trace(self, trace: Trace) -> Self {
        let inner = Arc::unwrap_or_clone(self.0);
        WebhookServer(Arc::new(Inner { trace, ..inner }))
    }

    /// The paths it answers at.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.routes.keys().map(String::as_str)
    }

    /// How its calls ended so far, by path.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (&str, Calls)> {
        let routes = self.0.routes.iter();
        routes.map(|(path, (_, counts))| (path.as_str(), counts.now()))
    }

    /// Whether it answers nowhere.
    pub fn is_empty(&self) -> bool {
        self.0.routes.is_empty()
    }

    /// The answer to a request.
    pub async fn answer(&self, request: Request<Bytes>) -> Response<Bytes> {
        let path = request.uri().path();
        let Some((path, (route, counts))) = self.0.routes.get_key_value(path) else {
            return plain(StatusCode::NOT_FOUND, "404 page not found");
        };
        let counted = counts.begin();
        let _here = self
            .0
            .metrics
            .as_ref()
            .map(|metrics| InFlightRequest::enter(&metrics.in_flight.with([path])));
        let (answer, verdict) = match route {
            Route::Other(endpoint) => {
                let answer = if request.body().len() > endpoint.max_body() {
                    too_large(endpoint.max_body())
                } else {
                    endpoint.call(request).await
                };
                let verdict = if answer.status().is_success() {
                    CallVerdict::Allowed
                } else {
                    CallVerdict::Errored
                };
                (answer, verdict)
            }
            Route::Admission(handler) => {
                let (answer, verdict) = self.review(path, handler, &request).await;
                (json(answer), verdict)
            }
        };
        let took = counted.end(verdict);
        if let Some(metrics) = &self.0.metrics {
            metrics.latency.with([path]).observe_duration(took);
            metrics.requests.with([path, answer.status().as_str()]).inc();
        }
        answer
    }

    /// The server as a function, to be registered with an API server in this process.
    pub fn service(
        &self,
    ) -> impl Fn(Request<Bytes>) -> BoxFuture<'static, Response<Bytes>> + Clone + Send + Sync + 'static + use<> {
        let server = self.clone();
        move |request| {
            let server = server.clone();
            Box::pin(async move { server.answer(request).await })
        }
    }

    /// The same for an [`HttpServer`](crate::serve::HttpServer).
    pub fn router(&self) -> Router {
        let server = self.clone();
        Router::new().route("/", move |request: Request<Incoming>| {
            let server = server.clone();
            async move { server.answer_stream(request).await }
        })
    }

    fn route_of(&self, path: &str) -> Option<&Route> {
        self.0.routes.get(path).map(|(route, _)| route)
    }

    /// Reads a body, up to what may be read, and answers.
    async fn answer_stream(&self, request: Request<Incoming>) -> HttpResponse {
        let limit = match self.route_of(request.uri().path()) {
            Some(Route::Admission(_)) => MAX_BODY,
            Some(Route::Other(endpoint)) => endpoint.max_body(),
            None => 0,
        };
        let (parts, body) = request.into_parts();
        let answer = match timeout(BODY, Limited::new(body, limit).collect()).await {
            Ok(Ok(body)) => self.answer(Request::from_parts(parts, body.to_bytes())).await,
            Ok(Err(error)) if !error.is::<LengthLimitError>() => errored(400, &error.to_string()),
            Ok(Err(_)) => match self.route_of(parts.uri.path()) {
                Some(Route::Admission(_)) => errored(413, &too_large_message(limit)),
                Some(Route::Other(_)) => too_large(limit),
                None => plain(StatusCode::NOT_FOUND, "404 page not found"),
            },
            Err(_) => plain(StatusCode::REQUEST_TIMEOUT, "the request's body took too long"),
        };
        answer.map(ResponseBody::from)
    }

    async fn review(
        &self,
        path: &str,
        handler: &Arc<dyn AnyHandler>,
        request: &Request<Bytes>,
    ) -> (Vec<u8>, CallVerdict) {
        let body = request.body();
        let Review { meta, request } = match read(request) {
            Ok(review) => review,
            Err(response) => {
                tracing::error!(path, error = response.status.message, "bad admission request");
                return (review::write(None, "", &response), CallVerdict::Errored);
            }
        };
        let uid = request.uid.clone();
        let tracing = TracedCall::begin(&self.0.trace, path, body, &request);
        let span = tracing::info_span!(
            "webhook",
            path,
            uid,
            kind = request.kind.kind,
            namespace = request.namespace,
            name = request.name,
            operation = request.operation.as_str(),
            user = request.user_info.username,
        );
        // Calling a handler may panic as well as awaiting it.
        let judged = AssertUnwindSafe(async { handler.handle(request).await }.instrument(span.clone()));
        let response = judged.catch_unwind().await.unwrap_or_else(|panic| {
            if let Some(metrics) = &self.0.metrics {
                metrics.panics.with([]).inc();
            }
            AdmissionResponse::errored(500, format!("panic: {} [recovered]", text_of(&*panic)))
        });
        if let Some(tracing) = tracing {
            tracing.end(&self.0.trace, &response);
        }
        span.in_scope(|| {
            tracing::debug!(
                allowed = response.allowed,
                code = response.status.code,
                message = response.status.message,
                "answered"
            );
        });
        (review::write(Some(&meta), &uid, &response), CallVerdict::of(&response))
    }
}

/// Reads the review of a request. The error is the response to a request that is not a review.
fn read(request: &Request<Bytes>) -> Result<Review, Box<AdmissionResponse>> {
    let refuse = |code, what: &str| Err(Box::new(AdmissionResponse::errored(code, what)));
    let body = request.body();
    if body.is_empty() {
        return refuse(400, "request body is empty");
    }
    if body.len() >= MAX_BODY {
        return refuse(413, &too_large_message(MAX_BODY));
    }
    let content_type = request.headers().get(header::CONTENT_TYPE);
    if content_type.is_none_or(|value| value != "application/json") {
        let found = String::from_utf8_lossy(content_type.map_or(b"", HeaderValue::as_bytes));
        return refuse(400, &format!("contentType={found}, expected application/json"));
    }
    Review::read(body).or_else(|error| refuse(400, &error))
}

/// What a panic says.
fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("unknown")
}

fn too_large_message(limit: usize) -> String {
    format!("request entity is too large; limit is {limit} bytes")
}

fn errored(code: u16, message: &str) -> Response<Bytes> {
    json(review::write(None, "", &AdmissionResponse::errored(code, message)))
}

fn json(body: Vec<u8>) -> Response<Bytes> {
    let mut answer = Response::new(Bytes::from(body));
    answer
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn plain(code: StatusCode, text: &str) -> Response<Bytes> {
    let mut answer = Response::new(Bytes::from(format!("{text}\n")));
    *answer.status_mut() = code;
    let headers = answer.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

fn too_large(limit: usize) -> Response<Bytes> {
    plain(StatusCode::PAYLOAD_TOO_LARGE, &too_large_message(limit))
}

/// A request in flight, counted by a gauge until it is dropped.
struct InFlightRequest(Gauge);

impl InFlightRequest {
    fn enter(gauge: &Gauge) -> Self {
        gauge.inc();
        InFlightRequest(gauge.clone())
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl fmt::Debug for WebhookServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.routes.keys()).finish()
    }
}
