//! What stands for a value of a type in what is applied: the whole value, or its twin with some fields set.

use serde::Serialize;
use serde_json::{Error, Map, Value};

/// Stands for a `T`: the value itself, or the twin that `#[kubewright::schema]` writes beside a struct.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not stand for a `{T}` in what is applied",
    note = "give a `{T}`, or the twin that `#[kubewright::schema]` writes beside it: its name ends in `Apply`"
)]
pub trait Part<T> {
    /// As JSON.
    fn into_value(self) -> Result<Value, Error>;
}

impl<T: Serialize> Part<T> for T {
    fn into_value(self) -> Result<Value, Error> {
        serde_json::to_value(self)
    }
}

impl Part<String> for &str {
    fn into_value(self) -> Result<Value, Error> {
        Ok(Value::String(self.to_owned()))
    }
}

impl Part<String> for &String {
    fn into_value(self) -> Result<Value, Error> {
        Ok(Value::String(self.clone()))
    }
}

/// A list of parts.
pub fn list<I: IntoIterator>(items: I, item: impl FnMut(I::Item) -> Result<Value, Error>) -> Result<Value, Error> {
    items
        .into_iter()
        .map(item)
        .collect::<Result<Vec<Value>, Error>>()
        .map(Value::Array)
}

/// A map of parts. Keys are written as JSON writes them.
pub fn map<K: Serialize, N: Into<K>, V>(
    items: impl IntoIterator<Item = (N, V)>,
    mut item: impl FnMut(V) -> Result<Value, Error>,
) -> Result<Value, Error> {
    let mut members = Map::new();
    for (name, value) in items {
        let one = std::collections::BTreeMap::from([(Key(name.into()), item(value)?)]);
        if let Value::Object(one) = serde_json::to_value(one)? {
            members.extend(one);
        }
    }
    Ok(Value::Object(members))
}

/// A key of a map with one entry, so it is never compared with another.
struct Key<K>(K);

impl<K: Serialize> Serialize for Key<K> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<K> PartialEq for Key<K> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<K> Eq for Key<K> {}

impl<K> PartialOrd for Key<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> Ord for Key<K> {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}
