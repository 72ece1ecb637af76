//! `pods/proxy`, `services/proxy` and `nodes/proxy`: requests that are passed on to what listens on a port of a Pod, as upstream's proxy
//! does: streamed both ways, with the answers' links leading back through the proxy.
//!
//! The one way to a port is `stream::containers`: nothing is ever reached but what the Pod's own processes listen on, or what a test
//! registered for it. Of nodes, those that are simulated have a kubelet that answers here; nothing listens on any other port of a node.

mod forward;
mod kubelet;
mod location;
mod node;
mod tls;
mod upgrade;

use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};

use self::location::Location;
use self::node::NodeLocation;
use crate::registry::BuiltInId;
use crate::request::HandlerOutput;
use crate::request::call::Call;
use crate::service::headers::{put_client, remove_credentials};
use crate::stream::is_upgrade;
use crate::wire::body::Body;
use crate::wire::status::{Result, Status};

pub(super) async fn answer(call: &Call<'_>) -> Result<HandlerOutput> {
    let location = match call.resource().id() {
        Some(BuiltInId::Pods) => location::of_pod(call)?,
        Some(BuiltInId::Services) => location::of_service(call)?,
        _ => return of_node(call).await,
    };
    let path = location::path(call);
    if is_upgrade(call.headers) {
        return upgrade::answer(call, location, &path)
            .await
            .map(HandlerOutput::Response);
    }
    if is_without_slash(call, &path) {
        return Ok(HandlerOutput::Response(with_slash(call)));
    }
    forward::answer(call, location, &path)
        .await
        .map(HandlerOutput::Response)
}

/// Answers a request for a node.
async fn of_node(call: &Call<'_>) -> Result<HandlerOutput> {
    let location = node::locate(call)?;
    let path = location::path(call);
    if is_without_slash(call, &path) && !is_upgrade(call.headers) {
        return Ok(HandlerOutput::Response(with_slash(call)));
    }
    match location {
        NodeLocation::Kubelet(name) => kubelet::answer(call, &name, &path).await,
        NodeLocation::Closed(address) => Err(unreachable(&format!("dial tcp {address}: connect: connection refused"))),
    }
}

/// Whether a page is asked for whose links would lead elsewhere.
fn is_without_slash(call: &Call<'_>, path: &str) -> bool {
    path.is_empty() && matches!(*call.method(), Method::GET | Method::HEAD)
}

/// Leads a browser to the path with a slash at its end, against which it resolves the links of a page.
fn with_slash(call: &Call<'_>) -> Response<Body> {
    let uri = &call.parts.uri;
    let mut location = format!("{}/", crate::wire::query::percent_decode(uri.path()));
    if let Some(query) = uri.query().filter(|query| !query.is_empty()) {
        location.push('?');
        location.push_str(query);
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    if let Ok(location) = HeaderValue::from_bytes(location.as_bytes()) {
        headers.insert(header::LOCATION, location);
    }
    response
}

/// The refusal of a request that did not reach its port.
fn unreachable(why: &str) -> Box<Status> {
    let message = format!("error trying to reach service: {why}");
    Status::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
}

/// The host that the client asked for.
fn host(call: &Call<'_>) -> String {
    let named = call.header(header::HOST);
    match call.parts.uri.authority() {
        Some(authority) if named.is_empty() => authority.to_string(),
        _ => named.to_owned(),
    }
}

/// A client's headers as the Pod gets them: without what proves who the client is, which is no affair of a Pod.
fn without_credentials(call: &Call<'_>) -> HeaderMap {
    let mut headers = call.headers.clone();
    remove_credentials(&mut headers);
    if let Ok(host) = HeaderValue::from_str(&host(call)) {
        headers.insert(header::HOST, host);
    }
    put_client(&mut headers, call.parts);
    headers
}

/// Where a request goes, as messages name it.
fn address(location: &Location) -> String {
    format!("{}:{}", location.host(), location.port)
}
