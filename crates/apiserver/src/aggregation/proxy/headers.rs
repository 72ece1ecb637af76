//! The headers of requests and responses that are passed on.

use std::fmt::Write as _;

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::ProxiedRequest;
use crate::access::User;
use crate::service::headers::{put_client, remove_credentials, remove_hop_by_hop};

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
const REMOTE_USER: HeaderName = HeaderName::from_static("x-remote-user");
const REMOTE_UID: HeaderName = HeaderName::from_static("x-remote-uid");
const REMOTE_GROUP: HeaderName = HeaderName::from_static("x-remote-group");
const REMOTE_EXTRA: &str = "x-remote-extra-";
/// How a protocol begins that is a token.
const TOKEN_PROTOCOL: &str = "base64url.bearer.authorization.k8s.io.";

/// A client's headers as the other server gets them: without credentials and what belongs to the connection, with the user.
pub(super) fn forwarded(request: &ProxiedRequest<'_>) -> HeaderMap {
    let parts = request.head.parts;
    let mut headers = anonymous(request);
    let trailers = headers
        .get_all(header::TE)
        .iter()
        .any(|value| value.to_str().is_ok_and(|value| value.contains("trailers")));
    remove_hop_by_hop(&mut headers);
    if trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
    put_client(&mut headers, parts);
    put_user(&mut headers, request.user);
    headers
}

/// The headers of a request for another protocol, which are all passed on.
pub(super) fn upgrading(request: &ProxiedRequest<'_>) -> HeaderMap {
    let mut headers = anonymous(request);
    put_client(&mut headers, request.head.parts);
    put_user(&mut headers, request.user);
    headers
}

/// A client's headers without those by which this server knew who it is.
fn anonymous(request: &ProxiedRequest<'_>) -> HeaderMap {
    let mut headers = request.head.headers().clone();
    remove_credentials(&mut headers);
    headers.remove(header::HOST);
    // The body is framed anew, by what is known of its length.
    headers.remove(header::CONTENT_LENGTH);
    if request.token_among_protocols {
        remove_token(&mut headers);
    }
    headers.insert(AUDIT_ID, request.audit_id.clone());
    headers
}

/// Removes the token among the protocols of a WebSocket.
fn remove_token(headers: &mut HeaderMap) {
    let protocols: Vec<String> = headers
        .get_all(header::SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|protocol| protocol.trim().to_owned())
        .filter(|protocol| !protocol.starts_with(TOKEN_PROTOCOL))
        .collect();
    headers.remove(header::SEC_WEBSOCKET_PROTOCOL);
    if let Ok(protocols) = HeaderValue::from_str(&protocols.join(","))
        && !protocols.is_empty()
    {
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocols);
    }
}

/// Names the address that the request is sent to, as upstream does.
pub(super) fn put_location(headers: &mut HeaderMap, authority: &str, path: &str) {
    let mut uri = clean(path);
    if path.ends_with('/') {
        uri.push('/');
    }
    let named = [
        (header::HOST, authority),
        (HeaderName::from_static("x-forwarded-uri"), &uri),
        (HeaderName::from_static("x-forwarded-host"), authority),
        (HeaderName::from_static("x-forwarded-proto"), "https"),
    ];
    for (name, value) in named {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
}

/// A path as Go's `path.Join` has it.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Names the user. What a client says about that itself is removed.
pub(in crate::aggregation) fn put_user(headers: &mut HeaderMap, user: &User) {
    let extra: Vec<HeaderName> = headers
        .keys()
        .filter(|name| name.as_str().starts_with(REMOTE_EXTRA))
        .cloned()
        .collect();
    for name in extra.into_iter().chain([REMOTE_USER, REMOTE_UID, REMOTE_GROUP]) {
        headers.remove(name);
    }
    let value = |text: &str| HeaderValue::from_bytes(text.as_bytes()).ok();
    if let Some(name) = value(&user.name) {
        headers.insert(REMOTE_USER, name);
    }
    if let Some(uid) = value(&user.uid).filter(|uid| !uid.is_empty()) {
        headers.insert(REMOTE_UID, uid);
    }
    for group in user.groups.iter().filter_map(|group| value(group)) {
        headers.append(REMOTE_GROUP, group);
    }
    for (key, values) in &user.extra {
        let Ok(name) = HeaderName::from_bytes(format!("{REMOTE_EXTRA}{}", escaped(key)).as_bytes()) else {
            continue;
        };
        for one in values.iter().filter_map(|one| value(one)) {
            headers.append(name.clone(), one);
        }
    }
}

/// The key of an extra field as part of a header's name.
fn escaped(key: &str) -> String {
    let mut text = String::with_capacity(key.len());
    for byte in key.bytes() {
        let is_legal = byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte);
        if is_legal {
            text.push(byte.into());
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// Browsers are told by this server alone whom it talks to.
pub(super) fn remove_cors(headers: &mut HeaderMap) {
    for name in [
        header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        header::ACCESS_CONTROL_ALLOW_METHODS,
        header::ACCESS_CONTROL_ALLOW_ORIGIN,
    ] {
        headers.remove(name);
    }
}
