//! The annotation in which an object carries what its version cannot hold.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::delta::Delta;

/// All annotations of an object together, names and values: the API server accepts no more.
const MAX_ANNOTATIONS: usize = 256 << 10;

/// What other versions would lose, by the version that can hold it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Kept {
    by_version: BTreeMap<String, Delta>,
}

/// The name of the annotation for kinds of a group.
pub(super) fn annotation(group: &str) -> String {
    format!("{group}/conversion-data")
}

impl Kept {
    /// Takes the annotation off an object. What is not of our making is left out.
    pub(super) fn take(object: &mut Value, annotation: &str) -> Self {
        let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
            return Kept::default();
        };
        let Some(Value::Object(annotations)) = metadata.get_mut("annotations") else {
            return Kept::default();
        };
        let Some(text) = annotations.remove(annotation) else {
            return Kept::default();
        };
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
        let by_version = text.as_str().and_then(|text| serde_json::from_str(text).ok());
        let by_version: Map<String, Value> = by_version.unwrap_or_default();
        let known = by_version.into_iter();
        Kept {
            by_version: known
                .filter_map(|(version, delta)| Some((version, Delta::from_json(&delta)?)))
                .collect(),
        }
    }

    /// What a version gets back.
    pub(super) fn remove(&mut self, version: &str) -> Option<Delta> {
        self.by_version.remove(version)
    }

    /// What a version would lose.
    pub(super) fn insert(&mut self, version: &str, delta: Delta) {
        self.by_version.insert(version.to_owned(), delta);
    }

    /// Writes the annotation, if there is something to keep. Says whether it found room.
    pub(super) fn put(&self, object: &mut Value, annotation: &str) -> bool {
        if self.by_version.is_empty() {
            return true;
        }
        let by_version = self.by_version.iter();
        let by_version: Map<_, _> = by_version
            .map(|(version, delta)| (version.clone(), delta.to_json()))
            .collect();
        let text = Value::Object(by_version).to_string();
        let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
            return false;
        };
        let others = match metadata.get("annotations") {
            Some(Value::Object(annotations)) => annotations.iter().map(size).sum(),
            _ => 0,
        };
        if others + annotation.len() + text.len() > MAX_ANNOTATIONS {
            return false;
        }
        let annotations = metadata
            .entry("annotations")
            .or_insert_with(|| Value::Object(Map::new()));
        if annotations.is_null() {
            *annotations = Value::Object(Map::new());
        }
        match annotations {
            Value::Object(annotations) => {
                annotations.insert(annotation.to_owned(), text.into());
                true
            }
            _ => false,
        }
    }
}

fn size((name, value): (&String, &Value)) -> usize {
    name.len() + value.as_str().map_or(0, str::len)
}
