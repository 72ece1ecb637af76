//! Small readers of an object in flight. A field that is absent, null or of another type reads as its zero value, the
//! way a Go struct would hold it: decoding has already refused wrong types.

use kubewright_apimachinery::field::{BadValue, Errors, FieldError, PathRef};
use serde_json::{Map, Value};

/// The value at `path` below `object`; `None` when it is absent or null.
pub(crate) fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    let found = path.iter().try_fold(object, |value, step| value.get(step))?;
    (!found.is_null()).then_some(found)
}

/// The field `name`; null where there is none, which reads as an object without fields.
pub(crate) fn part<'a>(object: &'a Value, name: &str) -> &'a Value {
    object.get(name).unwrap_or(&Value::Null)
}

/// The string at `path`; empty when there is none.
pub(crate) fn str_at<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// The string at `path`, when the field is set.
pub(crate) fn opt_str_at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(object, path).and_then(Value::as_str)
}

/// The integer at `path`; zero when there is none.
pub(crate) fn int_at(object: &Value, path: &[&str]) -> i64 {
    opt_int_at(object, path).unwrap_or_default()
}

/// The integer at `path`, when the field is set.
pub(crate) fn opt_int_at(object: &Value, path: &[&str]) -> Option<i64> {
    at(object, path).and_then(Value::as_i64)
}

/// The boolean at `path`; false when there is none.
pub(crate) fn bool_at(object: &Value, path: &[&str]) -> bool {
    opt_bool_at(object, path).unwrap_or_default()
}

/// The boolean at `path`, when the field is set.
pub(crate) fn opt_bool_at(object: &Value, path: &[&str]) -> Option<bool> {
    at(object, path).and_then(Value::as_bool)
}

/// The items of the list at `path`; none when there is no list.
pub(crate) fn list_at<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    at(object, path)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// The entries of the object or map at `path`, when there is one.
pub(crate) fn map_at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Map<String, Value>> {
    at(object, path).and_then(Value::as_object)
}

/// The entries of a map of strings at `path`, sorted by key.
pub(crate) fn entries_at<'a>(object: &'a Value, path: &[&str]) -> impl Iterator<Item = (&'a str, &'a str)> {
    map_at(object, path)
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

/// The strings of the list at `path`.
pub(crate) fn strings_at<'a>(object: &'a Value, path: &[&str]) -> Vec<&'a str> {
    list_at(object, path)
        .iter()
        .map(|item| item.as_str().unwrap_or_default())
        .collect()
}

/// Whether the field at `path` is absent, null, or empty: what Go's `omitempty` leaves out.
pub(crate) fn is_unset(object: &Value, path: &[&str]) -> bool {
    at(object, path).is_none_or(is_empty)
}

/// Whether a value is the zero value of its type.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// The map below `object` at `path`, made where it is missing; `None` if a step of the path is something else.
pub(crate) fn map_mut<'a>(object: &'a mut Value, path: &[&str]) -> Option<&'a mut Map<String, Value>> {
    let mut value = object;
    for step in path {
        value = value.as_object_mut()?.entry(*step).or_insert(Value::Null);
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
    }
    value.as_object_mut()
}

/// Sets the field `name` of the map at `path` unless it has a value.
pub(crate) fn set_default(object: &mut Value, path: &[&str], name: &str, default: impl Into<Value>) {
    if let Some(map) = map_mut(object, path) {
        let slot = map.entry(name).or_insert(Value::Null);
        if slot.is_null() {
            *slot = default.into();
        }
    }
}

/// As [`set_default`], where the empty string counts as no value: a Go string without a pointer.
pub(crate) fn set_default_str(object: &mut Value, path: &[&str], name: &str, default: &str) {
    if let Some(map) = map_mut(object, path) {
        let slot = map.entry(name).or_insert(Value::Null);
        if slot.is_null() || slot.as_str() == Some("") {
            *slot = default.into();
        }
    }
}

/// Removes the field at `path`.
pub(crate) fn remove(object: &mut Value, path: &[&str]) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let parent = parents.iter().try_fold(object, |value, step| value.get_mut(step));
    if let Some(fields) = parent.and_then(Value::as_object_mut) {
        fields.remove(*last);
    }
}

/// Makes the field at `path` what it is in `old`: set to the same value, or absent.
pub(crate) fn keep(object: &mut Value, old: &Value, path: &[&str]) {
    match (at(old, path), path.split_last()) {
        (Some(value), Some((last, parents))) => {
            if let Some(fields) = map_mut(object, parents) {
                fields.insert((*last).to_owned(), value.clone());
            }
        }
        _ => remove(object, path),
    }
}

