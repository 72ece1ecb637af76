//! From a handler's answer to an HTTP response: encoding, view, warnings, compression (H5, H8, H9, H12).

use std::collections::HashSet;
use std::io::Write as _;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use kubewright_codec::{json, yaml};
use kubewright_schema::Types;
use kubewright_schema::protobuf::{self, ProtobufError};
use serde_json::{Map, Value};

use super::body::Body;
use super::negotiate::{self, Encoding, Output, PROTOBUF, View};
use crate::object;
use crate::registry::Subresource;
use crate::request::route::Target;
use crate::wire::status::{Result, Status, Verbatim};
use crate::write::decode::internal_package;

/// What a handler answers: JSON text, which is the stored text where possible.
pub(crate) struct Reply {
    pub(crate) code: StatusCode,
    pub(crate) json: Bytes,
    types: GoTypes,
    /// Whether the text is a Table already.
    pub(crate) is_table: bool,
}

/// The Go types that upstream has of what is answered, which some refusals name.
#[derive(Clone, Copy, Default)]
pub(crate) enum GoTypes {
    /// The internal types of a built-in.
    #[default]
    Internal,
    /// Those of a version: the Scale of a custom resource.
    Versioned,
    /// None: a custom resource.
    Unstructured,
}

impl GoTypes {
    pub(crate) fn of(target: &Target<'_>) -> Self {
        match target.subresource {
            _ if target.resource.custom().is_none() => GoTypes::Internal,
            Some(Subresource::Scale) => GoTypes::Versioned,
            _ => GoTypes::Unstructured,
        }
    }
}

impl Reply {
    pub(crate) fn new(code: StatusCode, json: impl Into<Bytes>) -> Self {
        Reply {
            code,
            json: json.into(),
            types: GoTypes::default(),
            is_table: false,
        }
    }

    /// An answer that is a Table.
    pub(crate) fn table(json: impl Into<Bytes>) -> Self {
        Reply {
            is_table: true,
            ..Reply::new(StatusCode::OK, json)
        }
    }

    /// The same answer, of these types.
    pub(crate) fn of_types(self, types: GoTypes) -> Self {
        Reply { types, ..self }
    }

    pub(crate) fn value(code: StatusCode, value: &Value) -> Self {
        Reply::new(code, text_of(value))
    }
}

/// Responses smaller than this are not worth compressing (H9).
const GZIP_FROM: usize = 128 * 1024;

/// Writes an answer as the client asked for it.
pub(crate) fn respond(reply: Reply, output: Output, request: &HeaderMap, warnings: &[String]) -> Response<Body> {
    let Reply { code, json, types, .. } = reply;
    let (body, content_type) = match encode(&json, output, types) {
        Ok(Some(encoded)) => encoded,
        Ok(None) => (json, "application/json"),
        Err(status) => return refuse(&status, negotiate::fallback(request, None), warnings),
    };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    warn(headers, warnings);
    let body = if body.len() > GZIP_FROM && accepts_gzip(request) {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        gzip(&body)
    } else {
        body
    };
    headers.insert(header::CONTENT_LENGTH, body.len().into());
    *response.body_mut() = body.into();
    response
}

/// The Status of a refusal, as JSON, whatever it is encoded in: for the audit log.
#[derive(Clone)]
pub(crate) struct Refusal(pub(crate) Bytes);

/// An answer as JSON, in the form that was asked for.
pub(crate) fn as_json(reply: &Reply, output: Output) -> Bytes {
    let output = Output {
        encoding: Encoding::Json,
        pretty: false,
        ..output
    };
    match encode(&reply.json, output, reply.types) {
        Ok(Some((json, _))) => json,
        Ok(None) | Err(_) => reply.json.clone(),
    }
}

