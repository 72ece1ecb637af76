//! The replies of a webhook, as the case specifies them: reviews, or responses that are not reviews.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::convert::Conversion;

/// The reason why a script is malformed.
#[derive(Debug, Error)]
#[error("the webhook {name} makes no sense: {problem}")]
pub struct ScriptError {
    name: String,
    problem: String,
}

/// The replies of a webhook: one for all calls, or a list, whose last element answers all further calls.
#[derive(Clone, Debug)]
pub struct Script {
    replies: Vec<Reply>,
    calls: usize,
}

/// A reply. An empty one allows the request, or returns the objects of a conversion unchanged.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Reply {
    /// Fields that are set in a response that allows the request; null removes a field.
    response: Map<String, Value>,
    /// Fields that are set in the review around the response; null removes a field.
    review: Map<String, Value>,
    /// A JSON patch; a text is sent unchanged.
    patch: Option<Value>,
    /// The rules of conversion.
    convert: Vec<Conversion>,
    /// The HTTP status; 200 by default.
    pub(super) status: Option<u16>,
    /// A text that is sent unchanged instead of a review.
    text: Option<String>,
    /// Headers of the response.
    pub(super) headers: BTreeMap<String, String>,
    /// Whether the webhook never answers.
    pub(super) hang: bool,
    /// Whether the webhook closes the connection without an answer.
    pub(super) close: bool,
    /// Whether the call is part of the transcript. By default reviews of admission are, and those of conversion are not, since the
    /// caches of the real server send them at unpredictable times.
    noted: Option<bool>,
}

impl Script {
    /// Reads the `webhooks` of a case, whose variables have been replaced.
    pub fn all(webhooks: &Value) -> Result<BTreeMap<String, Script>, ScriptError> {
        let scripts = webhooks.as_object().into_iter().flatten();
        scripts
            .map(|(name, form)| Ok((name.clone(), Script::read(name, form)?)))
            .collect()
    }

    fn read(name: &str, form: &Value) -> Result<Self, ScriptError> {
        let problem = |problem: String| ScriptError {
            name: name.to_owned(),
            problem,
        };
        let forms = match form {
            Value::Array(forms) => forms.as_slice(),
            one => std::slice::from_ref(one),
        };
        let replies = forms
            .iter()
            .map(|form| Reply::deserialize(form).map_err(|error| problem(error.to_string())));
        let replies: Vec<Reply> = replies.collect::<Result<_, _>>()?;
        if replies.is_empty() {
            return Err(problem("it has no answer".to_owned()));
        }
        Ok(Self { replies, calls: 0 })
    }

    /// The reply to the next call.
    pub(super) fn next(&mut self) -> Reply {
        let index = self.calls.min(self.replies.len() - 1);
        self.calls += 1;
        self.replies[index].clone()
    }
}

impl Reply {
    /// Whether the call belongs in the transcript.
    pub(super) fn is_noted(&self, review: &Value) -> bool {
        self.noted.unwrap_or(review["kind"] == "AdmissionReview")
    }

    /// The body of the answer to a review.
    pub(super) fn body(&self, review: &Value) -> String {
        if let Some(text) = &self.text {
            return text.clone();
        }
        let request = &review["request"];
        let mut response = if review["kind"] == "ConversionReview" {
            json!({
                "uid": request["uid"],
                "convertedObjects": self.converted(request),
                "result": {"status": "Success"},
            })
        } else {
            json!({"uid": request["uid"], "allowed": true})
        };
        if let Some(patch) = &self.patch {
            let text = patch.as_str().map_or_else(|| patch.to_string(), str::to_owned);
            response["patchType"] = json!("JSONPatch");
            response["patch"] = json!(BASE64.encode(text));
        }
        put_over(&mut response, &self.response);
        let mut answer = json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response});
        put_over(&mut answer, &self.review);
        answer.to_string()
    }

    fn converted(&self, request: &Value) -> Vec<Value> {
        let wanted = request["desiredAPIVersion"].as_str().unwrap_or_default();
        let objects = request["objects"].as_array().into_iter().flatten();
        objects
            .map(|object| {
                let mut object = object.clone();
                for conversion in &self.convert {
                    conversion.apply(&mut object, wanted);
                }
                object["apiVersion"] = json!(wanted);
                // A rule may set a wrong version on purpose.
                for conversion in &self.convert {
                    conversion.spoil(&mut object, wanted);
                }
                object
            })
            .collect()
    }
}

/// Sets fields; null removes one.
fn put_over(document: &mut Value, fields: &Map<String, Value>) {
    let Value::Object(document) = document else { return };
    for (key, value) in fields {
        if value.is_null() {
            document.remove(key);
        } else {
            document.insert(key.clone(), value.clone());
        }
    }
}
