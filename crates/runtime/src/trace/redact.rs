//! What must not enter a trace: the contents of Secrets, and tokens. They are left out when something is recorded, not when it is shown.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::change::FieldChange;
use crate::object::Kind;

/// As many bytes of what was sent are kept.
const MOST_SENT: usize = 4096;

/// What stands for something that is left out.
pub(crate) const REDACTED: &str = "(redacted)";

/// What is shown of the metadata of a confidential object.
const HARMLESS: [&str; 8] = [
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "labels",
    "ownerReferences",
    "finalizers",
];

/// What was sent, or the beginning of it. Only what is known to be harmless.
#[derive(Clone)]
pub(crate) struct Sent {
    beginning: Arc<[u8]>,
    /// How many bytes all of it has.
    whole: usize,
}

impl Sent {
    fn of(body: &[u8]) -> Self {
        Sent {
            beginning: body[..body.len().min(MOST_SENT)].into(),
            whole: body.len(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.beginning.len()
    }

    /// What was sent as text; one that is cut says so.
    pub(crate) fn text(&self) -> String {
        if self.whole == self.beginning.len() {
            return String::from_utf8_lossy(&self.beginning).into_owned();
        }
        let whole_characters = self.beginning.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        format!("{whole_characters}… ({} bytes)", self.whole)
    }
}

impl fmt::Debug for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text(), f)
    }
}

/// A body as it is recorded: of a confidential kind without values. A patch of a Secret that is no object is left out whole.
pub(crate) fn sent(kind: &Kind, body: &[u8]) -> Option<Sent> {
    if body.is_empty() {
        return None;
    }
    if !is_confidential(kind) {
        return Some(Sent::of(body));
    }
    let Ok(Value::Object(mut object)) = serde_json::from_slice(body) else {
        return Some(Sent::of(REDACTED.as_bytes()));
    };
    for (name, value) in &mut object {
        match (name.as_str(), value) {
            ("apiVersion" | "kind" | "type" | "immutable", _) => {}
            ("metadata", Value::Object(metadata)) => {
                let others = metadata
                    .iter_mut()
                    .filter(|(name, _)| !HARMLESS.contains(&name.as_str()));
                others.for_each(|(_, value)| redact(value));
            }
            // Whatever else it is: the name of a field that holds a secret may be misspelt.
            (_, value) => redact(value),
        }
    }
    Some(Sent::of(Value::Object(object).to_string().as_bytes()))
}

/// The fields that changed. Of Secrets and tokens it is said which, not from what to what.
pub(crate) fn changes(kind: &Kind, before: &Value, after: &Value) -> Vec<FieldChange> {
    let mut changes = FieldChange::between(before, after);
    if is_confidential(kind) {
        let harmless = [
            "metadata.name",
            "metadata.labels",
            "metadata.ownerReferences",
            "metadata.finalizers",
        ];
        for change in &mut changes {
            if !harmless.iter().any(|path| change.path.starts_with(path)) {
                REDACTED.clone_into(&mut change.before);
                REDACTED.clone_into(&mut change.after);
            }
        }
    }
    changes
}

/// Leaves out a text about confidential objects that repeats what one of them holds, as it is or decoded.
pub(crate) fn redact_words(kind: &Kind, objects: &[&Value], words: &mut String) {
    if is_confidential(kind) && objects.iter().any(|object| repeats(object, words)) {
        REDACTED.clone_into(words);
    }
}

fn repeats(object: &Value, words: &str) -> bool {
    let held = ["data", "stringData", "spec", "status"].map(|member| &object[member]);
    held.into_iter().any(|value| repeats_value(value, words))
}

fn repeats_value(value: &Value, words: &str) -> bool {
    match value {
        Value::Object(members) => members.values().any(|value| repeats_value(value, words)),
        Value::Array(items) => items.iter().any(|value| repeats_value(value, words)),
        Value::String(text) if text.is_empty() => false,
        Value::String(text) => {
            let decoded = STANDARD
                .decode(text)
                .ok()
                .and_then(|bytes| String::from_utf8(bytes).ok());
            let decoded = decoded.filter(|decoded| !decoded.is_empty());
            words.contains(text.as_str()) || decoded.is_some_and(|decoded| words.contains(&decoded))
        }
        _ => false,
    }
}

