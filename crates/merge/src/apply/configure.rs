//! An apply configuration that nobody owns: what a `MutatingAdmissionPolicy` merges into an object (A14).

use serde_json::Value;

use super::typed::{Origin, merge, validate};
use crate::managed::{MAX_DEPTH, PathElement};
use crate::{ListKind, Shape, Topology};

/// See [`super::configure`].
pub(super) fn configure<'t, T: Topology<'t>>(of: T, live: &Value, applied: &Value) -> Result<Value, String> {
    let problems = validate(of, applied, Origin::Applied);
    if !problems.is_empty() {
        return Err(format!("failed to convert patch object to typed object: {problems}"));
    }
    let mut atomics = Vec::new();
    find_atomics(of, applied, &mut Vec::new(), &mut atomics);
    if !atomics.is_empty() {
        let atomics = atomics.join(", ");
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {atomics}"
        ));
    }
    let problems = validate(of, live, Origin::Live);
    if !problems.is_empty() {
        return Err(format!("failed to convert original object to typed object: {problems}"));
    }
    merge(of, live, applied).map_err(|problems| format!("failed to merge patch: {problems}"))
}

/// The paths of what the configuration would replace as a whole.
fn find_atomics<'t, T: Topology<'t>>(of: T, value: &Value, path: &mut Vec<PathElement>, found: &mut Vec<String>) {
    if path.len() >= MAX_DEPTH {
        return;
    }
    let shown = |path: &[PathElement]| path.iter().map(ToString::to_string).collect::<String>();
    match (of.shape(), value) {
        (Shape::Struct { atomic } | Shape::Map { atomic }, Value::Object(fields)) => {
            if atomic {
                found.push(shown(path));
            }
            for (name, value) in fields {
                if let Some(field) = of.field(name) {
                    path.push(PathElement::field(name));
                    find_atomics(field, value, path, found);
                    path.pop();
                }
            }
        }
        (Shape::List(kind), Value::Array(items)) => {
            if kind == ListKind::Atomic {
                found.push(shown(path));
            }
            for (index, item) in items.iter().enumerate() {
                if let Some(element) = of.element() {
                    path.push(PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX)));
                    find_atomics(element, item, path, found);
                    path.pop();
                }
            }
        }
        _ => {}
    }
}
