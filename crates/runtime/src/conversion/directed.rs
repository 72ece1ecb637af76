//! A conversion in one direction, to the hub or from it, with what the target version cannot hold kept in an annotation.

use serde_json::{Map, Value};

use super::convert::{ConvertError, ConvertFn};
use super::delta::Delta;
use super::preserve::PreservedFields;

/// The conversion from one version to another, one of which is the hub.
pub(super) struct DirectedConversion<'a> {
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    pub(super) forward: ConvertFn,
    pub(super) back: ConvertFn,
    /// The normal form of the version it starts from.
    pub(super) normal: ConvertFn,
}

impl DirectedConversion<'_> {
    /// Converts without the annotation.
    pub(super) fn convert(&self, object: &Value) -> Result<Value, ConvertError> {
        (self.forward)(object)
    }

    /// Converts, puts back what the target once held, and notes what the target cannot hold.
    pub(super) fn convert_preserving(&self, mut object: Value, annotation: &str) -> Result<Value, ConvertError> {
        let mut kept = PreservedFields::take(&mut object, annotation);
        let mut target = (self.forward)(&object)?;
        if let Some(delta) = kept.remove(self.to)
            && let Some(restored) = delta.restore(Some(content(target.clone())))
            && let Value::Object(restored) = restored
        {
            let restored = with_content(&target, restored);
            // Anybody may write annotations: what the target's type cannot read is not put back.
            if (self.back)(&restored).is_ok() {
                target = restored;
            }
        }
        let normal = (self.normal)(&object)?;
        let lost = match (self.back)(&target) {
            Ok(seen) => Delta::between(&content(seen), &content(normal)),
            // The result cannot be converted back, so nothing could be restored.
            Err(_) => None,
        };
        if let Some(lost) = lost {
            kept.insert(self.from, lost);
        }
        if !kept.put(&mut target, annotation) {
            tracing::warn!(
                from = self.from,
                to = self.to,
                "what this version cannot hold is too large for an annotation and is left out"
            );
        }
        Ok(target)
    }
}

/// The object without what identifies it.
fn content(object: Value) -> Value {
    match object {
        Value::Object(mut members) => {
            for key in ["apiVersion", "kind", "metadata"] {
                members.remove(key);
            }
            Value::Object(members)
        }
        other => other,
    }
}

/// What identifies an object, with other content.
fn with_content(object: &Value, mut content: Map<String, Value>) -> Value {
    for key in ["apiVersion", "kind", "metadata"] {
        match object.get(key) {
            Some(value) => content.insert(key.to_owned(), value.clone()),
            None => content.remove(key),
        };
    }
    Value::Object(content)
}
