//! Values that upstream prints as its internal structures: fields in the order of the structure, under its names. A JSON
//! value would sort them, so the text stands where the value would.

use kubewright_schema::field::{Error, ErrorKind, Path, go_quote};
use serde_json::Value;

/// `Invalid value: <shown>: <words>`.
pub(crate) fn invalid(path: &Path<'_>, shown: &str, words: &str) -> Error {
    error(ErrorKind::Invalid, path, format!("{shown}: {words}"))
}

/// `Unsupported value: <shown>: supported values: <supported>`.
pub(crate) fn not_supported(path: &Path<'_>, shown: &str, supported: &[&str]) -> Error {
    let listed: Vec<String> = supported.iter().map(|value| go_quote(value)).collect();
    let detail = format!("{shown}: supported values: {}", listed.join(", "));
    error(ErrorKind::NotSupported, path, detail)
}

/// `Duplicate value: <shown>`.
pub(crate) fn duplicate(path: &Path<'_>, shown: String) -> Error {
    error(ErrorKind::Duplicate, path, shown)
}

/// `Invalid value: <words>`: upstream shows no value.
pub(crate) fn invalid_unshown(path: &Path<'_>, words: &str) -> Error {
    error(ErrorKind::Invalid, path, words.to_owned())
}

fn error(kind: ErrorKind, path: &Path<'_>, detail: String) -> Error {
    Error {
        kind,
        field: path.to_string(),
        value: None,
        detail,
    }
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
