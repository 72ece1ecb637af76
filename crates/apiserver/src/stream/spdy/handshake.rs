//! The opening of a SPDY session: the client offers versions of what is spoken over it, in its order, and the server chooses.

use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use crate::stream::{OutsideHttp, asks_for_spdy};
use crate::wire::body::Body;
use crate::wire::respond;

pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("x-stream-protocol-version");
pub(crate) const ACCEPTED_VERSIONS: HeaderName = HeaderName::from_static("x-accepted-stream-protocol-versions");

/// Chooses the first of the client's versions that is known. The error is the answer to a handshake that is refused.
pub(crate) fn accept(headers: &HeaderMap, known: &'static [&'static str]) -> Result<&'static str, Box<Response<Body>>> {
    if !headers.contains_key(PROTOCOL_VERSION) {
        let count = headers.keys_len();
        let why = format!(
            "unable to upgrade: header X-Stream-Protocol-Version does not exist in request with {count} headers\n"
        );
        return Err(refused(StatusCode::BAD_REQUEST, why));
    }
    let values = headers.get_all(PROTOCOL_VERSION).iter();
    let values: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
    let offered = values.iter().flat_map(|value| value.split(','));
    let offered: Vec<&str> = offered
        .map(|name| name.trim_matches(' '))
        .filter(|name| !name.is_empty())
        .collect();
    if offered.is_empty() {
        let values = values.join(" ");
        let why = format!(
            "unable to upgrade: header X-Stream-Protocol-Version contains [{values}], but no valid protocols\n"
        );
        return Err(refused(StatusCode::BAD_REQUEST, why));
    }
    let chosen = offered
        .iter()
        .find_map(|name| known.iter().find(|known| *known == name));
    let Some(chosen) = chosen else {
        let (offered, accepted) = (offered.join(" "), known.join(" "));
        let mut response = refused(
            StatusCode::FORBIDDEN,
            format!(
                "unable to upgrade: unable to negotiate protocol: client supports [{offered}], server accepts [{accepted}]\n"
            ),
        );
        for name in known {
            response
                .headers_mut()
                .append(ACCEPTED_VERSIONS, HeaderValue::from_static(name));
        }
        return Err(response);
    };
    if !asks_for_spdy(headers) {
        let why = "unable to upgrade: missing upgrade headers in request\n".to_owned();
        return Err(refused(StatusCode::BAD_REQUEST, why));
    }
    Ok(chosen)
}

/// The answer to a handshake that was accepted.
pub(crate) fn accepted(protocol: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.extensions_mut().insert(OutsideHttp::Handshake);
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("SPDY/3.1"));
    headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(protocol));
    response
}

fn refused(code: StatusCode, why: String) -> Box<Response<Body>> {
    Box::new(respond::text(code, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(pairs: &[(&'static str, &'static str)]) -> Result<&'static str, StatusCode> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        accept(&headers, &["v4.channel.k8s.io", "channel.k8s.io"]).map_err(|response| response.status())
    }

    #[test]
    fn the_first_version_that_is_known_is_spoken() {
        let upgrade = [("connection", "Upgrade"), ("upgrade", "SPDY/3.1")];
        let offering = |versions: &[&'static str]| {
            let versions = versions.iter().map(|version| ("x-stream-protocol-version", *version));
            choose(&upgrade.into_iter().chain(versions).collect::<Vec<_>>())
        };
        assert_eq!(
            offering(&["v5.channel.k8s.io", "v4.channel.k8s.io", "channel.k8s.io"]),
            Ok("v4.channel.k8s.io")
        );
        assert_eq!(
            offering(&["v5.channel.k8s.io, channel.k8s.io,v4.channel.k8s.io"]),
            Ok("channel.k8s.io")
        );
        assert_eq!(offering(&[]), Err(StatusCode::BAD_REQUEST));
        assert_eq!(offering(&[" , "]), Err(StatusCode::BAD_REQUEST));
        assert_eq!(offering(&["chat"]), Err(StatusCode::FORBIDDEN));
        let elsewhere = [
            ("connection", "Upgrade"),
            ("upgrade", "h2c"),
            ("x-stream-protocol-version", "channel.k8s.io"),
        ];
        assert_eq!(choose(&elsewhere), Err(StatusCode::BAD_REQUEST));
    }
}
