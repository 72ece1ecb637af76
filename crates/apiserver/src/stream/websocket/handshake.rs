//! The opening handshake, with the checks of Go's `golang.org/x/net/websocket` in their order.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use kubewright_apimachinery::url::Url;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

use super::is_requested;
use crate::stream::OutsideHttp;
use crate::wire::body::Body;

/// What is hashed behind a client's key, by RFC 6455.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// How a token begins that is offered as a protocol: browsers send no headers of a page's choice with a WebSocket.
const TOKEN: &str = "base64url.bearer.authorization.k8s.io.";

/// A token that was offered as a protocol, but not as one should be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MalformedToken;

/// The protocols that a client offers, in its order.
fn offered(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let values = values.filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

/// The token among the protocols that the client of a WebSocket offers. There must be another protocol, for the server to choose.
pub(crate) fn offered_token(headers: &HeaderMap) -> Result<Option<String>, MalformedToken> {
    if !is_requested(headers) {
        return Ok(None);
    }
    let mut tokens = offered(headers).filter_map(|protocol| protocol.strip_prefix(TOKEN));
    let Some(token) = tokens.next() else {
        return Ok(None);
    };
    if tokens.next().is_some() {
        return Err(MalformedToken);
    }
    let token = BASE64_URL_SAFE_NO_PAD.decode(token).map_err(|_| MalformedToken)?;
    let token = String::from_utf8(token).map_err(|_| MalformedToken)?;
    match token.as_str() {
        "" => Ok(None),
        _ if offered(headers).all(|protocol| protocol.starts_with(TOKEN)) => Err(MalformedToken),
        _ => Ok(Some(token)),
    }
}

/// A request for a WebSocket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handshake<'a> {
    pub(crate) headers: &'a HeaderMap,
    /// Whether one of the protocols is the token by which the client was authenticated; that one is neither chosen nor shown.
    pub(crate) token_among_protocols: bool,
}

impl<'a> Handshake<'a> {
    /// The protocols that the client offers, in its order.
    pub(in crate::stream) fn offered(self) -> impl Iterator<Item = &'a str> {
        let is_shown = move |protocol: &&str| !self.token_among_protocols || !protocol.starts_with(TOKEN);
        offered(self.headers).filter(is_shown)
    }
}

/// What a handler demands of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Demand<'a> {
    /// A client names its origin, and at most one protocol, which is accepted whatever it is called.
    Origin,
    /// A client names one of these protocols, or none if the empty one is among them.
    Protocols(&'a [&'a str]),
}

/// An accepted handshake.
#[derive(Debug)]
pub(in crate::stream) struct Accepted {
    key: String,
    /// The protocol that both sides will speak; empty if the client named none.
    pub(in crate::stream) protocol: String,
    /// Whether the client is told that it is the empty one.
    tells_empty: bool,
}

impl Accepted {
    pub(in crate::stream) fn response(&self, body: Body) -> Response<Body> {
        let mut response = Response::new(body);
        response.extensions_mut().insert(OutsideHttp::Handshake);
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        let accept = digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{}{GUID}", self.key).as_bytes());
        insert(headers, header::SEC_WEBSOCKET_ACCEPT, &BASE64_STANDARD.encode(accept));
        if self.tells_empty || !self.protocol.is_empty() {
            insert(headers, header::SEC_WEBSOCKET_PROTOCOL, &self.protocol);
        }
        response
    }
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}

