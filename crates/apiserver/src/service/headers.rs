//! What every proxy of this server does to headers: those of a client on the way to another server, and those of its answer.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::transport::ClientAddress;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The headers that belong to one connection.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "proxy-connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Removes what belongs to one connection: the headers that always do, and those that `Connection` names.
pub(crate) fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .filter(|name| !name.is_empty())
        .collect();
    for name in named.iter().map(String::as_str).chain(HOP_BY_HOP) {
        headers.remove(name);
    }
}

/// Removes what proves to this server who the client is, which is no affair of another one.
pub(crate) fn remove_credentials(headers: &mut HeaderMap) {
    headers.remove(header::AUTHORIZATION);
    let impersonation = headers.keys().filter(|name| name.as_str().starts_with("impersonate-"));
    for name in impersonation.cloned().collect::<Vec<HeaderName>>() {
        headers.remove(name);
    }
}

/// Names the client's address, behind those of the proxies before.
pub(crate) fn put_client(headers: &mut HeaderMap, parts: &Parts) {
    // Who asks without a socket is on this machine.
    let client = parts.extensions.get::<ClientAddress>();
    let client = client.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |client| client.0);
    let mut text = String::new();
    for prior in headers.get_all(&FORWARDED_FOR) {
        let _ = write!(text, "{}, ", String::from_utf8_lossy(prior.as_bytes()));
    }
    let _ = write!(text, "{client}");
    if let Ok(value) = HeaderValue::from_str(&text) {
        headers.insert(FORWARDED_FOR, value);
    }
}
