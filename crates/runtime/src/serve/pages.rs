//! The pages that are not checks: metrics and the debug page.

use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderMap, Method, Request, StatusCode, header};
use hyper::body::Incoming;
use serde_json::Value;

use super::authorize::Authorized;
use super::response::{HttpResponse, error, page};
use super::router::Handler;
use crate::metrics::Registry;

/// `/metrics`: all metrics of a registry in Prometheus' text format.
pub(crate) fn metrics_page(registry: Registry) -> impl Handler {
    move |request: Request<Incoming>| {
        let answer = read_only(request.method()).unwrap_or_else(|| {
            page(
                StatusCode::OK,
                "text/plain; version=0.0.4; charset=utf-8",
                registry.render(),
            )
        });
        async move { answer }
    }
}

/// `/debug/kubewright`: what the snapshot function says, as JSON.
///
/// The page tells what the operator works on, so it is for this machine only, bound to
/// [loopback](super::BindAddress::is_loopback), or for those whom the cluster allows to see it. Requests of others under any other host name are refused,
/// so that a web page cannot read it through a name that points here.
pub(crate) fn debug_page(snapshot: impl Fn() -> Value + Send + Sync + 'static) -> impl Handler {
    let snapshot = Arc::new(snapshot);
    move |request: Request<Incoming>| {
        let answer = refusal(&request).unwrap_or_else(|| {
            let text = serde_json::to_string_pretty(&snapshot()).unwrap_or_else(|error| error.to_string());
            page(StatusCode::OK, "application/json", text + "\n")
        });
        async move { answer }
    }
}

/// What is answered to a request that must not see what is for debugging: one under another host name, or one that is not a read.
pub(crate) fn refusal(request: &Request<Incoming>) -> Option<HttpResponse> {
    // A web page has no token of the cluster.
    let is_allowed = request.extensions().get::<Authorized>().is_some() || is_local(request.headers());
    read_only(request.method())
        .or_else(|| (!is_allowed).then(|| error(StatusCode::FORBIDDEN, "only under a local name")))
}

fn read_only(method: &Method) -> Option<HttpResponse> {
    (method != Method::GET && method != Method::HEAD)
        .then(|| error(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed"))
}

fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else {
        return false;
    };
    let Ok(authority) = host.parse::<http::uri::Authority>() else {
        return false;
    };
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_local_host_names_see_the_debug_page() {
        for (host, local) in [
            ("localhost:8082", true),
            ("127.0.0.1:8082", true),
            ("[::1]:8082", true),
            ("evil.example.com:8082", false),
            ("localhost.evil.example.com", false),
            ("10.0.0.1", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            assert_eq!(is_local(&headers), local, "{host}");
        }
        assert!(!is_local(&HeaderMap::new()));
    }
}
