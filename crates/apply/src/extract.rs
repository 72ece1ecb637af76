//! What a manager owns of an object, by its managedFields.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube_core::Resource;
use serde::Serialize;
use serde_json::{Error, Map, Value};

use crate::{Apply, Fields};

/// Why what a manager owns cannot be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The object has no managedFields: caches leave them out.
    #[error("the object has no managedFields: read it with a live client, caches leave them out")]
    NoManagedFields,
    /// An entry of managedFields has a key that means nothing.
    #[error("managedFields of {manager} have the key {key:?}, which means nothing")]
    Malformed {
        /// Whose entry it is.
        manager: String,
        /// The key.
        key: String,
    },
    /// The object cannot be written as JSON.
    #[error(transparent)]
    Json(#[from] Error),
}

impl<K: Resource<DynamicType = ()> + Serialize, Setters> Apply<K, Setters> {
    /// What a manager owns of an object because it applied it, as Go's `ExtractDeployment` and its like: change it and apply it again, and
    /// what you did not touch stays yours. A manager that owns nothing gets an object with nothing but its name.
    ///
    /// The object must have its managedFields: read it with a client that is `live()`.
    pub fn extract(object: &K, manager: &str) -> Result<Self, ExtractError> {
        Self::extract_part(object, manager, None)
    }

    /// What a manager owns of a subresource, as `status`, like [`extract`](Self::extract).
    pub fn extract_subresource(object: &K, manager: &str, subresource: &str) -> Result<Self, ExtractError> {
        Self::extract_part(object, manager, Some(subresource))
    }

    fn extract_part(object: &K, manager: &str, subresource: Option<&str>) -> Result<Self, ExtractError> {
        let metadata = object.meta();
        let entries = metadata.managed_fields.as_ref().ok_or(ExtractError::NoManagedFields)?;
        let is_it = |entry: &&ManagedFieldsEntry| {
            entry.manager.as_deref() == Some(manager)
                && entry.operation.as_deref() == Some("Apply")
                && entry.subresource.as_deref().filter(|name| !name.is_empty()) == subresource
        };
        let owned = entries.iter().find(is_it).and_then(|entry| entry.fields_v1.as_ref());
        let mut members = match owned.map(|fields| &fields.0) {
            Some(Value::Object(fields)) => {
                let whole = serde_json::to_value(object)?;
                let found = owned_of(&whole, fields).map_err(|key| ExtractError::Malformed {
                    manager: manager.to_owned(),
                    key,
                })?;
                match found {
                    Some(Value::Object(members)) => members,
                    _ => Map::new(),
                }
            }
            _ => Map::new(),
        };
        members.remove("apiVersion");
        members.remove("kind");
        let own = members.remove("metadata").unwrap_or_else(|| Value::Object(Map::new()));
        let mut own: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta = serde_json::from_value(own)?;
        own.name.clone_from(&metadata.name);
        own.namespace.clone_from(&metadata.namespace);
        Ok(Apply::of(own, Fields::of(members)))
    }
}

/// The part of a value that a set of fields names. A field without fields of its own is owned whole. The error is a key that means
/// nothing.
fn owned_of(value: &Value, fields: &Map<String, Value>) -> Result<Option<Value>, String> {
    let mut inside = fields.iter().filter(|(key, _)| *key != ".").peekable();
    if inside.peek().is_none() {
        return Ok(Some(value.clone()));
    }
    match value {
        Value::Object(members) => {
            let mut owned = Map::new();
            for (key, fields) in inside {
                let name = key.strip_prefix("f:").ok_or_else(|| key.clone())?;
                let Some(value) = members.get(name) else { continue };
                if let Some(value) = owned_of(value, nested(fields))? {
                    owned.insert(name.to_owned(), value);
                }
            }
            Ok(Some(Value::Object(owned)))
        }
        Value::Array(items) => {
            let mut owned: Vec<(usize, Value)> = Vec::new();
            for (key, fields) in inside {
                owned.extend(owned_item(items, key, nested(fields))?);
            }
            // As the object has them: the order of containers counts.
            owned.sort_by_key(|(index, _)| *index);
            Ok(Some(owned.into_iter().map(|(_, item)| item).collect()))
        }
        _ => Ok(None),
    }
}

/// The part of an item of a list, with the keys that identify it.
fn owned_item(items: &[Value], key: &str, fields: &Map<String, Value>) -> Result<Option<(usize, Value)>, String> {
    let malformed = || key.to_owned();
    let (kind, text) = key.split_once(':').ok_or_else(malformed)?;
    let wanted: Value = serde_json::from_str(text).map_err(|_| malformed())?;
    let (index, keys) = match (kind, &wanted) {
        ("v", value) => (items.iter().position(|item| item == value), None),
        ("i", Value::Number(index)) => (index.as_u64().map(|index| index as usize), None),
        ("k", Value::Object(keys)) => {
            let has_keys = |item: &Value| keys.iter().all(|(name, value)| item.get(name) == Some(value));
            (items.iter().position(has_keys), Some(keys))
        }
        _ => return Err(malformed()),
    };
    let Some((index, item)) = index.and_then(|index| Some((index, items.get(index)?))) else {
        return Ok(None);
    };
    let mut owned = owned_of(item, fields)?;
    if let (Some(Value::Object(members)), Some(keys)) = (&mut owned, keys) {
        for (name, value) in keys {
            members.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    Ok(owned.map(|item| (index, item)))
}

fn nested(fields: &Value) -> &Map<String, Value> {
    static NOTHING: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    fields.as_object().unwrap_or(&NOTHING)
}
