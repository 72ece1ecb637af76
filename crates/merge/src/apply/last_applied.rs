//! `kubectl.kubernetes.io/last-applied-configuration`: moving from client-side to server-side apply and back (S9).

use kubewright_apimachinery::go::json;
use serde_json::Value;

use super::metadata::{metadata, metadata_mut};
use super::typed::{Origin, compare, field_set, validate};
use crate::Topology;
use crate::managed::FieldSet;

/// The field manager of `kubectl apply --server-side`.
pub(super) const KUBECTL: &str = "kubectl";
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// What all annotations together may have.
const MAX_ANNOTATIONS_BYTES: usize = 256 * 1024;

fn annotation(object: &Value) -> Option<&str> {
    let annotations = metadata(object)?.get("annotations")?;
    annotations.get(ANNOTATION)?.as_str().filter(|text| !text.is_empty())
}

/// The fields that client-side apply set last and that still are as it set them.
pub(super) fn unchanged_fields<'t, T: Topology<'t>>(of: T, live: &Value, api_version: &str) -> Option<FieldSet> {
    let last: Value = serde_json::from_str(annotation(live)?).ok()?;
    let is_usable = |object: &Value| validate(of, object, Origin::Applied).is_empty();
    if last.get("apiVersion").and_then(Value::as_str) != Some(api_version) || !is_usable(live) || !is_usable(&last) {
        return None;
    }
    let comparison = compare(of, &last, live).ok()?;
    let set = field_set(of, &last);
    Some(
        set.difference(&comparison.modified)
            .difference(&comparison.added)
            .difference(&comparison.removed),
    )
}

/// Keeps the annotation, where there is one, in step with what is applied; drops it if it has become too large.
pub(super) fn refresh(object: &mut Value, applied: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut applied = applied.clone();
    if let Some(annotations) = metadata_mut(&mut applied)
        .and_then(|metadata| metadata.get_mut("annotations"))
        .and_then(Value::as_object_mut)
    {
        annotations.remove(ANNOTATION);
    }
    let mut text = json::to_string(&applied);
    text.push('\n');
    let Some(annotations) = metadata_mut(object)
        .and_then(|metadata| metadata.get_mut("annotations"))
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    annotations.insert(ANNOTATION.to_owned(), Value::String(text));
    let size: usize = annotations
        .iter()
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
        .sum();
    if size > MAX_ANNOTATIONS_BYTES {
        annotations.remove(ANNOTATION);
    }
}
