//! JSON merge patch (RFC 7386) as upstream applies it (W4).

use kubewright_apimachinery::go::value::json_kind;
use serde_json::map::Entry;
use serde_json::{Map, Value};

use crate::patch_error::PatchError;

/// Applies a merge patch to an object.
///
/// `checked` says whether the patch's fields are validated (`fieldValidation` is not `Ignore`), which changes how
/// upstream words its refusal of a patch that is not an object.
pub fn apply(object: Value, patch: Value, checked: bool) -> Result<Value, PatchError> {
    let fields = match patch {
        Value::Object(fields) => fields,
        // Unlike other scalars, null reads as an empty map, and is refused only then.
        patch if checked && !patch.is_null() => {
            let kind = json_kind(&patch);
            return Err(PatchError::Malformed(format!(
                "error decoding patch: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
            )));
        }
        // Without validation a list takes the object's place; decoding the result then fails.
        Value::Array(mut items) => {
            items.iter_mut().for_each(prune_nulls);
            return Ok(Value::Array(items));
        }
        _ => return Err(PatchError::Malformed("Invalid JSON Patch".to_owned())),
    };
    Ok(match object {
        Value::Object(mut object) => {
            merge_fields(&mut object, fields);
            Value::Object(object)
        }
        _ => without_nulls(Value::Object(fields)),
    })
}

fn merge_fields(object: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, change) in patch {
        if change.is_null() {
            object.remove(&name);
            continue;
        }
        match object.entry(name) {
            Entry::Vacant(entry) => drop(entry.insert(without_nulls(change))),
            Entry::Occupied(mut entry) => match (entry.get_mut(), change) {
                (Value::Object(current), Value::Object(change)) => merge_fields(current, change),
                // Upstream prunes what replaces a value that is not an object, and leaves a list or scalar that
                // replaces an object as it is.
                (Value::Object(_), change) => drop(entry.insert(change)),
                (_, change) => drop(entry.insert(without_nulls(change))),
            },
        }
    }
}

/// Nulls in objects mean deletion, also where there is nothing to delete; nulls in lists stay.
fn without_nulls(mut value: Value) -> Value {
    prune_nulls(&mut value);
    value
}

fn prune_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(prune_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(prune_nulls),
        _ => {}
    }
}
