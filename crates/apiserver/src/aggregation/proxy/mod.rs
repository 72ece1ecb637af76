//! Passing a request on to the server that answers for its group and version, as upstream's proxy does: streamed both ways,
//! with the user in headers, and with upstream's words where that fails.

pub(super) mod headers;
mod sniff;
mod upgrade;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri, header};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use kubewright_access::RequestInfo;
use kubewright_apimachinery::url::{escape_path, query_escape, query_pairs};
use tokio::time::{Instant, timeout_at};

use super::remote::{Remote, RemoteBody};
use crate::access::User;
use crate::admit::Deadline;
use crate::registry::Subresource;
use crate::request::{RequestHead, timeout};
use crate::server::Server;
use crate::service::OutgoingBody;
use crate::service::headers::remove_hop_by_hop;
use crate::service::pages::{self, Links};
use crate::service::resolve::Resolved;
use crate::stream::is_upgrade;
use crate::webhook;
use crate::wire::body::Body;
use crate::wire::negotiate::Output;
use crate::wire::respond;

/// How long a request may take that does not say, or says longer.
const LONGEST: Duration = Duration::from_mins(1);
/// How long a request for the resources of a version may take.
const DISCOVERY: Duration = Duration::from_secs(5);

/// A request on its way to another server.
pub(crate) struct ProxiedRequest<'a> {
    pub(crate) server: &'a Server,
    pub(crate) remote: &'a Arc<Remote>,
    pub(crate) head: &'a RequestHead<'a>,
    pub(crate) user: &'a User,
    /// Whether one of the WebSocket protocols that the client offers is its token.
    pub(crate) token_among_protocols: bool,
    /// The id in the audit trail, which the other server is told.
    pub(crate) audit_id: &'a HeaderValue,
    pub(crate) body: OutgoingBody,
}

/// Answers a request with what another server says.
pub(crate) async fn answer(request: ProxiedRequest<'_>) -> Response<Body> {
    let (server, remote) = (request.server, request.remote);
    if !remote.is_watched.load(Ordering::Acquire) {
        server.aggregate_apis();
    }
    if !remote.available.load(Ordering::Acquire) {
        return failed(StatusCode::SERVICE_UNAVAILABLE, "service unavailable");
    }
    if let Err(why) = remote.tls(server.clock) {
        return failed(StatusCode::INTERNAL_SERVER_ERROR, &why);
    }
    let Ok(to) = remote.resolve(server) else {
        return failed(StatusCode::SERVICE_UNAVAILABLE, "service unavailable");
    };
    let is_upgrade = is_upgrade(request.head.headers());
    let deadline = (!is_upgrade && !is_long_running(request.head)).then(|| deadline(request.head));
    let answering = async {
        if is_upgrade {
            upgrade::answer(request, to).await
        } else {
            forward(request, to).await
        }
    };
    match deadline {
        None => answering.await,
        Some(at) => match timeout_at(at, answering).await {
            Ok(response) => response,
            Err(_) => too_late(at),
        },
    }
}

/// An error of the proxy: plain text with a newline.
fn failed(code: StatusCode, why: &str) -> Response<Body> {
    respond::text(code, format!("{why}\n"))
}

fn too_late(at: Instant) -> Response<Body> {
    let status = webhook::too_late(Deadline { at, wanted: true });
    respond::refuse(&status, Output::JSON, &[])
}

/// Until when a request must be answered.
fn deadline(head: &RequestHead<'_>) -> Instant {
    let wanted = head.query.get("timeout").and_then(timeout::duration);
    let wanted = wanted.filter(|wanted| !wanted.is_zero() && *wanted < LONGEST);
    Instant::now() + wanted.unwrap_or(LONGEST)
}

/// Whether a request has no deadline: watches, and what streams for as long as it likes.
fn is_long_running(head: &RequestHead<'_>) -> bool {
    head.info.resource.is_some_and(|resource| {
        let verb = resource.verb(head.info.method, || head.query.flag("watch") == Some(true));
        matches!(verb, "watch" | "proxy")
            || Subresource::parse(resource.subresource).is_some_and(Subresource::is_long_running)
    })
}

/// Whether a request asks which resources a version has.
fn is_discovery(info: &RequestInfo<'_>) -> bool {
    info.resource.is_none() && info.path.trim_matches('/').split('/').count() == 3
}

