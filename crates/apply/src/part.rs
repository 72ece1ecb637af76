//! What stands for a value of a type in what is applied: the whole value, or its twin with some fields set.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Serialize;
use serde_json::{Error, Map, Value};

/// Stands for a `T`: the value itself, or the twin that `#[kubewright::schema]` writes beside a struct; a text for a quantity, a number or a
/// text for an int-or-string, a timestamp for a time; for the types of k8s-openapi, the builders of this crate.
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

impl Part<Quantity> for &str {
    fn into_value(self) -> Result<Value, Error> {
        Ok(Value::String(self.to_owned()))
    }
}

impl Part<Quantity> for String {
    fn into_value(self) -> Result<Value, Error> {
        Ok(Value::String(self))
    }
}

impl Part<IntOrString> for i32 {
    fn into_value(self) -> Result<Value, Error> {
        Ok(self.into())
    }
}

impl Part<IntOrString> for &str {
    fn into_value(self) -> Result<Value, Error> {
        Ok(Value::String(self.to_owned()))
    }
}

impl Part<IntOrString> for String {
    fn into_value(self) -> Result<Value, Error> {
        Ok(Value::String(self))
    }
}

impl Part<Time> for Timestamp {
    fn into_value(self) -> Result<Value, Error> {
        serde_json::to_value(Time(self))
    }
}

impl Part<MicroTime> for Timestamp {
    fn into_value(self) -> Result<Value, Error> {
        serde_json::to_value(MicroTime(self))
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
