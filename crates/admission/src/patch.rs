//! The patch in an answer: read and applied as the library upstream uses does (A4).

use kubewright_codec::json;
use kubewright_merge::{JsonPatch, PatchError};
use serde_json::Value;

/// A patch that was read.
#[derive(Clone, Debug)]
pub struct Patch {
    operations: Vec<Value>,
    compiled: JsonPatch,
}

/// The message of a patch whose test does not hold ends like this.
const TEST_FAILED: &str = ": test failed";

/// Applies the operations of a policy's patch. `None` if a test among them does not hold, so that nothing is to be changed; the error is
/// upstream's message.
pub fn apply_operations(operations: Vec<Value>, object: &Value) -> Result<Option<Value>, String> {
    if operations.is_empty() {
        return Ok(Some(object.clone()));
    }
    let compiled = JsonPatch::decode(Value::Array(operations.clone()), false).map_err(|error| reason(&error))?;
    match (Patch { operations, compiled }).apply(object) {
        Err(why) if why.ends_with(TEST_FAILED) => Ok(None),
        applied => applied.map(Some),
    }
}

/// Reads a patch; `None` when it has no operations. The error is upstream's message.
pub fn read(patch: &[u8]) -> Result<Option<Patch>, String> {
    let decoded = json::decode(patch).map_err(|error| error.to_string())?;
    let operations = match &decoded.value {
        Value::Null => return Ok(None),
        Value::Array(operations) if operations.is_empty() => return Ok(None),
        Value::Array(operations) => operations.clone(),
        _ => Vec::new(),
    };
    let compiled = JsonPatch::decode_of_webhook(decoded.value).map_err(|error| reason(&error))?;
    Ok(Some(Patch { operations, compiled }))
}

impl Patch {
    /// The operations, for the audit trail.
    pub fn operations(&self) -> &[Value] {
        &self.operations
    }

    /// Applies it; the error is upstream's message.
    pub fn apply(&self, object: &Value) -> Result<Value, String> {
        self.compiled.apply(object.clone()).map_err(|error| {
            // The message for a webhook's patch names the operation that failed; the one for a client's patch does not.
            match error {
                // Applying the operations one by one would exceed the size limit again.
                PatchError::TooLarge(_) => reason(&error),
                _ => self.first_mistake(object.clone()).unwrap_or_else(|| reason(&error)),
            }
        })
    }

    fn first_mistake(&self, mut object: Value) -> Option<String> {
        for operation in &self.operations {
            let alone = JsonPatch::decode_of_webhook(Value::Array(vec![operation.clone()])).ok()?;
            object = match alone.apply(object) {
                Ok(changed) => changed,
                Err(error) => return Some(worded(operation, &reason(&error))),
            };
        }
        None
    }
}

fn reason(error: &PatchError) -> String {
    match error {
        PatchError::DoesNotApply { reason } => reason.clone(),
        other => other.to_string(),
    }
}

/// The complete message of the library for an operation that failed for this reason.
fn worded(operation: &Value, reason: &str) -> String {
    let text = |key: &str| operation.get(key).and_then(Value::as_str);
    let (op, path) = (text("op").unwrap_or_default(), text("path").unwrap_or_default());
    let from = text("from").unwrap_or_default();
    let takes_from = matches!(op, "move" | "copy");
    if takes_from && text("from").is_none() {
        return format!("{op} operation failed to decode from: operation, missing from field: missing value");
    }
    if text("path").is_none() && !op.is_empty() {
        let why = match op {
            "add" | "remove" | "copy" => "missing value",
            "replace" | "move" | "test" => "operation missing path field: missing value",
            _ => return reason.to_owned(),
        };
        return format!("{op} operation failed to decode path: {why}");
    }
    if let Some(rest) = reason.strip_prefix("doc is missing path: ") {
        let missing_from = takes_from && rest.starts_with(&format!("\"{from}\""));
        return match op {
            "add" | "remove" => format!("{op} operation does not apply: {reason}"),
            "test" => format!("test operation does not apply: is missing path: {path}: missing value"),
            "replace" => format!("replace operation does not apply: doc is missing path: {path}: missing value"),
            _ if missing_from => {
                format!("{op} operation does not apply: doc is missing from path: {from}: missing value")
            }
            _ => format!("{op} operation does not apply: doc is missing destination path: {path}: missing value"),
        };
    }
    if reason == "replace operation value must be object or array" {
        return format!("{reason}: %!w(<nil>)");
    }
    if !reason.starts_with("Unable to ") || reason.starts_with("Unable to complete the copy") {
        return reason.to_owned();
    }
    match op {
        "add" | "remove" | "test" => format!("error in {op} for path: '{path}': {reason}"),
        "replace" if reason.starts_with("Unable to access") => {
            format!("replace operation does not apply: doc is missing key: {path}: missing value")
        }
        "move" if reason.starts_with("Unable to remove") => {
            let key = from.rsplit('/').next().unwrap_or_default();
            format!("error in move for path: '{key}': {reason}")
        }
        "copy" => format!("error in copy for from: '{from}': {reason}"),
        _ => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_without_operations_is_none() {
        assert!(read(b"[]").unwrap().is_none());
        assert!(read(b"null").unwrap().is_none());
    }

    #[test]
    fn a_patch_that_grows_too_large_is_not_applied_again_to_find_the_operation() {
        let object = json!({ "text": "x".repeat(1 << 20) });
        let copies: Vec<Value> = (0..40)
            .map(|at| json!({ "op": "copy", "from": "/text", "path": format!("/copy-{at}") }))
            .collect();
        let patch = read(&serde_json::to_vec(&copies).unwrap()).unwrap().unwrap();
        let why = patch.apply(&object).unwrap_err();
        // The words of a single operation would begin with its name.
        assert!(why.starts_with("Unable to complete the copy"), "{why}");
    }

    #[test]
    fn what_is_no_patch_is_told_in_the_words_of_go() {
        for (patch, sentence) in [
            ("hello", "invalid character 'h' looking for beginning of value"),
            (
                r#"{"op":"add"}"#,
                "json: cannot unmarshal object into Go value of type jsonpatch.Patch",
            ),
            (
                r#"["a"]"#,
                "json: cannot unmarshal string into Go value of type jsonpatch.Operation",
            ),
        ] {
            assert_eq!(read(patch.as_bytes()).unwrap_err(), sentence);
        }
    }

    #[test]
    fn a_patch_that_does_not_fit_is_told_in_full() {
        let object = || json!({"data": {"a": "b"}});
        for (patch, sentence) in [
            (
                r#"[{"op":"remove","path":"/zzz"}]"#,
                "error in remove for path: '/zzz': Unable to remove nonexistent key: zzz: missing value",
            ),
            (
                r#"[{"op":"test","path":"/data/a","value":"q"}]"#,
                "testing value /data/a failed: test failed",
            ),
            (r#"[{"op":"frob","path":"/data/a"}]"#, "Unexpected kind: frob"),
            (
                r#"[{"op":"add","path":"/annotations/x","value":"1"}]"#,
                r#"add operation does not apply: doc is missing path: "/annotations/x": missing value"#,
            ),
            (
                r#"[{"op":"add","value":1}]"#,
                "add operation failed to decode path: missing value",
            ),
            (r#"[{"op":5,"path":"/a"}]"#, "Unexpected kind: unknown"),
            (
                r#"[{"op":"replace","path":"","value":null}]"#,
                "replace operation value must be object or array: %!w(<nil>)",
            ),
        ] {
            let patch = read(patch.as_bytes()).unwrap().unwrap();
            assert_eq!(patch.apply(&object()).unwrap_err(), sentence);
        }
    }
}
