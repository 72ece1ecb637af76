//! What went wrong with a call, and what a denial says, in upstream's words (A4, A7, A9).

use kubewright_apimachinery::go::quote;
use serde_json::{Map, Value, json};

/// A call that failed or had an invalid answer. The webhook's failure policy decides whether the request fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed calling webhook {}: {}", quote(.webhook), .reason)]
pub struct CallFailure {
    /// The webhook's name.
    pub webhook: String,
    /// What went wrong.
    pub reason: Reason,
}

/// What went wrong with a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The webhook accepts no known version of `AdmissionReview`.
    #[error("could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)")]
    UnknownReviewVersions,
    /// Its `clientConfig` is not usable.
    #[error("could not get REST client: {0}")]
    NoClient(String),
    /// The call failed, or its answer cannot be read.
    #[error("failed to call webhook: {0}")]
    Call(String),
    /// The answer is not valid.
    #[error("received invalid webhook response: {0}")]
    InvalidResponse(String),
    /// The patch cannot be read.
    #[error("received undecodable patch in webhook response: {0}")]
    UndecodablePatch(String),
    /// The patch has an unknown type.
    #[error("unsupported patch type {}", quote(.0))]
    UnsupportedPatchType(String),
    /// A dry run, and the webhook does not declare that it has no side effects.
    #[error("Webhook SideEffects is nil")]
    UnstatedSideEffects,
}

/// The message for a dry run of a webhook with side effects (400, whatever the failure policy).
pub fn no_dry_run(webhook: &str) -> String {
    format!("admission webhook {} does not support dry run", quote(webhook))
}

/// The message for a patch of an object that cannot be changed (500, whatever the failure policy).
pub fn nothing_to_modify(webhook: &str) -> String {
    format!(
        "admission webhook {} attempted to modify the object, which is not supported for this operation",
        quote(webhook)
    )
}

/// The `Status` of a denial, from the one that the webhook gave: null when it gave none.
pub fn denial(webhook: &str, status: &Value) -> Value {
    let text = |key: &str| status.get(key).and_then(Value::as_str).unwrap_or_default();
    let denied = format!("admission webhook {} denied the request", quote(webhook));
    let message = match (text("message"), text("reason")) {
        ("", "") => format!("{denied} without explanation"),
        ("", why) | (why, _) => format!("{denied}: {why}"),
    };
    let code = status.get("code").and_then(Value::as_i64).unwrap_or(0).max(400);
    let mut denial = Map::new();
    denial.insert("kind".into(), "Status".into());
    denial.insert("apiVersion".into(), "v1".into());
    denial.insert(
        "metadata".into(),
        status.get("metadata").cloned().unwrap_or_else(|| json!({})),
    );
    let outcome = match text("status") {
        "" | "Success" => "Failure",
        other => other,
    };
    denial.insert("status".into(), outcome.into());
    denial.insert("message".into(), message.into());
    if !text("reason").is_empty() {
        denial.insert("reason".into(), text("reason").into());
    }
    if let Some(details) = status.get("details") {
        denial.insert("details".into(), details.clone());
    }
    denial.insert("code".into(), code.into());
    Value::Object(denial)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_says_who_denied_and_why() {
        for (status, message, code) in [
            (
                Value::Null,
                r#"admission webhook "a.b.c" denied the request without explanation"#,
                400,
            ),
            (
                json!({"message": "nope", "code": 403}),
                r#"admission webhook "a.b.c" denied the request: nope"#,
                403,
            ),
            (
                json!({"reason": "Because", "code": 200, "status": "Success"}),
                r#"admission webhook "a.b.c" denied the request: Because"#,
                400,
            ),
            (
                json!({"code": 418}),
                r#"admission webhook "a.b.c" denied the request without explanation"#,
                418,
            ),
        ] {
            let denial = denial("a.b.c", &status);
            assert_eq!(denial["message"], message);
            assert_eq!(denial["code"], code);
            assert_eq!(denial["status"], "Failure");
        }
    }

    #[test]
    fn a_failure_names_the_webhook() {
        let failure = CallFailure {
            webhook: "a.b.c".into(),
            reason: Reason::Call("EOF".into()),
        };
        assert_eq!(
            failure.to_string(),
            r#"failed calling webhook "a.b.c": failed to call webhook: EOF"#
        );
    }
}