/// Writes a refusal.
pub(crate) fn refuse(status: &Status, output: Output, warnings: &[String]) -> Response<Body> {
    if let Some(Verbatim::Text(body)) = &status.verbatim {
        let mut response = text(status.code, body.clone());
        response.headers_mut().remove(header::X_CONTENT_TYPE_OPTIONS);
        return response;
    }
    let reply = Reply::value(status.code, &status.to_value());
    let json = reply.json.clone();
    let mut response = respond(
        reply,
        Output {
            view: View::Whole,
            ..output
        },
        &HeaderMap::new(),
        warnings,
    );
    response.extensions_mut().insert(Refusal(json));
    if let Some(seconds) = status
        .details
        .as_ref()
        .map(|details| details.retry_after_seconds)
        .filter(|s| *s > 0)
    {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// A plain-text response.
pub(crate) fn text(code: StatusCode, body: impl Into<Bytes>) -> Response<Body> {
    let body = body.into();
    let mut response = Response::new(Body::empty());
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    headers.insert(header::CONTENT_LENGTH, body.len().into());
    *response.body_mut() = body.into();
    response
}

/// What Go's HTTP server says of a path that it does not know.
pub(crate) fn page_not_found() -> Response<Body> {
    text(StatusCode::NOT_FOUND, "404 page not found\n")
}

/// A value's JSON text as Go writes it, with its final newline: an object of a known kind by its type.
pub(crate) fn text_of(value: &Value) -> Vec<u8> {
    let mut text = Vec::with_capacity(512);
    kubewright_schema::write_object_json(Types::builtin(), value, &mut text);
    text.push(b'\n');
    text
}

/// The text in another form than compact JSON of the whole object; `None` when that is what is wanted.
fn encode(json: &[u8], output: Output, types: GoTypes) -> Result<Option<(Bytes, &'static str)>> {
    // A Table has been made of it already.
    if matches!(output.view, View::Whole | View::Table { .. }) && output.encoding == Encoding::Json {
        if !output.pretty {
            return Ok(None);
        }
        let mut text = Vec::with_capacity(json.len() * 2);
        json::indent(json, &mut text);
        return Ok(Some((text.into(), "application/json")));
    }
    let value = object::parsed(json);
    let value = view(value, output.view, types)?;
    Ok(Some(match output.encoding {
        Encoding::Yaml => (yaml::encode(&value).into(), "application/yaml"),
        Encoding::Protobuf => (to_protobuf(&value)?.into(), PROTOBUF),
        Encoding::Json if output.pretty => {
            let mut text = Vec::new();
            json::indent(&text_of(&value), &mut text);
            (text.into(), "application/json")
        }
        Encoding::Json => (text_of(&value).into(), "application/json"),
    }))
}

/// An object in protobuf, in its envelope (H6).
pub(crate) fn to_protobuf(object: &Value) -> Result<Vec<u8>> {
    protobuf::encode_object(Types::builtin(), object).map_err(|error| match error {
        ProtobufError::NotAMessage(_) => Status::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", error.to_string()),
        other => Status::internal(&other.to_string()),
    })
}

/// The part of an object (or of a list's objects) that a client asked for.
pub(crate) fn view(value: Value, view: View, types: GoTypes) -> Result<Value> {
    let is_status = value.get("kind").and_then(Value::as_str) == Some("Status");
    let is_list = value.get("items").is_some_and(Value::is_array);
    match view {
        _ if is_status => Ok(value),
        // A Table has been made of it already.
        View::Whole | View::Table { .. } => Ok(value),
        View::Metadata { version } if !is_list => Ok(partial(value, version, true)),
        View::MetadataList { version } if is_list => {
            let Value::Object(mut list) = value else {
                return Ok(value);
            };
            let Some(Value::Array(items)) = list.remove("items") else {
                return Ok(Value::Object(list));
            };
            if let Some(metadata) = list.get_mut("metadata").and_then(Value::as_object_mut)
                && metadata.get("continue").and_then(Value::as_str) == Some("")
            {
                metadata.remove("continue");
            }
            list.insert("kind".into(), "PartialObjectMetadataList".into());
            list.insert("apiVersion".into(), format!("meta.k8s.io/{version}").into());
            // Upstream collects the items in a slice that nothing has made yet.
            let partials = match items.len() {
                0 => Value::Null,
                _ => items.into_iter().map(|item| partial(item, version, true)).collect(),
            };
            list.insert("items".into(), partials);
            Ok(Value::Object(list))
        }
        View::Metadata { .. } | View::MetadataList { .. } => Err(no_such_view(&value, is_list, types)),
    }
}

/// The refusal of metadata of one object where there is a list, or of many where there is one.
fn no_such_view(value: &Value, is_list: bool, types: GoTypes) -> Box<Status> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    let go_type = match types {
        GoTypes::Unstructured if is_list => "unstructured.UnstructuredList".to_owned(),
        GoTypes::Unstructured => {
            return Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", "content is not a list");
        }
        GoTypes::Versioned => format!("{version}.{}", text("kind")),
        GoTypes::Internal => format!("{}.{}", internal_package(group), text("kind")),
    };
    let (view, found) = if is_list {
        ("PartialObjectMetadata", "a list")
    } else {
        ("PartialObjectMetadataList", "not a list")
    };
    let message = format!("you requested {view}, but the requested object is {found} (*{go_type})");
    Status::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
}

fn partial(object: Value, version: &str, with_type: bool) -> Value {
    let mut partial = Map::new();
    if with_type {
        partial.insert("kind".into(), "PartialObjectMetadata".into());
        partial.insert("apiVersion".into(), format!("meta.k8s.io/{version}").into());
    }
    if let Value::Object(mut object) = object {
        let is_daemon_set = object.get("kind").is_none_or(|kind| kind == "DaemonSet");
        let mut metadata = object.remove("metadata").unwrap_or_default();
        if is_daemon_set {
            without_template_generation(&mut metadata);
        }
        partial.insert("metadata".into(), metadata);
    }
    Value::Object(partial)
}

/// The annotation that conversion gives every `DaemonSet` of `apps/v1` is not part of its metadata.
fn without_template_generation(metadata: &mut Value) {
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove("deprecated.daemonset.template.generation");
        if annotations.is_empty()
            && let Some(metadata) = metadata.as_object_mut()
        {
            metadata.remove("annotations");
        }
    }
}

