//! Readers of fields of a definition: an absent field reads as the zero value of its Go type.

use serde_json::{Map, Value};

/// The value at `path`; null counts as absent.
pub(crate) fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    let found = path.iter().try_fold(object, |value, name| value.get(name))?;
    (!found.is_null()).then_some(found)
}

/// The text at `path`, or the empty one.
pub(crate) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// The flag at `path`, or false.
pub(crate) fn flag(object: &Value, path: &[&str]) -> bool {
    at(object, path).and_then(Value::as_bool).unwrap_or_default()
}

/// The items at `path`, or none.
pub(crate) fn list<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    at(object, path)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// The texts of the list at `path`.
pub(crate) fn texts<'a>(object: &'a Value, path: &[&str]) -> Vec<&'a str> {
    list(object, path).iter().filter_map(Value::as_str).collect()
}

/// The object at `path`, made if it is missing; `None` if a step of the path is something else.
pub(crate) fn object_mut<'a>(object: &'a mut Value, path: &[&str]) -> Option<&'a mut Map<String, Value>> {
    let mut here = object;
    for name in path {
        let fields = here.as_object_mut()?;
        let next = fields.entry(*name).or_insert(Value::Null);
        if next.is_null() {
            *next = Value::Object(Map::new());
        }
        here = next;
    }
    here.as_object_mut()
}
