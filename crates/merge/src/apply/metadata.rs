//! The few fields of an object's metadata that ownership needs.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::managed::FieldSet;

/// The fields that no manager owns (S7).
pub(super) static NEVER_OWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_fields(&[
        "apiVersion",
        "kind",
        "metadata",
        "metadata.name",
        "metadata.namespace",
        "metadata.creationTimestamp",
        "metadata.selfLink",
        "metadata.uid",
        "metadata.clusterName",
        "metadata.generation",
        "metadata.managedFields",
        "metadata.resourceVersion",
    ])
});

pub(super) fn metadata(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata").and_then(Value::as_object)
}

pub(super) fn metadata_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("metadata").and_then(Value::as_object_mut)
}

/// A text of the metadata; empty if there is none.
pub(super) fn metadata_text<'a>(object: &'a Value, name: &str) -> &'a str {
    metadata(object)
        .and_then(|metadata| metadata.get(name))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// `metadata.managedFields`, null if there are none.
pub(super) fn managed_fields(object: &Value) -> &Value {
    metadata(object)
        .and_then(|metadata| metadata.get("managedFields"))
        .unwrap_or(&Value::Null)
}

/// Sets or removes `metadata.managedFields`.
pub(super) fn set_managed_fields(object: &mut Value, managed_fields: Option<Value>) {
    let Some(object) = object.as_object_mut() else { return };
    if managed_fields.is_some() && !object.get("metadata").is_some_and(Value::is_object) {
        object.insert("metadata".to_owned(), Value::Object(Map::new()));
    }
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    match managed_fields {
        Some(managed_fields) => metadata.insert("managedFields".to_owned(), managed_fields),
        None => metadata.remove("managedFields"),
    };
}

/// A kind as Go prints it: `apps/v1, Kind=Deployment`, `/v1, Kind=ConfigMap`.
pub(super) fn describe_kind(object: &Value) -> String {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let api_version = text("apiVersion");
    let (group, version) = match api_version.split_once('/') {
        // What has no version has no kind either.
        Some((_, rest)) if rest.contains('/') => return "/, Kind=".to_owned(),
        Some((group, version)) => (group, version),
        None => ("", api_version),
    };
    format!("{group}/{version}, Kind={}", text("kind"))
}

/// An object as upstream's messages name it: `default/web; apps/v1, Kind=Deployment`.
pub(super) fn describe_object(object: &Value) -> String {
    let (namespace, name) = (metadata_text(object, "namespace"), metadata_text(object, "name"));
    format!("{namespace}/{name}; {}", describe_kind(object))
}
