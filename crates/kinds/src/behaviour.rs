//! The questions the server asks about a kind.

use kubewright_schema::field::Errors;
use serde_json::Value;

/// A create in flight, after decoding and the table's defaults.
pub struct Create<'a> {
    /// The object; ObjectMeta's system fields are filled by the server, not here.
    pub object: &'a mut Value,
}

/// An update in flight: the new object as merged and defaulted, and the stored one it replaces.
pub struct Update<'a> {
    /// The new object.
    pub object: &'a mut Value,
    /// The stored object.
    pub old: &'a Value,
    /// The subresource written through (`status`, `scale`, …); `None` for the object itself.
    pub subresource: Option<&'a str>,
}

/// What a kind adds to the generic rules. Every method has the generic answer as its default.
pub trait Behaviour: Sync {
    /// Defaults that depend on other fields; runs after the table's unconditional ones, on every write.
    fn default(&self, _object: &mut Value) {}

    /// The fields the kind's strategy sets or clears before a create is validated (status is reset here).
    fn prepare_create(&self, create: Create<'_>) {
        if let Some(object) = create.object.as_object_mut() {
            object.remove("status");
        }
    }

    /// The fields the kind's strategy restores before an update is validated: by default the object keeps its stored
    /// status, and a status update keeps everything else (W8).
    fn prepare_update(&self, update: Update<'_>) {
        generic_prepare_update(update);
    }

    /// Everything wrong with a new object, ObjectMeta's own rules excepted.
    fn validate_create(&self, _object: &Value, _errors: &mut Errors) {}

    /// Everything wrong with a change, ObjectMeta's own rules excepted.
    fn validate_update(&self, _object: &Value, _old: &Value, _subresource: Option<&str>, _errors: &mut Errors) {}

    /// `Warning` headers this write earns.
    fn warnings(&self, _object: &Value, _old: Option<&Value>) -> Vec<String> {
        Vec::new()
    }
}

/// A kind without rules of its own.
pub struct Generic;

impl Behaviour for Generic {}

/// What the kind behind `group` and `resource` (plural) adds; [`Generic`] when nothing.
pub fn behaviour(_group: &str, _resource: &str) -> &'static dyn Behaviour {
    &Generic
}

fn generic_prepare_update(update: Update<'_>) {
    let Update { object, old, subresource } = update;
    let (Some(object), Some(old)) = (object.as_object_mut(), old.as_object()) else { return };
    match subresource {
        Some("status") => {
            let status = object.remove("status");
            let metadata = object.remove("metadata");
            *object = old.clone();
            if let Some(metadata) = metadata {
                object.insert("metadata".into(), metadata);
            }
            match status {
                Some(status) => object.insert("status".into(), status),
                None => object.remove("status"),
            };
        }
        _ => {
            match old.get("status") {
                Some(status) => object.insert("status".into(), status.clone()),
                None => object.remove("status"),
            };
        }
    }
}