/// Secrets, and what is asked of the groups that deal in tokens and certificates.
pub(crate) fn is_confidential(kind: &Kind) -> bool {
    (kind.group().is_empty() && kind.plural() == "secrets") || kind.group() == "authentication.k8s.io"
}

/// Names stay, values go.
fn redact(value: &mut Value) {
    match value {
        Value::Object(members) => members.values_mut().for_each(redact),
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Null => {}
        other => *other = REDACTED.into(),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::authentication::v1::TokenReview;
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_contents_of_a_secret_are_left_out_wherever_they_stand() {
        let secret = Kind::of::<Secret>();
        let body = json!({
            "metadata": { "name": "door", "annotations": { "kubectl.kubernetes.io/last-applied-configuration": "sesame" } },
            "data": { "key": "sesame" }, "stringData": { "other": "sesame" }, "strngData": { "misspelt": "sesame" },
        });
        let recorded = sent(&secret, body.to_string().as_bytes()).unwrap().text();
        assert!(
            !recorded.contains("sesame") && recorded.contains("door") && recorded.contains("\"key\""),
            "{recorded}"
        );
        let patch = json!([{ "op": "replace", "path": "/data/key", "value": "sesame" }]);
        assert_eq!(sent(&secret, patch.to_string().as_bytes()).unwrap().text(), REDACTED);
        let changed = changes(
            &secret,
            &json!({ "data": { "key": "sesame" }, "metadata": { "labels": { "a": "1" } } }),
            &json!({ "data": { "key": "other sesame" }, "metadata": { "labels": { "a": "2" } } }),
        );
        let changed: Vec<_> = changed.iter().map(ToString::to_string).collect();
        assert_eq!(
            changed,
            [
                "data.key from (redacted) to (redacted)",
                "metadata.labels.a from \"1\" to \"2\""
            ]
        );
    }

    #[test]
    fn tokens_that_are_asked_about_are_left_out() {
        let body = json!({ "kind": "TokenReview", "spec": { "token": "sesame" } }).to_string();
        let recorded = sent(&Kind::of::<TokenReview>(), body.as_bytes()).unwrap().text();
        assert!(!recorded.contains("sesame"), "{recorded}");
    }

    #[test]
    fn words_about_a_secret_that_repeat_what_it_holds_are_left_out() {
        let secret = Kind::of::<Secret>();
        let object = json!({ "metadata": { "name": "door" }, "data": { "key": "c2VzYW1l", "empty": "" } });
        let redacted = |kind: &Kind, words: &str| {
            let mut words = words.to_owned();
            redact_words(kind, &[&Value::Null, &object], &mut words);
            words
        };
        assert_eq!(redacted(&secret, "data.key: \"sesame\" is too short"), REDACTED);
        assert_eq!(redacted(&secret, "data.key: \"c2VzYW1l\" is too short"), REDACTED);
        assert_eq!(
            redacted(&secret, "data.key of door is too short"),
            "data.key of door is too short"
        );
        assert_eq!(redacted(&Kind::of::<ConfigMap>(), "sesame"), "sesame");
    }

    #[test]
    fn other_bodies_are_kept_up_to_a_length() {
        let kind = Kind::of::<ConfigMap>();
        assert_eq!(sent(&kind, b"{\"a\":1}").unwrap().text(), "{\"a\":1}");
        assert!(sent(&kind, b"").is_none());
        let long = "ü".repeat(MOST_SENT);
        let recorded = sent(&kind, long.as_bytes()).unwrap().text();
        assert!(
            recorded.len() < MOST_SENT + 32 && recorded.ends_with("(8192 bytes)"),
            "{recorded}"
        );
    }
}
