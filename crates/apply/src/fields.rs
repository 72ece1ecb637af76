//! The fields that were set, and what went wrong with one of them.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::{Error, Map, Value};

/// Fields of an object, of which some are set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    members: Map<String, Value>,
    /// The error of the first field that could not be written as JSON. It is returned when the object is sent, where errors are expected.
    mistake: Option<String>,
}

impl Fields {
    /// Sets a field.
    pub fn set(&mut self, name: &str, value: Result<Value, Error>) {
        match value {
            Ok(value) => {
                self.members.insert(name.to_owned(), value);
            }
            Err(error) => self.note(name, &error),
        }
    }

    /// Sets all fields of a flattened struct or map.
    pub fn merge(&mut self, value: Result<Value, Error>) {
        match value {
            Ok(Value::Object(members)) => self.members.extend(members),
            Ok(_) => {}
            Err(error) => self.note("a flattened field", &error),
        }
    }

    /// Adds entries to a map; an entry with the key of an earlier one takes its place.
    pub(crate) fn extend(&mut self, name: &str, value: Result<Value, Error>) {
        match (self.members.get_mut(name), value) {
            (Some(Value::Object(entries)), Ok(Value::Object(further))) => entries.extend(further),
            (_, value) => self.set(name, value),
        }
    }

    /// Adds values to a set: those that it has already are left out.
    pub(crate) fn add(&mut self, name: &str, value: Result<Value, Error>) {
        self.add_items(name, value, |one, other| one == other);
    }

    /// Adds items to a list with keys: an item with the keys of an earlier one takes its place. A key that an item lacks counts as
    /// the default beside it.
    pub(crate) fn add_keyed(&mut self, name: &str, value: Result<Value, Error>, keys: &[(&str, Option<&str>)]) {
        self.add_items(name, value, |one, other| {
            keys.iter().all(|(key, default)| {
                let [one, other] = [one, other].map(|item| match item.get(key) {
                    None => default.map(|default| Value::String(default.to_owned())),
                    Some(value) => Some(value.clone()),
                });
                one == other
            })
        });
    }

    fn add_items(&mut self, name: &str, value: Result<Value, Error>, same: impl Fn(&Value, &Value) -> bool) {
        let further = match value {
            Ok(Value::Array(further)) => further,
            value => return self.set(name, value),
        };
        let list = self.members.entry(name).or_insert_with(|| Value::Array(Vec::new()));
        let Value::Array(items) = list else { return };
        for item in further {
            match items.iter_mut().find(|earlier| same(earlier, &item)) {
                Some(earlier) => *earlier = item,
                None => items.push(item),
            }
        }
    }

    /// A field, if it is set.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.members.get(name)
    }

    /// The fields as JSON, or why one of them cannot be written as JSON.
    pub fn into_value(self) -> Result<Value, Error> {
        match self.mistake {
            Some(mistake) => Err(de::Error::custom(mistake)),
            None => Ok(Value::Object(self.members)),
        }
    }

    pub(crate) fn of(members: Map<String, Value>) -> Self {
        Fields { members, mistake: None }
    }

    pub(crate) fn members(&self) -> Result<&Map<String, Value>, &str> {
        match &self.mistake {
            Some(mistake) => Err(mistake),
            None => Ok(&self.members),
        }
    }

    fn note(&mut self, name: &str, error: &Error) {
        self.mistake.get_or_insert_with(|| format!("{name}: {error}"));
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.members().map_err(ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Fields::of)
    }
}
