//! How one webhook answers: with a review made from what the case says, or with something that is none.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::convert::Conversion;

/// What is wrong with a script.
#[derive(Debug, Error)]
#[error("the webhook {name} makes no sense: {problem}")]
pub struct ScriptError {
    name: String,
    problem: String,
}

/// The answers of one webhook: one for every call, or a list whose last one goes on.
#[derive(Clone, Debug)]
pub struct Script {
    replies: Vec<Reply>,
    calls: usize,
}

/// One answer. Without anything in it, it allows, or gives back the objects it was to convert.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Reply {
    /// Put over the response that allows; a null takes a field away.
    response: Map<String, Value>,
    /// Put over the review around the response.
    review: Map<String, Value>,
    /// A JSON patch; a text is one to the letter.
    patch: Option<Value>,
    /// How objects are converted.
    convert: Vec<Conversion>,
    /// The HTTP status, 200 unless said.
    pub(super) status: Option<u16>,
    /// Sent to the letter, in place of a review.
    text: Option<String>,
    /// Headers of the answer.
    pub(super) headers: BTreeMap<String, String>,
    /// Never answers.
    pub(super) hang: bool,
    /// Closes the connection without an answer.
    pub(super) close: bool,
    /// Whether the call is part of the transcript. Reviews of admission are; those of conversion are not, since the real
    /// server's caches ask for them when they like.
    noted: Option<bool>,
}

impl Script {
    /// Reads the `webhooks` of a case, whose variables have been filled in.
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

    /// The answer to the next call.
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
                // A conversion may be told to get the version wrong, too.
                for conversion in &self.convert {
                    conversion.spoil(&mut object, wanted);
                }
                object
            })
            .collect()
    }
}

/// Sets fields; a null takes one away.
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
