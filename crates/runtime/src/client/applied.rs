//! Remembers what was applied last, so that applying the same again needs no request.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::object::{Kind, ObjectKey, Record};

/// The limit of remembered objects. Applying a forgotten object costs a request.
const MOST: usize = 100_000;

/// The field owner and the object that was applied.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ApplyKey {
    pub(super) kind: Kind,
    pub(super) key: ObjectKey,
    pub(super) owner: Arc<str>,
    pub(super) subresource: Option<String>,
}

#[derive(Debug)]
struct LastApply {
    fingerprint: u64,
    uid: String,
    resource_version: String,
}

#[derive(Debug, Default)]
pub(super) struct AppliedMemory(Mutex<HashMap<ApplyKey, LastApply>>);

impl AppliedMemory {
    /// Whether applying `wanted` would change nothing, given the object as the cache has it.
    ///
    /// It was applied before, so there is nothing to remove; and either nobody changed the object since, or what is wanted is
    /// still part of it. Where that cannot be seen (lists that others added to, values that the server writes differently), the
    /// answer is no, and the server decides.
    pub(super) fn is_unchanged(&self, slot: &ApplyKey, wanted: &Value, present: &Record) -> bool {
        let mut memory = self.0.lock();
        let Some(last) = memory.get_mut(slot) else {
            return false;
        };
        if last.fingerprint != fingerprint(wanted) || last.uid != present.uid() {
            return false;
        }
        if last.resource_version == present.resource_version() {
            return true;
        }
        let is_unchanged = present
            .decode::<Value>()
            .is_ok_and(|present| is_part_of(wanted, &present));
        if is_unchanged {
            // The next time it need not be looked at again.
            last.resource_version = present.resource_version().into_owned();
        }
        is_unchanged
    }

    pub(super) fn remember(&self, slot: ApplyKey, wanted: &Value, answer: &Record) {
        let mut memory = self.0.lock();
        if memory.len() >= MOST {
            memory.clear();
        }
        let last = LastApply {
            fingerprint: fingerprint(wanted),
            uid: answer.uid().into_owned(),
            resource_version: answer.resource_version().into_owned(),
        };
        memory.insert(slot, last);
    }

    /// Forgets an object that is being deleted.
    pub(super) fn forget(&self, kind: &Kind, key: &ObjectKey) {
        self.0.lock().retain(|slot, _| slot.key != *key || slot.kind != *kind);
    }
}

/// Equal values have equal fingerprints, since maps are sorted.
fn fingerprint(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    hash(value, &mut hasher);
    hasher.finish()
}

/// Every value begins with what it is, and what has a length with its length: no two values are written alike.
fn hash(value: &Value, hasher: &mut DefaultHasher) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Value::Null => {}
        Value::Bool(value) => value.hash(hasher),
        Value::Number(number) => number.hash(hasher),
        Value::String(text) => text.hash(hasher),
        Value::Array(items) => {
            items.len().hash(hasher);
            for item in items {
                hash(item, hasher);
            }
        }
        Value::Object(members) => {
            members.len().hash(hasher);
            for (name, value) in members {
                name.hash(hasher);
                hash(value, hasher);
            }
        }
    }
}

/// Whether every member of `wanted` is in `present` with an equal value; lists must be equal item by item.
fn is_part_of(wanted: &Value, present: &Value) -> bool {
    match (wanted, present) {
        (Value::Object(wanted), Value::Object(present)) => wanted
            .iter()
            .all(|(name, value)| present.get(name).is_some_and(|present| is_part_of(value, present))),
        (Value::Array(wanted), Value::Array(present)) => {
            wanted.len() == present.len()
                && wanted
                    .iter()
                    .zip(present)
                    .all(|(wanted, present)| is_part_of(wanted, present))
        }
        _ => wanted == present,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;

    fn slot() -> ApplyKey {
        ApplyKey {
            kind: Kind::of::<ConfigMap>(),
            key: ObjectKey::namespaced("n", "a"),
            owner: "me".into(),
            subresource: None,
        }
    }

    fn record(uid: &str, version: &str, data: &Value) -> Record {
        let value = json!({
            "metadata": { "name": "a", "namespace": "n", "uid": uid, "resourceVersion": version }, "data": data,
        });
        Record::parse(value.to_string().as_bytes(), &Kind::of::<ConfigMap>()).unwrap()
    }

    #[test]
    fn the_same_again_is_unchanged_until_somebody_interferes() {
        let memory = AppliedMemory::default();
        let wanted = json!({ "data": { "k": "v" } });
        let answer = record("1", "7", &json!({ "k": "v" }));
        assert!(!memory.is_unchanged(&slot(), &wanted, &answer));
        memory.remember(slot(), &wanted, &answer);
        assert!(memory.is_unchanged(&slot(), &wanted, &answer));
        // Somebody added a field: what we want is still there.
        assert!(memory.is_unchanged(&slot(), &wanted, &record("1", "8", &json!({ "k": "v", "other": "x" }))));
        // And so it is when nobody changed anything since.
        assert!(memory.is_unchanged(&slot(), &wanted, &record("1", "8", &json!({ "k": "v", "other": "x" }))));
        // Somebody changed ours.
        assert!(!memory.is_unchanged(&slot(), &wanted, &record("1", "9", &json!({ "k": "theirs" }))));
        // We want less than before: the server must remove the rest.
        assert!(!memory.is_unchanged(&slot(), &json!({ "data": {} }), &answer));
        // It is another object.
        assert!(!memory.is_unchanged(&slot(), &wanted, &record("2", "7", &json!({ "k": "v" }))));
        memory.forget(&slot().kind, &slot().key);
        assert!(!memory.is_unchanged(&slot(), &wanted, &answer));
    }
}
