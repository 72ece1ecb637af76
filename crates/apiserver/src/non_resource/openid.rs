//! What verifiers of service account tokens elsewhere ask for: who issues them, and the keys to verify them with (H13).

use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, header};

use crate::access::tokens::Signer;
use crate::server::Server;
use crate::wire::body::Body;
use crate::wire::negotiate::{self, Output};
use crate::wire::respond;
use crate::wire::status::Status;

/// The path of the keys, which the configuration names.
const KEYS: &str = "/openid/v1/jwks";

/// Answers a path of `OpenID` discovery; `None` for any other path, and where the issuer is none whom discovery knows.
pub(super) fn answer(server: &Server, parts: &Parts, path: &str, fallback: Output) -> Option<Response<Body>> {
    let (body, content_type) = match path.strip_suffix('/').unwrap_or(path) {
        "/.well-known/openid-configuration" => (configuration(server)?, "application/json"),
        KEYS => (keys(&server.signer)?, "application/jwk-set+json"),
        _ => return None,
    };
    if parts.method != Method::GET {
        return Some(respond::refuse(&Status::method_not_allowed(), fallback, &[]));
    }
    if !negotiate::accepts(&parts.headers, content_type) {
        return Some(respond::refuse(
            &Status::only_represented_as(content_type),
            fallback,
            &[],
        ));
    }
    let mut response = respond::text(StatusCode::OK, body);
    let headers = response.headers_mut();
    headers.remove(header::X_CONTENT_TYPE_OPTIONS);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    Some(response)
}

/// The configuration of the issuer. Upstream serves none for an issuer that is no address of HTTPS.
fn configuration(server: &Server) -> Option<String> {
    let issuer = server.signer.issuer();
    if !issuer.starts_with("https://") {
        return None;
    }
    let mut algorithms: Vec<&str> = server.signer.keys()?.iter().map(|key| key.algorithm).collect();
    algorithms.sort_unstable();
    algorithms.dedup();
    let key_set = server.signer.settings().key_set_uri.clone().unwrap_or_else(|| {
        let address = server.advertised.get().map_or("127.0.0.1:6443", String::as_str);
        format!("https://{address}{KEYS}")
    });
    let text = |value: &str| serde_json::Value::from(value).to_string();
    let algorithms: Vec<String> = algorithms.into_iter().map(text).collect();
    Some(format!(
        r#"{{"issuer":{},"jwks_uri":{},"response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":[{}]}}"#,
        text(issuer),
        text(&key_set),
        algorithms.join(",")
    ))
}

fn keys(signer: &Signer) -> Option<String> {
    signer.issuer().strip_prefix("https://")?;
    signer.key_set()
}
