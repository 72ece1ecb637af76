//! A generated case: its parts in the form of a case file, and the text of that file.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::weights::Class;
use crate::case::{CaseError, CaseFile};

/// A case that a generator made, or that shrinking made of one.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedCase {
    /// What it is about.
    pub class: Class,
    /// The seed of its run.
    pub seed: u64,
    /// Its place in the run.
    pub index: u64,
    /// The objects that exist before the first step.
    pub given: Vec<Value>,
    /// Its steps, in the form of a case file.
    pub steps: Vec<Value>,
}

impl GeneratedCase {
    /// Its name within the run.
    pub fn name(&self) -> String {
        format!("{}-{}-{}", self.class, self.seed, self.index)
    }

    /// The text of its case file, which the recorder takes as it is.
    pub fn text(&self) -> String {
        let mut text = format!(
            "title: Case {} of the generator of {} with seed {}\ncovers: [{}]\n",
            self.index,
            self.class,
            self.seed,
            self.class.covers()
        );
        for (part, items) in [("given", &self.given), ("steps", &self.steps)] {
            if !items.is_empty() || part == "steps" {
                let written = yaml_serde::to_string(&json!({part: items}));
                text.push_str(&written.expect("a value of JSON is a value of YAML"));
            }
        }
        text
    }

    /// The case file of that text.
    pub fn file(&self) -> Result<CaseFile, CaseError> {
        CaseFile::parse(PathBuf::from(format!("{}.yaml", self.name())), self.name(), self.text())
    }
}

/// A step that sends a request.
#[derive(Clone, Debug)]
pub struct Step(Map<String, Value>);

impl Step {
    /// A request without a body.
    pub fn new(method: &str, path: &str) -> Self {
        Step(Map::from_iter([(
            "request".to_owned(),
            json!(format!("{method} {path}")),
        )]))
    }

    /// With a body of JSON, sent under the type that the case format calls `content`.
    pub fn body(mut self, content: &str, body: Value) -> Self {
        if content != "json" {
            self.0.insert("as".to_owned(), json!(content));
        }
        self.0.insert("body".to_owned(), body);
        self
    }

    /// With a text as its body.
    pub fn text(mut self, content: &str, text: &str) -> Self {
        if content != "json" {
            self.0.insert("as".to_owned(), json!(content));
        }
        self.0.insert("text".to_owned(), json!(text));
        self
    }

    /// With any other member of a step.
    pub fn with(mut self, member: &str, value: Value) -> Self {
        self.0.insert(member.to_owned(), value);
        self
    }

    /// With a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let headers = self.0.entry("headers").or_insert_with(|| json!({}));
        headers[name] = json!(value);
        self
    }
}

impl From<Step> for Value {
    fn from(step: Step) -> Self {
        Value::Object(step.0)
    }
}
