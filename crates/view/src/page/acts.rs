//! What a page asks of the cluster: writes, by POST alone; and what is read past the model.

use std::sync::Arc;

use futures_util::StreamExt as _;
use http::StatusCode;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use kubewright_codec::yaml::decode;
use kubewright_runtime::serve::{HttpResponse, ResponseBody};
use kubewright_runtime::stop::Stop;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::query::Query;
use super::respond::{json_answer, json_page, refused, typed};
use crate::actions::{Cluster, Edit, ObjectName, Propagation, Refusal, WantedLog};
use crate::model::{SharedModel, yaml};

/// An object before and after an edit is shorter.
const LONGEST_BODY: usize = 8 << 20;
/// As many lines of a log are shown from the beginning, and as many bytes in all.
const LOG_LINES: u32 = 500;
const MOST_LOG_BYTES: usize = 4 << 20;

/// The cluster of a page.
pub(super) struct Acts {
    pub(super) cluster: Arc<dyn Cluster>,
    pub(super) model: SharedModel,
    pub(super) stop: Stop,
}

#[derive(Deserialize)]
struct EditRequest {
    /// YAML as it was shown; missing for an object that is new.
    base: Option<String>,
    edited: String,
}

#[derive(Deserialize)]
struct ScaleRequest {
    uid: String,
    replicas: u32,
}

#[derive(Deserialize)]
struct DeleteRequest {
    uid: String,
    #[serde(default)]
    propagation: Propagation,
}

#[derive(Deserialize)]
struct RevealRequest {
    uid: String,
}

#[derive(Deserialize)]
struct ForkRequest {
    revision: u64,
}

impl Acts {
    /// Whether a path is one that something is sent to.
    pub(super) fn takes(path: &str) -> bool {
        ["apply", "scale", "delete", "reveal", "fork"]
            .iter()
            .any(|act| path.strip_prefix("/api/") == Some(*act))
    }

    /// Does what is asked for.
    pub(super) async fn act(&self, path: &str, body: Incoming) -> HttpResponse {
        let Ok(body) = Limited::new(body, LONGEST_BODY).collect().await else {
            return refused(StatusCode::PAYLOAD_TOO_LARGE, "no object is that long");
        };
        let body = body.to_bytes();
        let done = match path {
            "/api/apply" => return self.apply(&body).await,
            "/api/scale" => self.scale(&body).await,
            "/api/delete" => self.delete(&body).await,
            "/api/reveal" => self.reveal(&body).await,
            _ => self.fork(&body).await,
        };
        done.map_or_else(|refusal| said(&refusal, &json!(refusal)), |done| json_page(&done))
    }

    async fn apply(&self, body: &[u8]) -> HttpResponse {
        let request: EditRequest = match read(body) {
            Ok(request) => request,
            Err(refusal) => return said(&refusal, &json!(refusal)),
        };
        match self.edit(&request).await {
            Ok(done) => json_page(&done),
            // Beside the fields as they were typed.
            Err(refusal) => {
                let mut shown = json!(refusal);
                for field in shown["fields"].as_array_mut().into_iter().flatten() {
                    let name = field["field"].as_str().unwrap_or_default();
                    field["line"] = yaml::line_of(&request.edited, name).into();
                }
                shown["line"] = line_in(&refusal.message).into();
                said(&refusal, &shown)
            }
        }
    }

    async fn edit(&self, request: &EditRequest) -> Result<Value, Refusal> {
        let object = |text: &str| match decode(text.as_bytes()) {
            Ok(decoded) => Ok(decoded.value),
            Err(error) => Err(Refusal::bad_request(error.to_string())),
        };
        let base = request.base.as_deref().map(object).transpose()?;
        let edited = object(&request.edited)?;
        let after = self.cluster.apply(Edit { base, edited }).await?;
        Ok(json!({ "uid": after["metadata"]["uid"], "resourceVersion": after["metadata"]["resourceVersion"] }))
    }

