//! What the server decides whatever was sent: the status of a new definition, its generation, the versions objects may
//! be stored in (C3).

use serde_json::{Value, json};

use super::access::{at, list, object_mut};
use super::default::storage_version;
use super::embedded_defaults;

/// A new definition has no status but the version its objects are stored in, and generation 1.
pub fn prepare_create(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    fields.insert(
        "status".to_owned(),
        json!({ "conditions": null, "acceptedNames": { "plural": "", "kind": "" } }),
    );
    if let Some(metadata) = object_mut(object, &["metadata"]) {
        metadata.insert("generation".to_owned(), 1.into());
    }
    remember_storage_version(object);
    embedded_defaults::tidy(object);
}

/// An update keeps the status, counts changes of the spec, and remembers every version objects were stored in.
pub fn prepare_update(object: &mut Value, old: &Value) {
    keep(object, old, "status");
    if at(object, &["spec"]) != at(old, &["spec"])
        && let Some(metadata) = object_mut(object, &["metadata"])
    {
        let generation = at(old, &["metadata", "generation"])
            .and_then(Value::as_i64)
            .unwrap_or(0);
        metadata.insert("generation".to_owned(), generation.saturating_add(1).into());
    }
    remember_storage_version(object);
    embedded_defaults::tidy(object);
}

/// An update of the status keeps the spec. Metadata passes: upstream means to reset it and does not.
pub fn prepare_status_update(object: &mut Value, old: &Value) {
    keep(object, old, "spec");
}

fn keep(object: &mut Value, old: &Value, field: &str) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    match at(old, &[field]) {
        Some(value) => fields.insert(field.to_owned(), value.clone()),
        None => fields.remove(field),
    };
}

fn remember_storage_version(object: &mut Value) {
    let Some(version) = storage_version(object) else {
        return;
    };
    if list(object, &["status", "storedVersions"])
        .iter()
        .any(|stored| stored.as_str() == Some(&version))
    {
        return;
    }
    if let Some(status) = object_mut(object, &["status"]) {
        let stored = status.entry("storedVersions").or_insert_with(|| json!([]));
        if !stored.is_array() {
            *stored = json!([]);
        }
        if let Some(stored) = stored.as_array_mut() {
            stored.push(version.into());
        }
    }
}
