//! A value without some of its fields, or with nothing but them.

use serde_json::{Map, Value};

use super::items::element_of;
use super::{Ownership, field_type, form, item_type};
use crate::managed::{FieldSet, PathElement};
use crate::{ListKind, Topology};

/// The value without these fields and items. A container that had content and has none left is null.
pub(in super::super) fn remove_items<'t, T: Topology<'t>>(of: T, value: &Value, items: &FieldSet) -> Value {
    walk(Some(of), value, items, Keep::Others, 0)
}

/// The value with nothing but these fields and items.
pub(in super::super) fn extract_items<'t, T: Topology<'t>>(of: T, value: &Value, items: &FieldSet) -> Value {
    walk(Some(of), value, items, Keep::Listed, 0)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Listed,
    Others,
}

fn walk<'t, T: Topology<'t>>(of: Option<T>, value: &Value, set: &FieldSet, keep: Keep, depth: usize) -> Value {
    match (form(of, value, depth), value, of) {
        (Ownership::Fields, Value::Object(fields), _) if !fields.is_empty() => {
            let fields = walk_fields(of, fields, set, keep, depth);
            if fields.is_empty() {
                Value::Null
            } else {
                Value::Object(fields)
            }
        }
        (Ownership::Items(kind), Value::Array(items), Some(list)) if !items.is_empty() => {
            let items = walk_items(list, kind, items, set, keep, depth);
            if items.is_empty() {
                Value::Null
            } else {
                Value::Array(items)
            }
        }
        // Something below an atomic container is listed: it goes, or stays, as a whole.
        (_, Value::Object(_) | Value::Array(_), _) if keep == Keep::Others => Value::Null,
        _ => value.clone(),
    }
}

fn walk_fields<'t, T: Topology<'t>>(
    of: Option<T>,
    fields: &Map<String, Value>,
    set: &FieldSet,
    keep: Keep,
    depth: usize,
) -> Map<String, Value> {
    let mut kept = Map::new();
    for (name, value) in fields {
        let node = set.field(name);
        let value = match (node, keep) {
            (Some(node), Keep::Others) if node.member => continue,
            // Upstream goes on with the set of the level above here, which finds leaves and atomics.
            (Some(node), Keep::Listed) if node.member => walk(field_type(of, name), value, set, keep, depth + 1),
            (Some(node), _) => walk(field_type(of, name), value, &node.children, keep, depth + 1),
            (None, Keep::Others) => value.clone(),
            (None, Keep::Listed) => continue,
        };
        kept.insert(name.clone(), value);
    }
    kept
}

fn walk_items<'t, T: Topology<'t>>(
    list: T,
    kind: ListKind,
    items: &[Value],
    set: &FieldSet,
    keep: Keep,
    depth: usize,
) -> Vec<Value> {
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        let element = element_of(list, kind, item).ok();
        let node = element.as_ref().and_then(|element: &PathElement| set.node(element));
        match (node, keep) {
            (None, Keep::Listed) => {}
            (None, Keep::Others) => kept.push(item.clone()),
            (Some(node), Keep::Others) if node.member => {}
            (Some(node), _) if node.children.is_empty() => kept.push(item.clone()),
            (Some(node), _) => kept.push(walk(item_type(Some(list)), item, &node.children, keep, depth + 1)),
        }
    }
    kept
}