/// Checks the headers of a request that asks for a WebSocket. The error is the answer to a handshake that is refused.
pub(in crate::stream) fn accept(handshake: Handshake<'_>, demand: Demand<'_>) -> Result<Accepted, Box<Response<Body>>> {
    let headers = handshake.headers;
    let text = |name: HeaderName| {
        let value = headers.get(name);
        value.and_then(|value| value.to_str().ok()).unwrap_or_default()
    };
    let key = text(header::SEC_WEBSOCKET_KEY);
    if key.is_empty() {
        return Err(refused(StatusCode::BAD_REQUEST, "mismatch challenge/response"));
    }
    if text(header::SEC_WEBSOCKET_VERSION) != "13" {
        let mut response = refused(StatusCode::BAD_REQUEST, "missing or bad WebSocket Version");
        let version = HeaderValue::from_static("13");
        response.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, version);
        return Err(response);
    }
    let mut offered: Vec<&str> = match text(header::SEC_WEBSOCKET_PROTOCOL).trim() {
        "" => Vec::new(),
        _ => handshake.offered().collect(),
    };
    match demand {
        Demand::Origin => {
            let origin = text(header::ORIGIN);
            if origin.is_empty() || Url::parse_request(origin).is_err() {
                return Err(refused(StatusCode::FORBIDDEN, ""));
            }
            if offered.len() > 1 {
                return Err(refused(StatusCode::BAD_REQUEST, ""));
            }
        }
        Demand::Protocols(known) => {
            if offered.is_empty() {
                offered.push("");
            }
            let Some(chosen) = offered.iter().find(|protocol| known.contains(protocol)) else {
                return Err(refused(StatusCode::FORBIDDEN, ""));
            };
            offered = vec![chosen];
        }
    }
    Ok(Accepted {
        key: key.to_owned(),
        protocol: offered.first().copied().unwrap_or_default().to_owned(),
        tells_empty: matches!(demand, Demand::Protocols(_)),
    })
}

/// The answer to a handshake that is refused.
fn refused(code: StatusCode, why: &'static str) -> Box<Response<Body>> {
    let mut response = Response::new(Body::from(why));
    response.extensions_mut().insert(OutsideHttp::Handshake);
    *response.status_mut() = code;
    Box::new(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    fn plain(headers: &HeaderMap) -> Handshake<'_> {
        Handshake {
            headers,
            token_among_protocols: false,
        }
    }

    #[test]
    fn a_token_is_offered_once_and_beside_another_protocol() {
        let token = |protocols: &'static str| {
            offered_token(&headers(&[
                ("connection", "Upgrade"),
                ("upgrade", "websocket"),
                ("sec-websocket-protocol", protocols),
            ]))
        };
        assert_eq!(token("chat"), Ok(None));
        assert_eq!(
            token("base64url.bearer.authorization.k8s.io.dG9rZW4, chat"),
            Ok(Some("token".to_owned()))
        );
        for malformed in [
            "base64url.bearer.authorization.k8s.io.dG9rZW4",
            "base64url.bearer.authorization.k8s.io.dG9rZW4=, chat",
            "base64url.bearer.authorization.k8s.io._w, chat",
            "base64url.bearer.authorization.k8s.io.dG9rZW4, chat, base64url.bearer.authorization.k8s.io.dG9rZW4",
        ] {
            assert_eq!(token(malformed), Err(MalformedToken), "{malformed}");
        }
        let plain = headers(&[(
            "sec-websocket-protocol",
            "base64url.bearer.authorization.k8s.io.dG9rZW4, chat",
        )]);
        assert_eq!(offered_token(&plain), Ok(None));
    }

    #[test]
    fn the_answer_proves_that_the_key_was_read() {
        // The example of RFC 6455, section 1.3.
        let asked = headers(&[
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("sec-websocket-version", "13"),
            ("sec-websocket-protocol", "chat"),
            ("origin", "http://example.com"),
        ]);
        let accepted = accept(plain(&asked), Demand::Origin).expect("accepted");
        let response = accepted.response(Body::empty());
        assert_eq!(
            response.headers()["sec-websocket-accept"],
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
        assert_eq!(response.headers()["sec-websocket-protocol"], "chat");
    }

    #[test]
    fn the_first_protocol_that_is_known_is_spoken() {
        let demand = Demand::Protocols(&["", "v4.channel.k8s.io", "v5.channel.k8s.io"]);
        let choose = |offered: &'static str| {
            let mut asked = headers(&[("sec-websocket-key", "a2V5"), ("sec-websocket-version", "13")]);
            if !offered.is_empty() {
                asked.insert("sec-websocket-protocol", HeaderValue::from_static(offered));
            }
            accept(plain(&asked), demand)
                .map(|accepted| accepted.protocol)
                .map_err(|response| response.status())
        };
        assert_eq!(
            choose("v6.channel.k8s.io, v5.channel.k8s.io,v4.channel.k8s.io").as_deref(),
            Ok("v5.channel.k8s.io")
        );
        assert_eq!(choose("").as_deref(), Ok(""));
        assert_eq!(choose("chat"), Err(StatusCode::FORBIDDEN));
    }
}
