//! Where a run is not as the reference.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::accepted::Accepted;
use super::canonical::State;
use super::observation::{Boundary, Observation};
use super::plan::ObjectName;

/// How many fields of an object are shown.
const MOST_FIELDS: usize = 6;
/// How many objects of one generated name are told apart.
const MOST_OF_A_FAMILY: usize = 5;
/// How many characters of a value are shown.
const LONGEST: usize = 100;

/// One difference. Its name is the same in every run that shows the same mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// What is wrong, as `left behind configmaps/x`.
    pub(super) name: String,
    /// The step after which it shows.
    pub(super) step: usize,
    pub(super) details: Vec<String>,
}

impl Difference {
    pub(super) fn new(step: usize, name: impl Into<String>, details: Vec<String>) -> Self {
        Difference {
            name: name.into(),
            step,
            details,
        }
    }
}

/// The differences at the first step after which there are any that are not accepted, and the accepted ones before it.
pub(super) fn differences(reference: &Observation, run: &Observation, accepted: &Accepted) -> Vec<Difference> {
    let mut all = Vec::new();
    for (at, boundary) in run.boundaries.iter().enumerate() {
        let step = run.first + at;
        let Some(expected) = reference.after(step) else { break };
        let found = boundaries(step, expected, boundary);
        let is_accepted = found.iter().all(|difference| accepted.has(&difference.name));
        all.extend(found);
        if !is_accepted {
            break;
        }
    }
    all
}

fn boundaries(step: usize, expected: &Boundary, boundary: &Boundary) -> Vec<Difference> {
    let mut found = states(step, &expected.state, &boundary.state);
    if expected.failing.is_empty() && !boundary.failing.is_empty() {
        found.push(Difference::new(step, "fails on and on", boundary.failing.clone()));
    }
    found
}

/// The differences between two states, one for each object.
pub(super) fn states(step: usize, expected: &State, state: &State) -> Vec<Difference> {
    let names: BTreeSet<_> = expected.keys().chain(state.keys()).collect();
    let mut found = Vec::new();
    let mut left_out: BTreeMap<ObjectName, usize> = BTreeMap::new();
    for name in names {
        if let Some(last) = last_told_of(name) {
            *left_out.entry(last).or_default() += usize::from(expected.get(name) != state.get(name));
            continue;
        }
        match (expected.get(name), state.get(name)) {
            // What was there before the first step, and was deleted here or there.
            (Some(Value::Null), None) => found.push(Difference::new(
                step,
                format!("unexpected {name}"),
                vec!["it should have been deleted".to_owned()],
            )),
            (Some(_), None) | (None, Some(Value::Null)) => {
                found.push(Difference::new(step, format!("missing {name}"), Vec::new()));
            }
            (None, Some(object)) => {
                found.push(Difference::new(
                    step,
                    format!("unexpected {name}"),
                    vec![shortened(object)],
                ));
            }
            (Some(expected), Some(object)) if expected != object => {
                let fields = fields(expected, object);
                found.push(Difference::new(step, format!("different {name}"), fields));
            }
            _ => {}
        }
    }
    for (last, count) in left_out.into_iter().filter(|(_, count)| *count > 0) {
        let last = last.to_string();
        let told = found.iter_mut().rfind(|difference| difference.name.ends_with(&last));
        if let Some(told) = told {
            told.details.push(format!("… and {count} more like it"));
        }
    }
    found
}

/// Of many objects with generated names the first ones are told: the last of these, for one that is not. They are numbered in the
/// order of their contents, so that those behind them differ as they do.
fn last_told_of(name: &ObjectName) -> Option<ObjectName> {
    let family = name.name.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let number: usize = name.name[family.len()..].parse().ok()?;
    let is_generated = family.ends_with(['*', '>']);
    (is_generated && number > MOST_OF_A_FAMILY).then(|| ObjectName {
        resource: name.resource.clone(),
        name: format!("{family}{MOST_OF_A_FAMILY}"),
    })
}

/// The fields in which two objects differ, with both values.
pub(super) fn fields(expected: &Value, object: &Value) -> Vec<String> {
    let mut fields = Vec::new();
    compare("", expected, object, &mut fields);
    let more = fields.len().saturating_sub(MOST_FIELDS);
    fields.truncate(MOST_FIELDS);
    if more > 0 {
        fields.push(format!("… {more} more"));
    }
    fields
}

fn compare(path: &str, expected: &Value, value: &Value, fields: &mut Vec<String>) {
    match (expected, value) {
        (Value::Object(one), Value::Object(other)) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for name in names {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                let none = Value::Null;
                let (expected, value) = (one.get(name).unwrap_or(&none), other.get(name).unwrap_or(&none));
                compare(&path, expected, value, fields);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (at, (expected, value)) in one.iter().zip(other).enumerate() {
                compare(&format!("{path}[{at}]"), expected, value, fields);
            }
        }
        (expected, value) if expected == value => {}
        (expected, value) => fields.push(format!("{path}: {} and not {}", shown(value), shown(expected))),
    }
}

fn shown(value: &Value) -> String {
    if value.is_null() {
        "nothing".to_owned()
    } else {
        shortened(value)
    }
}

/// The beginning of a value as text.
fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_object_that_differs_is_named_with_its_fields() {
        let name = |name: &str| ObjectName {
            resource: "configmaps".to_owned(),
            name: name.to_owned(),
        };
        let expected = State::from([(name("a"), json!({ "data": { "x": "1" } })), (name("b"), json!({}))]);
        let state = State::from([(name("a"), json!({ "data": { "x": "2" } })), (name("c"), json!({}))]);
        let found = states(0, &expected, &state);
        let names: Vec<_> = found.iter().map(|difference| difference.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "different configmaps/a",
                "missing configmaps/b",
                "unexpected configmaps/c"
            ]
        );
        assert_eq!(found[0].details, [r#"data.x: "2" and not "1""#]);
    }

    #[test]
    fn of_many_objects_with_generated_names_a_few_are_told() {
        let services = |count: usize| {
            let name = |number: usize| ObjectName {
                resource: "services".to_owned(),
                name: if number == 1 {
                    "web-*".to_owned()
                } else {
                    format!("web-*{number}")
                },
            };
            (1..=count).map(|number| (name(number), json!({}))).collect::<State>()
        };
        let found = states(0, &services(1), &services(300));
        let names: Vec<_> = found.iter().map(|difference| difference.name.as_str()).collect();
        assert_eq!(
            names,
            [2, 3, 4, 5].map(|number| format!("unexpected services/web-*{number}"))
        );
        assert_eq!(found[3].details, ["{}", "… and 295 more like it"]);
    }
}
