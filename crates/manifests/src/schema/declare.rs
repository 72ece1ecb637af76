//! The type of every value: a structural schema says it, or that the value may be anything.

use serde_json::{Map, Value};

use super::trace::{Step, path_of, trace};
use super::{keywords, rewrite};
use crate::{Location, Problem};

/// Names the type that a schema implies, where it names none.
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

/// Sees to it that every schema within a whole one says what its value is. `root` is the type's schema, and `at` its field.
pub(super) fn everywhere(schema: &mut Map<String, Value>, root: &Value, at: &str) -> Vec<Problem> {
    let mut walk = Walk {
        root,
        at,
        steps: Vec::new(),
        problems: Vec::new(),
    };
    walk.schema(schema);
    walk.problems
}

struct Walk<'s> {
    root: &'s Value,
    at: &'s str,
    steps: Vec<Step>,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    fn schema(&mut self, schema: &mut Map<String, Value>) {
        imply(schema);
        if !is_declared(schema) {
            let says_nothing = |key: &String| keywords::is_note(key) || matches!(key.as_str(), "default" | "nullable");
            if schema.keys().all(says_nothing) {
                schema.insert(rewrite::OPEN.into(), true.into());
            } else {
                self.refuse();
            }
        }
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            for (name, property) in properties.iter_mut() {
                self.within(Step::Field(name.clone()), property);
            }
        }
        for (keyword, step) in [("items", Step::Item), ("additionalProperties", Step::Value)] {
            if let Some(inner) = schema.get_mut(keyword) {
                self.within(step, inner);
            }
        }
    }

    fn within(&mut self, step: Step, schema: &mut Value) {
        if let Value::Object(schema) = schema {
            self.steps.push(step);
            self.schema(schema);
            self.steps.pop();
        }
    }

    fn refuse(&mut self) {
        let place = trace(self.root, &self.steps);
        let mut field = path_of(&self.steps);
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
                field_ty: place.ty,
                source: place.source,
                ..Location::default()
            },
            message: "its schema restricts a value, but does not say of which type it is".to_owned(),
            hint: "name its type in the schema (`\"type\": \"string\"`)".to_owned(),
        });
    }
}

fn is_declared(schema: &Map<String, Value>) -> bool {
    ["type", "x-kubernetes-int-or-string", rewrite::OPEN]
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
