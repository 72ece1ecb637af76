//! The fields that were set, and what went wrong with one of them.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::{Error, Map, Value};

/// Fields of an object, of which some are set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    members: Map<String, Value>,
    /// The first field that could not be written as JSON. It is told when the object is sent, where errors are expected.
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

    pub(super) fn of(members: Map<String, Value>) -> Self {
        Fields { members, mistake: None }
    }

    pub(super) fn members(&self) -> Result<&Map<String, Value>, &str> {
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
