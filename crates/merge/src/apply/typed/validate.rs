//! Whether a value fits its type.

use std::collections::BTreeSet;

use kubewright_apimachinery::go::value::{Numbers, element_syntax, plain, type_name};
use serde_json::Value;

use super::items::element_of;
use super::problems::Problems;
use super::{entry_type, item_type, named_field};
use crate::managed::{MAX_DEPTH, PathElement};
use crate::{ListKind, ScalarKind, Shape, Topology};

/// Where a value comes from, which decides whether an associative list may hold an item twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Origin {
    /// It is stored: duplicates are tolerated.
    Live,
    /// A client applies it: duplicates are refused.
    Applied,
    /// A conversion answered it: upstream refuses duplicates here too.
    Converted,
}

/// What does not fit.
pub(in super::super) fn validate<'t, T: Topology<'t>>(of: T, value: &Value, origin: Origin) -> Problems {
    let mut problems = Problems::default();
    validate_at(of, value, origin, 0, &mut problems);
    problems
}

fn validate_at<'t, T: Topology<'t>>(of: T, value: &Value, origin: Origin, depth: usize, problems: &mut Problems) {
    if value.is_null() || depth >= MAX_DEPTH {
        return;
    }
    match (of.shape(), value) {
        (Shape::Scalar, _) => validate_scalar(of.scalar(), value, problems),
        (Shape::Struct { .. } | Shape::Map { .. } | Shape::Untyped, Value::Object(fields)) => {
            for (name, value) in fields {
                let Some(of) = named_field(of, name).or_else(|| entry_type(of)) else {
                    // Upstream looks at no further field of this struct.
                    let mut undeclared = Problems::default();
                    undeclared.add("field not declared in schema".to_owned());
                    problems.add_below(|| PathElement::field(name), undeclared);
                    return;
                };
                descend(of, value, origin, depth, problems, || PathElement::field(name));
            }
        }
        (Shape::List(kind), Value::Array(items)) => validate_items(of, kind, items, origin, depth, problems),
        (Shape::Struct { .. } | Shape::Map { .. }, _) => {
            problems.add(format!("expected map, got &{{{}}}", plain(value, Numbers::Float64)));
        }
        (Shape::List(_), _) => problems.add(format!("expected list, got &{{{}}}", plain(value, Numbers::Float64))),
        (Shape::Untyped, _) => {}
    }
}

fn validate_items<'t, T: Topology<'t>>(
    list: T,
    kind: ListKind,
    items: &[Value],
    origin: Origin,
    depth: usize,
    problems: &mut Problems,
) {
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let element = match kind {
            ListKind::Atomic => None,
            ListKind::Set | ListKind::Map => match element_of(list, kind, item) {
                Ok(element) => Some(element),
                Err(message) => {
                    problems.add(format!("element {index}: {message}"));
                    return;
                }
            },
        };
        if let Some(element) = &element
            && origin != Origin::Live
        {
            if seen.contains(element) {
                problems.add(format!(
                    "duplicate entries for key {}",
                    printed(element.clone(), origin)
                ));
            }
            seen.insert(element.clone());
        }
        if let Some(of) = item_type(Some(list)) {
            descend(of, item, origin, depth, problems, || {
                element.unwrap_or(PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX)))
            });
        }
    }
}

fn descend<'t, T: Topology<'t>>(
    of: T,
    value: &Value,
    origin: Origin,
    depth: usize,
    problems: &mut Problems,
    step: impl FnOnce() -> PathElement,
) {
    let mut below = Problems::default();
    validate_at(of, value, origin, depth + 1, &mut below);
    problems.add_below(|| printed(step(), origin), below);
}

/// Numbers of an applied configuration are floats to Go.
fn printed(element: PathElement, origin: Origin) -> PathElement {
    if origin == Origin::Applied {
        element.into_configured()
    } else {
        element
    }
}

fn validate_scalar(kind: ScalarKind, value: &Value, problems: &mut Problems) {
    match (kind, value) {
        (ScalarKind::Whole, _)
        | (ScalarKind::Number, Value::Number(_))
        | (ScalarKind::String, Value::String(_))
        | (ScalarKind::Boolean, Value::Bool(_))
        | (ScalarKind::Any, Value::Number(_) | Value::String(_) | Value::Bool(_)) => {}
        (ScalarKind::Number, _) => {
            problems.add(format!(
                "expected numeric (int or float), got {}",
                type_name(value, Numbers::Float64)
            ));
        }
        (ScalarKind::String, _) => {
            problems.add(format!(
                "expected string, got &value.valueUnstructured{{Value:{}}}",
                element_syntax(value, Numbers::Float64)
            ));
        }
        (ScalarKind::Boolean, _) => {
            problems.add(format!("expected boolean, got &{{{}}}", plain(value, Numbers::Float64)));
        }
        (ScalarKind::Any, _) => problems.add(format!(
            "expected any scalar, got &{{{}}}",
            plain(value, Numbers::Float64)
        )),
    }
}
