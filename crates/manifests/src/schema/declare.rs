//! Gives every schema a `type`: a structural schema must have one, or preserve unknown fields.

use serde_json::{Map, Value};

use super::find_type::{PathSegment, field_path, find_type};
use super::{keywords, rewrite};
use crate::{Location, Problem};

/// Adds the type that other keywords of a schema imply, if it has none.
pub(super) fn imply(schema: &mut Map<String, Value>) {
    if is_declared(schema) {
        return;
    }
    let implied = if schema.contains_key("properties") || schema.contains_key("additionalProperties") {
        Some("object")
    } else if schema.contains_key("items") {
        Some("array")
    } else {
        schema
            .get("enum")
            .and_then(Value::as_array)
            .and_then(|values| type_of_all(values))
    };
    if let Some(implied) = implied {
        schema.insert("type".into(), implied.into());
    }
}

/// Makes sure that every schema within a whole one declares its type. `root` is the type's schema, and `at` its field.
pub(super) fn everywhere(schema: &mut Map<String, Value>, root: &Value, at: &str) -> Vec<Problem> {
    let mut declarer = Declarer {
        root,
        at,
        segments: Vec::new(),
        problems: Vec::new(),
    };
    declarer.schema(schema);
    declarer.problems
}

struct Declarer<'s> {
    root: &'s Value,
    at: &'s str,
    segments: Vec<PathSegment>,
    problems: Vec<Problem>,
}

impl Declarer<'_> {
    fn schema(&mut self, schema: &mut Map<String, Value>) {
        imply(schema);
        if !is_declared(schema) {
            let admits_everything =
                |key: &String| keywords::is_note(key) || matches!(key.as_str(), "default" | "nullable");
            if schema.keys().all(admits_everything) {
                schema.insert(rewrite::PRESERVE_UNKNOWN_FIELDS.into(), true.into());
            } else {
                self.refuse();
            }
        }
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            for (name, property) in properties.iter_mut() {
                self.within(PathSegment::Field(name.clone()), property);
            }
        }
        for (keyword, segment) in [
            ("items", PathSegment::Item),
            ("additionalProperties", PathSegment::Value),
        ] {
            if let Some(inner) = schema.get_mut(keyword) {
                self.within(segment, inner);
            }
        }
    }

    fn within(&mut self, segment: PathSegment, schema: &mut Value) {
        if let Value::Object(schema) = schema {
            self.segments.push(segment);
            self.schema(schema);
            self.segments.pop();
        }
    }

    fn refuse(&mut self) {
        let found = find_type(self.root, &self.segments);
        let mut field = field_path(&self.segments);
        if !self.at.is_empty() {
            let behind = if field.is_empty() || field.starts_with('[') {
                ""
            } else {
                "."
            };
            field = format!("{}{behind}{field}", self.at);
        }
        self.problems.push(Problem {
            location: Location {
                field: Some(field),
                field_ty: found.ty,
                source: found.source,
                ..Location::default()
            },
            message: "its schema restricts a value, but does not say of which type it is".to_owned(),
            hint: "name its type in the schema (`\"type\": \"string\"`)".to_owned(),
        });
    }
}

fn is_declared(schema: &Map<String, Value>) -> bool {
    ["type", "x-kubernetes-int-or-string", rewrite::PRESERVE_UNKNOWN_FIELDS]
        .iter()
        .any(|key| schema.contains_key(*key))
}

fn type_of_all(values: &[Value]) -> Option<&'static str> {
    let type_of = |value: &Value| match value {
        Value::String(_) => Some("string"),
        Value::Bool(_) => Some("boolean"),
        Value::Number(number) if number.is_f64() => Some("number"),
        Value::Number(_) => Some("integer"),
        _ => None,
    };
    let first = type_of(values.first()?)?;
    values
        .iter()
        .all(|value| type_of(value) == Some(first))
        .then_some(first)
}
