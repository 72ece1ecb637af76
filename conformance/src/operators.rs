//! Definitions like those of large operators, made by code: whole pod templates, deep nesting, composite keys, half a megabyte
//! of schema. They are installed and used; `operators.recorded.json` has the responses of the real server.

mod definitions;
mod objects;
mod schemas;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, WARNING};
use http::{Method, Request};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::sleep;

use crate::corpus::home;
use crate::embedded::Embedded;
use crate::target::{Target, TransportError};
pub use definitions::{GROUP, definitions};

/// The interval at which the server is asked whether it serves a new kind.
const POLL: Duration = Duration::from_millis(100);

/// How often the server is asked at most.
const POLLS: usize = 300;

/// The reason why the definitions could not be tried.
#[derive(Debug, Error)]
pub enum OperatorsError {
    /// The server does not answer.
    #[error("no answer")]
    Transport(#[source] TransportError),
    /// The schemas of pods cannot be read.
    #[error("the embedded server has no schema of pod templates")]
    NoPodTemplate,
    /// A definition is refused.
    #[error("{0} is refused: {1}")]
    Refused(String, Value),
    /// A kind is not served.
    #[error("{0} is not served: {1}")]
    NotServed(String, Value),
}

/// The path of the recorded responses.
pub fn recording() -> PathBuf {
    home().join("operators.recorded.json")
}

/// The recorded responses.
pub fn recorded() -> Value {
    let text = fs::read_to_string(recording()).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Installs every definition, uses it, removes it, and returns the server's responses.
pub async fn play(target: &dyn Target) -> Result<Value, OperatorsError> {
    let definitions = definitions(&pod_template().await?);
    let mut facts = Vec::new();
    for definition in &definitions {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("{DEFINITIONS}/{name}");
        let (status, answer, warnings) = send(target, Method::POST, DEFINITIONS, JSON, definition).await?;
        let installed = json!({"install": name, "status": status, "message": answer["message"], "warnings": warnings,
            "schemas unchanged": answer["spec"]["versions"] == definition["spec"]["versions"]});
        facts.push(installed);
        if status != 201 {
            return Err(OperatorsError::Refused(name.to_owned(), answer["message"].clone()));
        }
        served(target, definition).await?;
        for attempt in objects::attempts(definition) {
            let (status, answer, warnings) = send(
                target,
                attempt.method,
                &attempt.path,
                attempt.content_type,
                &attempt.body,
            )
            .await?;
            let kept = attempt.body["spec"] == answer["spec"];
            facts.push(
                json!({"attempt": attempt.title, "status": status, "message": answer["message"],
                "warnings": warnings, "spec as sent": kept, "shown": answer.pointer(attempt.shown)}),
            );
        }
        send(target, Method::DELETE, &path, JSON, &Value::Null).await?;
    }
    Ok(Value::Array(facts))
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const JSON: &str = "application/json";

/// The complete schema of a pod template, from the `OpenAPI` documents of the built-in kinds.
async fn pod_template() -> Result<Value, OperatorsError> {
    let embedded = Embedded::start();
    let (_, document, _) = send(&*embedded, Method::GET, "/openapi/v3/api/v1", JSON, &Value::Null).await?;
    let components = &document["components"]["schemas"];
    schemas::inlined(components, "io.k8s.api.core.v1.PodTemplateSpec").ok_or(OperatorsError::NoPodTemplate)
}

async fn served(target: &dyn Target, definition: &Value) -> Result<(), OperatorsError> {
    let (plural, spec) = (&definition["spec"]["names"]["plural"], &definition["spec"]);
    for version in spec["versions"].as_array().into_iter().flatten() {
        let version = version["name"].as_str().unwrap_or_default();
        let path = format!("/apis/{GROUP}/{version}/{}", plural.as_str().unwrap_or_default());
        let mut looks = 0;
        loop {
            let (status, answer, _) = send(target, Method::GET, &path, JSON, &Value::Null).await?;
            if status == 200 {
                break;
            }
            looks += 1;
            if looks == POLLS {
                return Err(OperatorsError::NotServed(path, answer));
            }
            sleep(POLL).await;
        }
    }
    Ok(())
}

async fn send(
    target: &dyn Target,
    method: Method,
    path: &str,
    content_type: &'static str,
    body: &Value,
) -> Result<(u16, Value, Vec<String>), OperatorsError> {
    let body = if body.is_null() {
        Bytes::new()
    } else {
        Bytes::from(body.to_string())
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(CONTENT_TYPE, content_type);
    let request = request
        .body(body)
        .map_err(|error| OperatorsError::Transport(error.into()))?;
    let answer = target.send(request).await.map_err(OperatorsError::Transport)?;
    let status = answer.status().as_u16();
    let warnings = answer
        .headers()
        .get_all(WARNING)
        .iter()
        .map(|warning| String::from_utf8_lossy(warning.as_bytes()).into_owned())
        .collect();
    let bytes = answer
        .into_body()
        .collect()
        .await
        .map_err(OperatorsError::Transport)?
        .to_bytes();
    Ok((status, serde_json::from_slice(&bytes).unwrap_or_default(), warnings))
}
