//! Defaults that an API server accepts: without the nulls that serde writes for an absent `Option`.

use serde_json::{Map, Value};

/// Removes nulls from a default, and the default itself if nothing else is left.
pub(super) fn remove_nulls(schema: &mut Map<String, Value>) {
    if schema.get("nullable") == Some(&Value::Bool(true)) {
        return;
    }
    if let Some(default) = schema.get_mut("default") {
        without_nulls(default);
        if default.is_null() {
            schema.remove("default");
        }
    }
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}
