//! Heads that Go's HTTP server answers itself, before any handler sees them: the same statuses and words, recorded from kube-apiserver.

use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, Version, header};
use hyper::ext::ReasonPhrase;

use crate::wire::body::Body;

/// The answer to a head that no handler sees.
pub(super) fn answer(parts: &Parts) -> Option<Response<Body>> {
    let is_http1 = parts.version <= Version::HTTP_11;
    if parts.uri.path() == "*" && parts.method == Method::OPTIONS {
        return Some(Response::new(Body::empty()));
    }
    if !is_http1 {
        return None;
    }
    if !has_valid_escapes(parts.uri.path()) {
        return Some(bad_request(""));
    }
    if let Some(why) = host_mistake(parts) {
        return Some(bad_request(why));
    }
    let expects = parts.headers.get(header::EXPECT);
    if expects.is_some_and(|value| !value.is_empty() && !value.as_bytes().eq_ignore_ascii_case(b"100-continue")) {
        return Some(closing(StatusCode::EXPECTATION_FAILED, Body::empty()));
    }
    None
}

/// What is wrong with the `Host` headers; empty for what has no words.
fn host_mistake(parts: &Parts) -> Option<&'static str> {
    let mut hosts = parts.headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) if parts.version == Version::HTTP_11 && parts.method != Method::CONNECT => {
            Some("missing required Host header")
        }
        (None, _) => None,
        (Some(_), Some(_)) => Some(""),
        (Some(host), None) if host.as_bytes().iter().copied().all(may_be_in_host) => None,
        (Some(_), None) => Some("malformed Host header"),
    }
}

/// The characters that Go lets a `Host` header have.
fn may_be_in_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!$%&'()*+,-./:;=@[]_~".contains(&byte)
}

/// Whether every `%` of a path begins an escaped byte.
fn has_valid_escapes(path: &str) -> bool {
    path.split('%').skip(1).all(|behind| {
        let digits = behind.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

fn bad_request(why: &'static str) -> Response<Body> {
    let mut reason = String::from("Bad Request");
    if !why.is_empty() {
        reason = format!("{reason}: {why}");
    }
    let mut response = closing(StatusCode::BAD_REQUEST, format!("400 {reason}").into());
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    // The words above are characters that a reason may have.
    if let Ok(reason) = ReasonPhrase::try_from(reason.into_bytes()) {
        response.extensions_mut().insert(reason);
    }
    response
}

/// An answer behind which the connection ends.
fn closing(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}

#[cfg(test)]
mod tests {
    use http::Request;
    use http_body_util::BodyExt as _;

    use super::*;

    fn parts(method: Method, uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    async fn told(parts: &Parts) -> Option<(u16, String)> {
        let response = answer(parts)?;
        let status = response.status().as_u16();
        let text = response.into_body().collect().await.unwrap().to_bytes();
        Some((status, String::from_utf8_lossy(&text).into_owned()))
    }

    /// As kube-apiserver 1.36.3 answered over a socket.
    #[tokio::test]
    async fn what_go_refuses_is_refused_in_its_words() {
        let missing = "400 Bad Request: missing required Host header";
        let malformed = "400 Bad Request: malformed Host header";
        for (method, uri, headers, expected) in [
            (Method::GET, "/api", &[][..], Some((400, missing))),
            (Method::CONNECT, "/api", &[], None),
            (Method::GET, "/api", &[("host", "")], None),
            (Method::GET, "/api", &[("host", "a:6443")], None),
            (Method::GET, "/api", &[("host", "[::1]:6443")], None),
            (Method::GET, "/api", &[("host", "a b")], Some((400, malformed))),
            (
                Method::GET,
                "/api",
                &[("host", "a"), ("host", "b")],
                Some((400, "400 Bad Request")),
            ),
            (
                Method::GET,
                "/api/%zz",
                &[("host", "a")],
                Some((400, "400 Bad Request")),
            ),
            (Method::GET, "/api/%4", &[("host", "a")], Some((400, "400 Bad Request"))),
            (Method::GET, "/api/%41?a=%zz", &[("host", "a")], None),
            (Method::GET, "/api", &[("host", "a"), ("expect", "100-Continue")], None),
            (
                Method::GET,
                "/api",
                &[("host", "a"), ("expect", "more")],
                Some((417, "")),
            ),
            (Method::OPTIONS, "*", &[("host", "a")], Some((200, ""))),
            (Method::OPTIONS, "/api", &[("host", "a")], None),
        ] {
            let answer = told(&parts(method.clone(), uri, headers)).await;
            let expected = expected.map(|(status, text)| (status, text.to_owned()));
            assert_eq!(answer, expected, "{method} {uri} {headers:?}");
        }
    }

    #[tokio::test]
    async fn what_older_and_newer_protocols_leave_out_is_not_missed() {
        for version in [Version::HTTP_10, Version::HTTP_2] {
            let mut head = parts(Method::GET, "/api", &[]);
            head.version = version;
            assert_eq!(told(&head).await, None, "{version:?}");
        }
    }
}
