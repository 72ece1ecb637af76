//! `ConversionReview` on the wire. What is read and written is what controller-runtime reads and writes.

use serde::{Deserialize as _, Serialize};
use serde_json::{Map, Value};

/// What is asked.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) desired_api_version: String,
    pub(super) objects: Vec<Value>,
}

/// Which review an answer belongs to.
#[derive(Debug)]
pub(super) struct Envelope {
    api_version: Option<String>,
    kind: Option<String>,
    uid: String,
}

/// Reads a review, and nothing behind it. Everything may be missing or null, as for Go.
pub(super) fn read(body: &[u8]) -> Result<(Envelope, Request), String> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let review = Value::deserialize(&mut reader).map_err(|error| error.to_string())?;
    let Value::Object(mut review) = review else {
        return Err("a review is a JSON object".to_owned());
    };
    let mut request = match review.remove("request") {
        None | Some(Value::Null) => return Err("conversion request is nil".to_owned()),
        Some(Value::Object(request)) => request,
        Some(_) => return Err("request is not an object".to_owned()),
    };
    let envelope = Envelope {
        api_version: text(&mut review, "apiVersion")?,
        kind: text(&mut review, "kind")?,
        uid: text(&mut request, "uid")?.unwrap_or_default(),
    };
    let objects = match request.remove("objects") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(objects)) => objects,
        Some(_) => return Err("request.objects is not a list".to_owned()),
    };
    let desired_api_version = text(&mut request, "desiredAPIVersion")?.unwrap_or_default();
    let request = Request {
        desired_api_version,
        objects,
    };
    Ok((envelope, request))
}

fn text(members: &mut Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("{name} is not a text")),
    }
}

impl Envelope {
    pub(super) fn uid(&self) -> &str {
        &self.uid
    }

    /// The answer as text.
    pub(super) fn answer(&self, result: &Result<Vec<Value>, String>) -> Vec<u8> {
        let (objects, status, message) = match result {
            Ok(objects) => (Some(objects).filter(|objects| !objects.is_empty()), "Success", None),
            Err(message) => (None, "Failure", Some(message.as_str())),
        };
        let answer = ReviewResponse {
            kind: self.kind.as_deref(),
            api_version: self.api_version.as_deref(),
            response: Response {
                uid: &self.uid,
                converted_objects: objects,
                result: Outcome {
                    metadata: Empty {},
                    status,
                    message,
                },
            },
        };
        // Writing values with text keys to memory does not fail.
        let mut text = serde_json::to_vec(&answer).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReviewResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'a str>,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    converted_objects: Option<&'a Vec<Value>>,
    result: Outcome<'a>,
}

#[derive(Serialize)]
struct Outcome<'a> {
    metadata: Empty,
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

#[derive(Serialize)]
struct Empty {}
