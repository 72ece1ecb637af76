//! Times of a write that changed nothing (M6).

use serde_json::Value;

use super::metadata::{managed_fields, metadata, metadata_mut};
use crate::managed::equal_values;

/// Gives the owners of `new` the times of `old` if nothing but these times differs, so that nothing is written.
///
/// To be called last, once `new` is defaulted and admitted.
pub fn keep_times_of_a_no_op(old: &Value, new: &mut Value) {
    let (Some(old_owners), Some(new_owners)) = (managed_fields(old).as_array(), managed_fields(new).as_array()) else {
        return;
    };
    let same_owners = old_owners.len() == new_owners.len()
        && old_owners
            .iter()
            .zip(new_owners)
            .all(|(old, new)| equal_without(old, new, "time", |_, _| true));
    if old_owners.is_empty() || old_owners == new_owners || !same_owners {
        return;
    }
    let same_metadata = |old: &Value, new: &Value| equal_without(old, new, "managedFields", |_, _| true);
    if !equal_without(old, new, "metadata", same_metadata) {
        return;
    }
    let owners = metadata(old)
        .and_then(|metadata| metadata.get("managedFields"))
        .cloned();
    if let (Some(metadata), Some(owners)) = (metadata_mut(new), owners) {
        metadata.insert("managedFields".to_owned(), owners);
    }
}

/// Whether two objects are equal, one field of them, which may be missing, being compared by `equal`.
fn equal_without(left: &Value, right: &Value, name: &str, equal: impl Fn(&Value, &Value) -> bool) -> bool {
    let (Value::Object(left), Value::Object(right)) = (left, right) else {
        return equal_values(left, right);
    };
    let others = |fields: &serde_json::Map<String, Value>| fields.len() - usize::from(fields.contains_key(name));
    others(left) == others(right)
        && left
            .iter()
            .filter(|(field, _)| *field != name)
            .all(|(field, value)| right.get(field).is_some_and(|other| equal_values(value, other)))
        && equal(
            left.get(name).unwrap_or(&Value::Null),
            right.get(name).unwrap_or(&Value::Null),
        )
}
