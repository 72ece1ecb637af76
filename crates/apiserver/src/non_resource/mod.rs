//! Paths outside the resource tree: discovery, `OpenAPI`, health, version, metrics.

mod component;
pub(crate) mod discovery;
pub(crate) mod health;
pub(crate) mod openapi;
mod openid;
pub(crate) mod version;

use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::aggregation::ApiServiceSet;
use crate::custom::ServedResources;
use crate::non_resource::openapi::{Document, Sources};
use crate::registry::{Registry, Resource};
use crate::server::Server;
use crate::wire::body::Body;
use crate::wire::negotiate::{self, Encoding, Output, joined};
use crate::wire::query::Query;
use crate::wire::respond::{self, Reply};
use crate::wire::status::Status;

/// Answers a path that names no resource.
pub(crate) fn answer(server: &Server, parts: &Parts, path: &str, query: &Query) -> Response<Body> {
    if let Some(response) = health::answer(path, query) {
        return response;
    }
    let pretty = query
        .flag("pretty")
        .unwrap_or_else(|| negotiate::asks_from_a_terminal(&parts.headers));
    let fallback = negotiate::fallback(&parts.headers, query.flag("pretty"));
    let page = component::answer(server, &parts.method, path, &parts.headers)
        .or_else(|| openid::answer(server, parts, path, fallback));
    if let Some(response) = page {
        return response;
    }
    let sources = Sources::of(server);
    let (defined, services) = (&*sources.served, &*sources.services);
    let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let found = match segments.as_slice() {
        [] => {
            let paths = respond::text_of(&root(defined, services));
            return indented(paths.trim_ascii_end(), parts);
        }
        // Upstream's router has these for GET alone; what lists groups is outside it.
        segments if parts.method != Method::GET && is_routed(segments, defined) => {
            return respond::refuse(&Status::method_not_allowed(), fallback, &[]);
        }
        ["version"] if negotiate::accepts_json(&parts.headers) => return indented(&version::text(), parts),
        ["version"] => return respond::refuse(&Status::only_represented_as("application/json"), fallback, &[]),
        ["metrics"] => return metrics(server),
        ["api", ..] if defined.without_built_ins => None,
        ["api" | "apis"] if wants_aggregated(parts) => {
            let groups = discovery::aggregated(defined, services, segments[0] == "api");
            return aggregated(&groups, parts, pretty);
        }
        ["api"] => Some(discovery::core_versions(
            server.advertised.get().map_or("127.0.0.1:6443", String::as_str),
        )),
        ["apis"] => Some(discovery::groups(defined, services)),
        ["api", version] => match discovery::resources(defined, "", version) {
            Some(list) => Some(list),
            None => return respond::refuse(&Status::no_such_path(), fallback, &[]),
        },
        ["apis", group] => discovery::group(defined, services, group),
        ["apis", group, version] => match discovery::resources(defined, group, version) {
            Some(list) => Some(list),
            None if !defined.without_built_ins && Registry::builtin().serves_group(group) => {
                return respond::refuse(&Status::no_such_path(), fallback, &[]);
            }
            None => None,
        },
        // The addresses of documents are exact.
        ["openapi", "v3", ..] if parts.uri.path().ends_with('/') => return nothing(StatusCode::NOT_FOUND),
        ["openapi", "v2"] if parts.uri.path().ends_with('/') => None,
        ["openapi", "v2"] => return openapi_v2(server, &sources, parts),
        ["openapi", "v3"] => return openapi_index(server, &sources),
        ["openapi", "v3", path @ ..] => {
            let mut response = openapi_document(server, &sources, &path.join("/"), query, parts);
            date(server, &sources, &mut response);
            return response;
        }
        _ => None,
    };
    let Some(value) = found else {
        return respond::page_not_found();
    };
    let negotiated = match segments.as_slice() {
        ["apis"] | ["apis", _] => negotiate::unrouted(&parts.headers, query.flag("pretty")),
        _ => negotiate::unchanged(&parts.headers, query.flag("pretty")),
    };
    match negotiated {
        Ok(output) => respond::respond(Reply::value(StatusCode::OK, &value), output, &parts.headers, &[]),
        Err(status) => respond::refuse(&status, fallback, &[]),
    }
}

/// What is no object of the API has one form, which is always indented.
fn indented(json: &[u8], parts: &Parts) -> Response<Body> {
    let mut text = Vec::new();
    kubewright_codec::json::indent(json, &mut text);
    respond::respond(Reply::new(StatusCode::OK, text), Output::JSON, &parts.headers, &[])
}

/// Whether a path is one of the router's own: the version, and the documents of built-in group-versions.
fn is_routed(segments: &[&str], defined: &ServedResources) -> bool {
    let built_in = |group: &str, version: &str| {
        let has = |resource: &Resource| &*resource.group == group && &*resource.version == version;
        !defined.without_built_ins && Registry::builtin().iter().any(|resource| has(resource))
    };
    match segments {
        ["version"] => true,
        ["api"] => !defined.without_built_ins,
        ["api", version] => built_in("", version),
        ["apis", group, version] => built_in(group, version),
        _ => false,
    }
}

