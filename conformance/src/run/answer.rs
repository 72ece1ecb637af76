//! What is noted of an answer.

use std::io::Read;

use flate2::read::GzDecoder;
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, Response};
use http_body_util::BodyExt;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::{PATIENCE, StepError};
use crate::target::StreamingBody;

/// The headers that clients read. Others belong to the transport or to the implementation of a server.
const COMPARED_HEADERS: [&str; 12] = [
    "allow",
    "cache-control",
    "content-encoding",
    "content-type",
    "etag",
    "last-modified",
    "location",
    "retry-after",
    "vary",
    "warning",
    "www-authenticate",
    "x-content-type-options",
];

pub(super) fn compared(headers: &HeaderMap, more: &[&'static str]) -> Value {
    let mut noted = Map::new();
    for name in COMPARED_HEADERS.iter().chain(more).copied() {
        let mut values: Vec<Value> = headers
            .get_all(name)
            .iter()
            .map(|value| json!(String::from_utf8_lossy(value.as_bytes())))
            .collect();
        match values.len() {
            0 => {}
            1 => drop(noted.insert(name.to_owned(), values.remove(0))),
            _ => drop(noted.insert(name.to_owned(), Value::Array(values))),
        }
    }
    if headers.contains_key("audit-id") {
        noted.insert("audit-id".to_owned(), json!("<present>"));
    }
    Value::Object(noted)
}

/// The whole body as `{"body": …}`: as JSON if it is that, otherwise as text. An empty body is left out.
pub(super) async fn content(answer: Response<StreamingBody>) -> Result<Value, StepError> {
    let zipped = answer
        .headers()
        .get(CONTENT_ENCODING)
        .is_some_and(|encoding| encoding == "gzip");
    let collected = timeout(PATIENCE, answer.into_body().collect())
        .await
        .map_err(|_| StepError::Hang)?;
    let mut bytes = collected.map_err(StepError::Transport)?.to_bytes().to_vec();
    if zipped {
        let mut plain = Vec::new();
        GzDecoder::new(bytes.as_slice())
            .read_to_end(&mut plain)
            .map_err(|error| StepError::Transport(error.into()))?;
        bytes = plain;
    }
    if bytes.is_empty() {
        return Ok(json!({}));
    }
    Ok(match serde_json::from_slice::<Value>(&bytes) {
        Ok(value) => json!({"body": value}),
        Err(_) => json!({"body": String::from_utf8_lossy(&bytes)}),
    })
}

pub(super) fn into_map(value: Value) -> Map<String, Value> {
    if let Value::Object(map) = value {
        map
    } else {
        Map::new()
    }
}
