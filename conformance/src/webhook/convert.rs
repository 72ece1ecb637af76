//! Conversion in the small: fields that move, are set or go when an object becomes one of another version.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

/// What happens to objects that become one version.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Conversion {
    /// The version that objects become; any if empty.
    to: String,
    /// JSON pointer → where its value goes.
    r#move: BTreeMap<String, String>,
    /// JSON pointer → value.
    set: BTreeMap<String, Value>,
    /// JSON pointers to what goes.
    remove: Vec<String>,
    /// What the objects' apiVersion becomes in place of the wanted one.
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

    /// Claims another version than the wanted one, if it is told to.
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

/// Sets a field and makes the objects on the way to it.
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