/// Every path, for people who start at the root.
fn root(defined: &ServedResources, services: &ApiServiceSet) -> Value {
    let mut paths: Vec<String> = ["/apis", "/apis/"].map(str::to_owned).to_vec();
    if !defined.without_built_ins {
        paths.extend(["/api", "/api/v1"].map(str::to_owned));
    }
    for group in discovery::group_names(defined) {
        paths.push(format!("/apis/{group}"));
        for version in discovery::versions(defined, group) {
            paths.push(format!("/apis/{group}/{version}"));
        }
    }
    for remote in services.remotes() {
        paths.push(format!("/apis/{}", remote.group));
        paths.push(format!("/apis/{}/{}", remote.group, remote.version));
    }
    paths.extend(
        [
            "/.well-known/openid-configuration",
            "/flagz",
            "/healthz",
            "/livez",
            "/metrics",
            "/metrics/slis",
            "/openapi/v2",
            "/openapi/v3",
            "/openapi/v3/",
            "/openid/v1/jwks",
            "/readyz",
            "/statusz",
            "/version",
        ]
        .map(str::to_owned),
    );
    paths.extend(health::paths());
    paths.sort();
    paths.dedup();
    json!({ "paths": paths })
}

fn metrics(server: &Server) -> Response<Body> {
    let mut text = server.metrics.render(&server.store, &server.definitions.served());
    text.push_str(&server.aggregation.set().metrics());
    metrics_text(text)
}

/// Metrics in the format of Prometheus.
fn metrics_text(text: String) -> Response<Body> {
    let mut response = respond::text(StatusCode::OK, text);
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

fn aggregated(groups: &Value, parts: &Parts, pretty: bool) -> Response<Body> {
    let mut text = Vec::new();
    kubewright_schema::openapi::write_discovery(groups, &mut text);
    text.push(b'\n');
    let document = Document::of(text);
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

const SWAGGER_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const DOCUMENT_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";

/// One document for everything, in JSON or, for older clients, in protobuf.
fn openapi_v2(server: &Server, sources: &Sources, parts: &Parts) -> Response<Body> {
    let document = server.documents.swagger(sources);
    let etag = format!("\"{}\"", document.hash);
    let mut response = if joined(&parts.headers, header::IF_NONE_MATCH).contains(&etag) {
        nothing(StatusCode::NOT_MODIFIED)
    } else {
        match negotiate::openapi_encoding(&parts.headers, "v2") {
            None => nothing(StatusCode::NOT_ACCEPTABLE),
            Some(encoding) => {
                let (bytes, content_type) = match encoding {
                    Encoding::Protobuf => (server.documents.swagger_protobuf(sources), SWAGGER_PROTOBUF),
                    Encoding::Json | Encoding::Yaml => (document.text.clone(), "application/json"),
                };
                let reply = Reply::new(StatusCode::OK, bytes);
                let mut response = respond::respond(reply, Output::JSON, &parts.headers, &[]);
                response
                    .headers_mut()
                    .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
                response
            }
        }
    };
    date(server, sources, &mut response);
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    headers.append(header::VARY, HeaderValue::from_static("Accept"));
    if response.status() != StatusCode::NOT_ACCEPTABLE
        && let Ok(etag) = HeaderValue::from_str(&etag)
    {
        response.headers_mut().insert(header::ETAG, etag);
    }
    response
}

/// A response without a body.
fn nothing(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = code;
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// Says since when a document is what it is.
fn date(server: &Server, sources: &Sources, response: &mut Response<Body>) {
    let modified = server.documents.modified(sources, server.clock.now());
    if let (true, Ok(modified)) = (response.status().is_success(), HeaderValue::from_str(&modified)) {
        response.headers_mut().insert(header::LAST_MODIFIED, modified);
    }
}

fn openapi_index(server: &Server, sources: &Sources) -> Response<Body> {
    let index = openapi::index(sources);
    let length = index.len();
    let mut response = Response::new(Body::from(index));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(header::CONTENT_LENGTH, length.into());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    date(server, sources, &mut response);
    response
}

/// A document under its hashed address may be kept for ever; under another hash it has moved (O3).
fn openapi_document(server: &Server, sources: &Sources, path: &str, query: &Query, parts: &Parts) -> Response<Body> {
    let Some(document) = server.documents.document(path, sources) else {
        return nothing(StatusCode::NOT_FOUND);
    };
    let Some(encoding) = negotiate::openapi_encoding(&parts.headers, "v3") else {
        let mut response = nothing(StatusCode::NOT_ACCEPTABLE);
        response
            .headers_mut()
            .insert(header::VARY, HeaderValue::from_static("Accept"));
        return response;
    };
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
        let bytes = match encoding {
            Encoding::Protobuf => server.documents.protobuf(path, &document, sources),
            Encoding::Json | Encoding::Yaml => document.text.clone(),
        };
        response = respond::respond(Reply::new(StatusCode::OK, bytes), Output::JSON, &parts.headers, &[]);
    }
    let content_type = match encoding {
        Encoding::Protobuf => DOCUMENT_PROTOBUF,
        Encoding::Json | Encoding::Yaml => "application/json",
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    if !asked.is_empty() {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
    }
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        headers.insert(header::ETAG, etag);
    }
    response
}
