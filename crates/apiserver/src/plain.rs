//! Paths outside the resource tree: discovery, `OpenAPI`, health, version, metrics.

use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::discovery;
use crate::health;
use crate::openapi::{self, Document};
use crate::server::Server;
use crate::status::{Details, Status};
use crate::version;
use crate::wire::body::Body;
use crate::wire::negotiate::{self, Output, joined};
use crate::wire::query::Query;
use crate::wire::respond::{self, Reply};

/// Answers a path that names no resource.
pub(crate) fn answer(server: &Server, parts: &Parts, path: &str, query: &Query) -> Response<Body> {
    if let Some(response) = health::answer(path, query) {
        return response;
    }
    let pretty = query
        .flag("pretty")
        .unwrap_or_else(|| negotiate::asks_from_a_terminal(&parts.headers));
    let fallback = negotiate::fallback(&parts.headers, query.flag("pretty"));
    let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let found = match segments.as_slice() {
        [] => Some(root()),
        ["version"] if parts.method != Method::GET => {
            return respond::refuse(&Status::method_not_allowed(), fallback, &[]);
        }
        ["version"] => Some(version::info()),
        ["metrics"] => return metrics(server),
        ["api" | "apis"] if wants_aggregated(parts) => return aggregated(parts, segments[0] == "api", pretty),
        ["api"] => Some(discovery::core_versions(
            server.advertised.get().map_or("127.0.0.1:6443", String::as_str),
        )),
        ["apis"] => Some(discovery::groups()),
        ["api", version] => match discovery::resources("", version) {
            Some(list) => Some(list),
            None => return respond::refuse(&Status::no_such_path(), fallback, &[]),
        },
        ["apis", group] => discovery::group(group),
        ["apis", group, version] => match discovery::resources(group, version) {
            Some(list) => Some(list),
            None if discovery::group(group).is_some() => {
                return respond::refuse(&Status::no_such_path(), fallback, &[]);
            }
            None => None,
        },
        ["openapi", "v3"] => return openapi_index(),
        ["openapi", "v3", path @ ..] => return openapi_document(&path.join("/"), query, parts),
        _ => None,
    };
    let Some(value) = found else {
        return respond::text(StatusCode::NOT_FOUND, "404 page not found\n");
    };
    // What is no object has no other form.
    if matches!(segments.as_slice(), [] | ["version"]) {
        if segments.is_empty() || negotiate::accepts_json(&parts.headers) {
            let output = Output { pretty, ..Output::JSON };
            return respond::respond(Reply::value(StatusCode::OK, &value), output, &parts.headers, &[]);
        }
        let message = "406: Not Acceptable\n\nAvailable representations: application/json";
        let status = Status::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message).with_details(Details::default());
        return respond::refuse(&status, fallback, &[]);
    }
    match negotiate::unchanged(&parts.headers, query.flag("pretty")) {
        Ok(output) => respond::respond(Reply::value(StatusCode::OK, &value), output, &parts.headers, &[]),
        Err(status) => respond::refuse(&status, fallback, &[]),
    }
}

/// Every path, for people who start at the root.
fn root() -> Value {
    let mut paths: Vec<String> = ["/api", "/api/v1", "/apis", "/apis/"].map(str::to_owned).to_vec();
    for served in kubewright_schema::resources()
        .group_versions()
        .filter(|served| !served.group.is_empty())
    {
        paths.push(format!("/apis/{}", served.group));
        paths.push(format!("/apis/{}/{}", served.group, served.version));
    }
    paths.extend(
        [
            "/healthz",
            "/livez",
            "/metrics",
            "/openapi/v3",
            "/openapi/v3/",
            "/readyz",
            "/version",
        ]
        .map(str::to_owned),
    );
    paths.sort();
    paths.dedup();
    json!({ "paths": paths })
}

fn metrics(server: &Server) -> Response<Body> {
    let mut response = respond::text(StatusCode::OK, server.metrics.render(&server.store));
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8; escaping=underscores"),
    );
    response.headers_mut().remove(header::X_CONTENT_TYPE_OPTIONS);
    response
}

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn wants_aggregated(parts: &Parts) -> bool {
    joined(&parts.headers, header::ACCEPT).split(',').any(|clause| {
        let clause: String = clause.chars().filter(|c| !c.is_whitespace()).collect();
        clause.starts_with("application/json;")
            && ["g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"]
                .iter()
                .all(|parameter| clause.split(';').any(|part| part == *parameter))
    })
}

fn aggregated(parts: &Parts, core: bool, pretty: bool) -> Response<Body> {
    let document = Document::of(&discovery::aggregated(core));
    let etag = format!("\"{}\"", document.hash);
    let output = Output { pretty, ..Output::JSON };
    let mut response = if joined(&parts.headers, header::IF_NONE_MATCH).contains(&etag) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        respond::respond(Reply::new(StatusCode::OK, document.text), output, &parts.headers, &[])
    };
    let modified = response.status() != StatusCode::NOT_MODIFIED;
    let headers = response.headers_mut();
    if modified {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(AGGREGATED));
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        headers.insert(header::ETAG, etag);
    }
    response
}

fn openapi_index() -> Response<Body> {
    let mut response = Response::new(Body::from(openapi::index().clone()));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(header::CONTENT_LENGTH, openapi::index().len().into());
    response
}

/// A document under its hashed address may be kept for ever; under another hash it has moved (O3).
fn openapi_document(path: &str, query: &Query, parts: &Parts) -> Response<Body> {
    let Some(document) = openapi::document(path) else {
        return respond::text(StatusCode::NOT_FOUND, "404 page not found\n");
    };
    let accept = joined(&parts.headers, header::ACCEPT);
    let only_protobuf = accept
        .split(',')
        .all(|clause| negotiate::media_type(clause).contains("protobuf"));
    if !accept.is_empty() && only_protobuf {
        let status = Status::new(
            StatusCode::NOT_ACCEPTABLE,
            "NotAcceptable",
            "only application/json is served",
        )
        .with_details(Details::default());
        return respond::refuse(&status, Output::JSON, &[]);
    }
    let etag = format!("\"{}\"", document.hash);
    let asked = query.text("hash");
    let mut response = Response::new(Body::empty());
    if !asked.is_empty() && asked != document.hash {
        *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
        let location = format!("/openapi/v3/{path}?hash={}", document.hash);
        if let Ok(location) = HeaderValue::from_str(&location) {
            response.headers_mut().insert(header::LOCATION, location);
        }
    } else if joined(&parts.headers, header::IF_NONE_MATCH).contains(&etag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        response = respond::respond(
            Reply::new(StatusCode::OK, document.text.clone()),
            Output::JSON,
            &parts.headers,
            &[],
        );
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    if !asked.is_empty() {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
    }
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        headers.insert(header::ETAG, etag);
    }
    response
}
