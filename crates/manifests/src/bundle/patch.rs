//! Patches of objects: JSON patches, and the merge patch of a definition that is converted.

use kubewright_merge::{JsonPatch, PatchError};
use serde_json::Value;

use super::BundleError;
use super::edited::AddedPatch;

/// Applies a JSON patch to the objects it is for.
pub(super) fn apply(added: &AddedPatch, objects: &mut [Value]) -> Result<(), BundleError> {
    let refused = |target: &Value, error: &PatchError| BundleError::Patch {
        path: added.path.clone(),
        target: format!("{} {}", added.kind, target["metadata"]["name"]),
        reason: match error {
            PatchError::DoesNotApply { reason } => reason.clone(),
            other => other.to_string(),
        },
    };
    let is_meant = |object: &&mut Value| {
        let is_named = |name: &String| object["metadata"]["name"] == name.as_str();
        object["kind"] == added.kind.as_str() && added.name.as_ref().is_none_or(is_named)
    };
    for object in objects.iter_mut().filter(is_meant) {
        let patch = JsonPatch::decode(added.operations.clone(), true).map_err(|error| refused(object, &error))?;
        *object = patch.apply(object.clone()).map_err(|error| refused(object, &error))?;
    }
    Ok(())
}

/// Merges the fields of one object into another; lists and scalars are replaced.
pub(super) fn merge(into: &mut Value, from: &Value) {
    let (Value::Object(into), Value::Object(from)) = (&mut *into, from) else {
        *into = from.clone();
        return;
    };
    for (name, value) in from {
        merge(into.entry(name).or_insert(Value::Null), value);
    }
}
