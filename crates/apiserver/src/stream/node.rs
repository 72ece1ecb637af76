//! What the node of a Pod refuses. Upstream's API server passes such answers on as they are, without headers of its own.

use http::{HeaderValue, Response, StatusCode, header};

use super::OutsideHttp;
use crate::wire::body::Body;

/// A request that the node makes no sense of.
pub(crate) fn bad_request(why: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(why.to_owned()));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    as_it_is(response)
}

/// A handshake that the node refuses, which ends the connection.
pub(crate) fn refused_handshake(mut response: Response<Body>) -> Response<Body> {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    as_it_is(response)
}

/// An answer of the node.
pub(crate) fn as_it_is(mut response: Response<Body>) -> Response<Body> {
    let mut headers = std::mem::take(response.headers_mut());
    headers.remove(header::CACHE_CONTROL);
    OutsideHttp::verbatim(&mut response, headers);
    response
}
