//! Conversion rules of a case's webhook: fields that are moved, set or removed when an object is converted to another version.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

/// The rules for objects that are converted to one version.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Conversion {
    /// The target version; every version if empty.
    to: String,
    /// By JSON pointer of a value, the pointer that it moves to.
    r#move: BTreeMap<String, String>,
    /// Values by JSON pointer.
    set: BTreeMap<String, Value>,
    /// JSON pointers of the values to remove.
    remove: Vec<String>,
    /// An apiVersion that is set instead of the wanted one, to try how a server handles that.
    claim: Option<String>,
}

impl Conversion {
    fn concerns(&self, wanted: &str) -> bool {
        self.to.is_empty() || wanted.rsplit('/').next() == Some(self.to.as_str())
    }

    /// Converts an object that is not yet of the wanted version.
    pub(super) fn apply(&self, object: &mut Value, wanted: &str) {
        if !self.concerns(wanted) || object["apiVersion"] == wanted {
            return;
        }
        for (from, to) in &self.r#move {
            if let Some(value) = taken(object, from) {
                put(object, to, value);
            }
        }
        for (pointer, value) in &self.set {
            put(object, pointer, value.clone());
        }
        for pointer in &self.remove {
            taken(object, pointer);
        }
    }

    /// Sets the apiVersion of `claim`, if the rules have one.
    pub(super) fn spoil(&self, object: &mut Value, wanted: &str) {
        if let Some(claim) = self.claim.as_ref().filter(|_| self.concerns(wanted)) {
            object["apiVersion"] = json!(claim);
        }
    }
}

fn split(pointer: &str) -> Option<(&str, String)> {
    let (parent, key) = pointer.rsplit_once('/')?;
    Some((parent, key.replace("~1", "/").replace("~0", "~")))
}

fn taken(document: &mut Value, pointer: &str) -> Option<Value> {
    let (parent, key) = split(pointer)?;
    document.pointer_mut(parent)?.as_object_mut()?.remove(&key)
}

/// Sets a field and creates missing objects on its path.
fn put(document: &mut Value, pointer: &str, value: Value) {
    let mut place = document;
    for key in pointer.split('/').skip(1) {
        let key = key.replace("~1", "/").replace("~0", "~");
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[key];
    }
    *place = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_move_when_an_object_becomes_the_version() {
        let form = json!({"to": "v2", "move": {"/spec/size": "/spec/replicas"}, "set": {"/spec/on": true}, "remove": ["/old"]});
        let conversion = Conversion::deserialize(form).unwrap();
        let mut object = json!({"apiVersion": "g/v1", "spec": {"size": 3}, "old": 1});
        let same = object.clone();
        conversion.apply(&mut object, "g/v3");
        assert_eq!(object, same);
        conversion.apply(&mut object, "g/v2");
        assert_eq!(
            object,
            json!({"apiVersion": "g/v1", "spec": {"replicas": 3, "on": true}})
        );
    }
}