    async fn scale(&self, body: &[u8]) -> Result<Value, Refusal> {
        let request: ScaleRequest = read(body)?;
        let object = self.object(&request.uid)?;
        self.cluster.scale(&object, request.replicas).await?;
        Ok(json!({}))
    }

    async fn delete(&self, body: &[u8]) -> Result<Value, Refusal> {
        let request: DeleteRequest = read(body)?;
        let object = self.object(&request.uid)?;
        self.cluster.delete(&object, &request.uid, request.propagation).await?;
        Ok(json!({}))
    }

    /// An object with what the model does not keep.
    async fn reveal(&self, body: &[u8]) -> Result<Value, Refusal> {
        let request: RevealRequest = read(body)?;
        let object = self.cluster.read(&self.object(&request.uid)?).await?;
        let managed = yaml::managed(&object);
        Ok(json!({ "yaml": yaml::text(&managed.lines), "lines": managed.lines, "managers": managed.managers }))
    }

    async fn fork(&self, body: &[u8]) -> Result<Value, Refusal> {
        let request: ForkRequest = read(body)?;
        Ok(json!(self.cluster.fork(request.revision).await?))
    }

    /// What was said about an object.
    pub(super) async fn events(&self, query: &Query<'_>) -> HttpResponse {
        let uid = query.text("uid");
        let events = async { self.cluster.events(&self.object(&uid)?, &uid).await };
        match events.await {
            Ok(events) => json_page(&json!({ "events": events })),
            Err(refusal) => said(&refusal, &json!(refusal)),
        }
    }

    /// The log of a container, as it is written.
    pub(super) async fn logs(&self, query: &Query<'_>) -> HttpResponse {
        let container = query.text("container");
        let wanted = WantedLog {
            container: (!container.is_empty()).then_some(container),
            follows: query.text("follow") == "true",
            tail: LOG_LINES,
            is_previous: query.text("previous") == "true",
        };
        let lines = async { self.cluster.logs(&self.object(&query.text("uid"))?, &wanted).await };
        let lines = match lines.await {
            Ok(lines) => lines,
            Err(refusal) => return said(&refusal, &json!(refusal)),
        };
        let stop = self.stop.clone();
        // One that breaks, or is too long, ends there.
        let pieces = lines
            .scan(MOST_LOG_BYTES, |left, piece| {
                let piece = piece.ok().filter(|_| *left > 0);
                *left = left.saturating_sub(piece.as_ref().map_or(0, bytes::Bytes::len));
                std::future::ready(piece)
            })
            .take_until(Box::pin(async move { stop.stopped().await }));
        typed(
            StatusCode::OK,
            "text/plain; charset=utf-8",
            ResponseBody::stream(pieces),
        )
    }

    /// The object that the model knows by its uid.
    fn object(&self, uid: &str) -> Result<ObjectName, Refusal> {
        let found = self.model.read(|model| {
            let version = model.archive.at(uid, u64::MAX)?;
            Some(version.summary.object_name())
        });
        found.ok_or_else(|| Refusal::new(404, "NotFound", "the object is not known"))
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| Refusal::bad_request(error.to_string()))
}

/// A refusal, under its own code.
fn said(refusal: &Refusal, shown: &Value) -> HttpResponse {
    let code = StatusCode::from_u16(refusal.code).ok();
    let code = code.filter(|code| code.is_client_error() || code.is_server_error());
    json_answer(code.unwrap_or(StatusCode::BAD_GATEWAY), shown)
}

/// The line, counted from 0, that a mistake in YAML is said to be on.
fn line_in(message: &str) -> Option<usize> {
    let (_, rest) = message.split_once("yaml: line ")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse::<usize>().ok()?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_yaml_names_its_line() {
        let error = decode(b"a: 1\nb: [\nc: 2\n").err().unwrap().to_string();
        assert!(line_in(&error).is_some(), "{error}");
        assert_eq!(line_in("no such thing"), None);
    }
}