/// Reports each message about `value`.
pub(crate) fn complain(path: &PathRef<'_>, value: impl Into<BadValue>, complaints: Vec<String>, errors: &mut Errors) {
    if complaints.is_empty() {
        return;
    }
    let value = value.into();
    errors.extend(
        complaints
            .into_iter()
            .map(|words| FieldError::invalid(path, value.clone(), words)),
    );
}

/// Reports each message of `rule` about the text of `field`, if it is set.
pub(crate) fn complain_if_set(
    holder: &Value,
    field: &str,
    rule: fn(&str) -> Vec<String>,
    path: &PathRef<'_>,
    errors: &mut Errors,
) {
    let value = str_at(holder, &[field]);
    if !value.is_empty() {
        complain(&path.child(field), value, rule(value), errors);
    }
}

/// Requires the text of `field`, and reports each message of `rule` about it.
pub(crate) fn require_name(
    holder: &Value,
    field: &str,
    rule: fn(&str) -> Vec<String>,
    path: &PathRef<'_>,
    errors: &mut Errors,
) {
    if str_at(holder, &[field]).is_empty() {
        errors.push(FieldError::required(&path.child(field), ""));
    } else {
        complain_if_set(holder, field, rule, path, errors);
    }
}

/// What upstream says of a field that may not change.
pub(crate) const IMMUTABLE: &str = "field is immutable";

/// Whether two values mean the same: unset, null and empty are one, as in a semantic comparison of Go structs.
pub(crate) fn same(new: Option<&Value>, old: Option<&Value>) -> bool {
    match (
        new.filter(|value| !is_hollow(value)),
        old.filter(|value| !is_hollow(value)),
    ) {
        (None, None) => true,
        (Some(Value::Object(new)), Some(Value::Object(old))) => {
            // What both have is compared once: twice at every level would take time exponential in the depth.
            new.iter().all(|(key, value)| same(Some(value), old.get(key)))
                && old.iter().all(|(key, value)| new.contains_key(key) || is_hollow(value))
        }
        (Some(Value::Array(new)), Some(Value::Array(old))) => {
            new.len() == old.len() && new.iter().zip(old).all(|(new, old)| same(Some(new), Some(old)))
        }
        (new, old) => new == old,
    }
}

/// Null, empty collections, which Go's semantic equality does not tell from absence, and objects that hold nothing else.
fn is_hollow(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_hollow),
        _ => false,
    }
}

/// The field may not differ from the stored one. `path` is both where to look and what the error names.
pub(crate) fn require_immutable(new: &Value, old: &Value, path: &[&str], errors: &mut Errors) {
    let (new, old) = (at(new, path), at(old, path));
    if !same(new, old) {
        with_path(path, &mut |place| {
            errors.push(FieldError::invalid(
                place,
                new.cloned().unwrap_or(Value::Null),
                IMMUTABLE,
            ));
        });
    }
}

/// The text may not differ from the stored one, where none is as good as an empty one.
pub(crate) fn require_immutable_str(new: &Value, old: &Value, path: &[&str], errors: &mut Errors) {
    let new = str_at(new, path);
    if new != str_at(old, path) {
        with_path(path, &mut |place| {
            errors.push(FieldError::invalid(place, new, IMMUTABLE));
        });
    }
}

/// The value may not differ from the stored one; the error names `path`.
pub(crate) fn require_same(new: Option<&Value>, old: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    if !same(new, old) {
        errors.push(FieldError::invalid(
            path,
            new.cloned().unwrap_or(Value::Null),
            IMMUTABLE,
        ));
    }
}

/// The number may not be negative.
pub(crate) fn require_non_negative(value: i64, path: &PathRef<'_>, errors: &mut Errors) {
    if value < 0 {
        errors.push(FieldError::invalid(path, value, "must be greater than or equal to 0"));
    }
}

/// Calls `then` with the field path of `steps`.
fn with_path(steps: &[&str], then: &mut dyn FnMut(&PathRef<'_>)) {
    fn descend(path: &PathRef<'_>, rest: &[&str], then: &mut dyn FnMut(&PathRef<'_>)) {
        match rest {
            [] => then(path),
            [step, rest @ ..] => descend(&path.child(step), rest, then),
        }
    }
    if let [first, rest @ ..] = steps {
        descend(&PathRef::root(first), rest, then);
    }
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
