//! The annotation that preserves the fields of other versions which an object's own version does not have.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::delta::Delta;

/// The API server's limit for the names and values of all annotations of an object.
const MAX_ANNOTATIONS: usize = 256 << 10;

/// The preserved fields, by the version that has them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PreservedFields {
    by_version: BTreeMap<String, Delta>,
}

/// The name of the annotation for kinds of a group.
pub(super) fn annotation(group: &str) -> String {
    format!("{group}/conversion-data")
}

impl PreservedFields {
    /// Removes the annotation from an object and reads it. A malformed annotation is ignored.
    pub(super) fn take(object: &mut Value, annotation: &str) -> Self {
        let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
            return PreservedFields::default();
        };
        let Some(Value::Object(annotations)) = metadata.get_mut("annotations") else {
            return PreservedFields::default();
        };
        let Some(text) = annotations.remove(annotation) else {
            return PreservedFields::default();
        };
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
        let by_version = text.as_str().and_then(|text| serde_json::from_str(text).ok());
        let by_version: Map<String, Value> = by_version.unwrap_or_default();
        let known = by_version.into_iter();
        PreservedFields {
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
