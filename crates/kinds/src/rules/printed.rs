//! Values that upstream prints as its internal structures: fields in the order of the structure, under its names. A JSON
//! value would sort them, so the text stands where the value would.

use kubewright_apimachinery::field::{BadValue, ErrorType, FieldError, PathRef};
use serde_json::Value;

/// `Invalid value: <shown>: <words>`.
pub(crate) fn invalid(path: &PathRef<'_>, shown: &str, words: &str) -> FieldError {
    FieldError::invalid(path, BadValue::verbatim(shown), words)
}

/// `Unsupported value: <shown>: supported values: <supported>`.
pub(crate) fn not_supported(path: &PathRef<'_>, shown: &str, supported: &[&str]) -> FieldError {
    FieldError::not_supported(path, BadValue::verbatim(shown), supported)
}

/// `Duplicate value: <shown>`.
pub(crate) fn duplicate(path: &PathRef<'_>, shown: String) -> FieldError {
    FieldError::duplicate(path, BadValue::verbatim(shown))
}

/// `Invalid value: <words>`: upstream shows no value.
pub(crate) fn invalid_without_value(path: &PathRef<'_>, words: &str) -> FieldError {
    FieldError::new(ErrorType::Invalid, path, None, words)
}

/// An optional value as Go prints a pointer to it.
pub(crate) fn pointer(value: Option<&Value>) -> String {
    value.map_or_else(|| "null".to_owned(), ToString::to_string)
}

/// The JSON of `object` with `order`'s fields first, in that order; fields not named follow, sorted.
pub(crate) fn ordered(object: &Value, order: &[&str]) -> String {
    let Some(fields) = object.as_object() else {
        return object.to_string();
    };
    let named = order.iter().filter_map(|name| fields.get_key_value(*name));
    let others = fields.iter().filter(|(name, _)| !order.contains(&name.as_str()));
    let entries: Vec<String> = named
        .chain(others)
        .map(|(name, value)| format!("{}:{value}", Value::from(name.as_str())))
        .collect();
    format!("{{{}}}", entries.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn structs_are_shown_in_their_own_order() {
        let owner = json!({"name": "n", "apiVersion": "v1", "zz": 1});
        assert_eq!(
            ordered(&owner, &["apiVersion", "kind", "name"]),
            r#"{"apiVersion":"v1","name":"n","zz":1}"#
        );
    }
}
