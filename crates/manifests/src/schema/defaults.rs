//! Defaults as a server takes them: without the nulls that an absent `Option` leaves behind.

use serde_json::{Map, Value};

/// Takes out of a default what only says that a field is not there. A default that says nothing else goes.
pub(super) fn settle(schema: &mut Map<String, Value>) {
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