/// Sends each warning once. If they are too long in total, each is cut, and those that do not fit are left out (H12).
pub(crate) fn warn(headers: &mut HeaderMap, warnings: &[String]) {
    const ALL: usize = 4096;
    const EACH_ONCE_CUT: usize = 256;
    let length = |text: &str| text.chars().count();
    let mut seen: HashSet<&str> = HashSet::new();
    let mut told: Vec<&str> = Vec::new();
    let (mut written, mut cutting) = (0, false);
    for warning in warnings.iter().filter(|warning| !warning.is_empty()) {
        if cutting && written >= ALL {
            break;
        }
        if !seen.insert(warning) {
            continue;
        }
        told.push(warning);
        if cutting {
            written += length(warning).min(EACH_ONCE_CUT);
        } else if written + length(warning) <= ALL {
            written += length(warning);
        } else {
            cutting = true;
            written = told.iter().map(|text| length(text).min(EACH_ONCE_CUT)).sum();
        }
    }
    for text in told {
        let most = if cutting { EACH_ONCE_CUT } else { usize::MAX };
        let mut shown = String::with_capacity(text.len().min(2 * EACH_ONCE_CUT));
        for c in text.chars().take(most) {
            match c {
                '\\' | '"' => shown.extend(['\\', c]),
                c if c.is_control() => shown.push(' '),
                c => shown.push(c),
            }
        }
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{shown}\"").as_bytes()) {
            headers.append(header::WARNING, value);
        }
    }
}

/// Whether a client takes compressed answers.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|coding| coding.trim() == "gzip")
}

fn gzip(body: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    // Writing into a Vec cannot fail.
    let _ = encoder.write_all(body);
    encoder.finish().unwrap_or_default().into()
}