async fn forward(request: ProxiedRequest<'_>, to: Resolved) -> Response<Body> {
    let ProxiedRequest {
        server, remote, head, ..
    } = request;
    let unreachable = |why: &str| {
        let why = format!("error trying to reach service: {why}");
        failed(StatusCode::SERVICE_UNAVAILABLE, &why)
    };
    let authority = to.authority.clone();
    let Some((path, uri)) = location(head) else {
        return unreachable("invalid URL");
    };
    let mut sent = headers::forwarded(&request);
    headers::put_location(&mut sent, &authority, &path);
    let outgoing = outgoing(head.parts, uri, sent, request.body);
    let sending = remote.send(to, outgoing, server.clock);
    let response = if is_discovery(&head.info) {
        match timeout_at(Instant::now() + DISCOVERY, sending).await {
            Ok(response) => response,
            Err(_) => return unreachable("context deadline exceeded"),
        }
    } else {
        sending.await
    };
    match response {
        Ok(response) => received(response, &authority).await,
        Err(why) => unreachable(&why),
    }
}

/// The path of a request, and path and query as they are sent: without escapes that are not needed, by the keys' order.
fn location(head: &RequestHead<'_>) -> Option<(String, Uri)> {
    let path = escape_path(head.info.path);
    let mut pairs: Vec<_> = query_pairs(head.parts.uri.query().unwrap_or_default()).collect();
    pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(key, value)| format!("{}={}", query_escape(key), query_escape(value)))
        .collect();
    let mark = if pairs.is_empty() { "" } else { "?" };
    let uri = format!("{path}{mark}{}", pairs.join("&")).parse().ok()?;
    Some((path, uri))
}

fn outgoing(parts: &Parts, uri: Uri, headers: HeaderMap, body: OutgoingBody) -> Request<OutgoingBody> {
    let mut request = Request::new(body);
    *request.method_mut() = parts.method.clone();
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    request
}

/// What a client gets of a response.
async fn received(response: Response<RemoteBody>, authority: &str) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    remove_hop_by_hop(&mut parts.headers);
    headers::remove_cors(&mut parts.headers);
    // Upstream puts the address of the other server before links to what is on it.
    let links = Links {
        source: authority.to_owned(),
        requested: authority.to_owned(),
        prefix: String::new(),
        origin: Some(format!("https://{authority}")),
    };
    let location = parts
        .headers
        .get(header::LOCATION)
        .filter(|location| !location.is_empty());
    let location = location.map(|location| links.rewrite(&String::from_utf8_lossy(location.as_bytes())));
    let leads_elsewhere = location.is_some();
    match location {
        None => {}
        Some(Ok(_)) if parts.status.is_redirection() => return redirected(),
        Some(Ok(location)) => {
            if let Some(location) = location.and_then(|location| HeaderValue::from_str(&location).ok()) {
                parts.headers.insert(header::LOCATION, location);
            }
        }
        Some(Err(why)) => {
            let why = format!("Internal error occurred: error trying to parse Location header: {why}");
            return failed(StatusCode::SERVICE_UNAVAILABLE, &why);
        }
    }
    let body = if body.is_end_stream() {
        drop(body);
        Body::empty()
    } else if pages::is_page(&parts.headers) && !leads_elsewhere {
        match pages::rewritten(body.boxed_unsync(), &mut parts.headers, &links).await {
            Ok(page) => page,
            Err(why) => return failed(StatusCode::SERVICE_UNAVAILABLE, &why.to_string()),
        }
    } else if parts.headers.contains_key(header::CONTENT_TYPE) || parts.headers.contains_key(header::CONTENT_ENCODING) {
        Body::proxied(body.boxed_unsync())
    } else {
        let (content_type, body) = sniff::sniffed(body).await;
        if let Some(content_type) = content_type {
            let content_type = HeaderValue::from_static(content_type);
            parts.headers.insert(header::CONTENT_TYPE, content_type);
        }
        Body::proxied(body)
    };
    let mut response = Response::from_parts(parts, body);
    *response.version_mut() = http::Version::HTTP_11;
    // Upstream has set its own before it asks, and adds those of the other server.
    let cached = response.headers_mut().remove(header::CACHE_CONTROL);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    if let Some(cached) = cached {
        response.headers_mut().append(header::CACHE_CONTROL, cached);
    }
    response
}

/// The answer to a request that the other server wants to send elsewhere.
fn redirected() -> Response<Body> {
    let why = "the backend attempted to redirect this request, which is not permitted";
    let mut response = respond::text(StatusCode::BAD_GATEWAY, why);
    response.headers_mut().remove(header::X_CONTENT_TYPE_OPTIONS);
    response
}
