//! Why something was not done, in the API server's words and at the fields that it names.

use std::fmt;

use kube::core::Status;
use kubewright_apimachinery::errors::with_sources;
use serde::Serialize;

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The HTTP status code; 0 if there was no answer.
    pub code: u16,
    /// In a word, as `Invalid`.
    pub reason: String,
    /// In words.
    pub message: String,
    /// What is wrong with which field.
    pub fields: Vec<RefusedField>,
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RefusedField {
    /// As `spec.containers[0].image`.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

/// What strict decoding begins with.
const STRICT: &str = "strict decoding error: ";
/// What stands before a field that the schema does not have, in the words of strict decoding.
const UNKNOWN_FIELD: &str = "unknown field \"";

/// What fields in words begin with.
const PARTS: [&str; 4] = [" spec.", " metadata.", " status.", " data."];

impl Refusal {
    /// One of ours.
    pub fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Refusal {
            code,
            reason: reason.to_owned(),
            message: message.into(),
            fields: Vec::new(),
        }
    }

    /// Of a write where only looking is allowed.
    pub(crate) fn read_only() -> Self {
        Self::new(
            403,
            "ReadOnly",
            "this cluster is only looked at: --allow-writes lets the view change it",
        )
    }

    /// An object that is not as one has to be.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        // With a patch, the server quotes the whole object before it says what is wrong.
        let message = match status.message.find(STRICT) {
            Some(begin) => status.message[begin..].to_owned(),
            None => status.message,
        };
        let causes = status.details.map(|details| details.causes).unwrap_or_default();
        let named = causes
            .into_iter()
            .filter(|cause| !cause.field.is_empty() && !cause.message.contains(STRICT));
        let mut fields: Vec<RefusedField> = named
            .map(|cause| RefusedField {
                field: cause.field,
                message: cause.message,
            })
            .collect();
        fields.extend(unknown_fields(&message));
        if fields.is_empty() {
            fields.extend(named_in_words(&message));
        }
        Refusal {
            code: status.code,
            reason: status.reason,
            message,
            fields,
        }
    }
}

impl From<kube::Error> for Refusal {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => (*status).into(),
            other => Self::new(0, "NoAnswer", with_sources(&other)),
        }
    }
}

/// `strict decoding error: unknown field "spec.colour", unknown field "spec.size"`
fn unknown_fields(message: &str) -> Vec<RefusedField> {
    let strict = message.strip_prefix(STRICT).unwrap_or_default();
    let quoted = strict.split(UNKNOWN_FIELD).skip(1);
    let names = quoted.filter_map(|rest| Some(rest.split_once('"')?.0));
    names
        .map(|field| RefusedField {
            field: field.to_owned(),
            message: "unknown field".to_owned(),
        })
        .collect()
}

/// The field that a webhook names in its own words: `denied the request: spec.replicas: invalid type`
fn named_in_words(message: &str) -> Option<RefusedField> {
    let begin = PARTS.iter().filter_map(|part| message.find(part)).min()? + 1;
    let (field, rest) = message[begin..].split_once(": ")?;
    let is_path = !field.contains([' ', ',']);
    is_path.then(|| RefusedField {
        field: field.to_owned(),
        message: rest.to_owned(),
    })
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(status: serde_json::Value) -> Vec<(String, String)> {
        let status: Status = serde_json::from_value(status).unwrap();
        let fields = Refusal::from(status).fields;
        fields.into_iter().map(|one| (one.field, one.message)).collect()
    }

    #[test]
    fn the_fields_are_those_that_the_server_names() {
        let causes = json!([
            { "reason": "FieldValueInvalid", "field": "spec.replicas", "message": "Invalid value: -1" },
            { "reason": "x", "message": "of no field" },
        ]);
        let status = json!({ "status": "Failure", "code": 422, "reason": "Invalid", "message": "is invalid", "details": { "causes": causes } });
        assert_eq!(
            told(status),
            [("spec.replicas".to_owned(), "Invalid value: -1".to_owned())]
        );
        let strict = json!({ "status": "Failure", "code": 400, "message": "strict decoding error: unknown field \"spec.colour\", unknown field \"a\"" });
        let named: Vec<String> = told(strict).into_iter().map(|(field, _)| field).collect();
        assert_eq!(named, ["spec.colour", "a"]);
        let webhook = json!({ "code": 400, "message": "admission webhook \"m.kb.io\" denied the request: spec.replicas: invalid type: string" });
        assert_eq!(
            told(webhook),
            [("spec.replicas".to_owned(), "invalid type: string".to_owned())]
        );
        let words = json!({ "code": 400, "message": "no spec. is needed, but: more" });
        assert_eq!(told(words), []);
        let quoting = "patch: Invalid value: \"{sesame}\": strict decoding error: unknown field \"a\"";
        let patch = json!({ "code": 422, "message": quoting, "details": { "causes": [{ "reason": "x", "field": "patch", "message": quoting }] } });
        let refusal = Refusal::from(serde_json::from_value::<Status>(patch).unwrap());
        assert_eq!(refusal.message, "strict decoding error: unknown field \"a\"");
        assert_eq!(refusal.fields.len(), 1);
    }
}
