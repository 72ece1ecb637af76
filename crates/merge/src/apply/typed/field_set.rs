//! The fields that a value mentions: what an applier comes to own.

use std::collections::BTreeMap;

use serde_json::Value;

use super::items::element_of;
use super::{Ownership, field_type, form, item_type, items_of, named_field};
use crate::managed::{FieldSet, PathElement};
use crate::{ListKind, Topology};

/// Every leaf of a value, and every item and map entry on the way to one.
pub(in super::super) fn field_set<'t, T: Topology<'t>>(of: T, value: &Value) -> FieldSet {
    at(Some(of), value, 0).1
}

/// Whether the place itself is a leaf, and the fields below it.
fn at<'t, T: Topology<'t>>(of: Option<T>, value: &Value, depth: usize) -> (bool, FieldSet) {
    let mut set = FieldSet::new();
    match form(of, value, depth) {
        Ownership::Leaf => return (true, set),
        Ownership::Fields => {
            for (name, value) in value.as_object().into_iter().flatten() {
                let (is_leaf, below) = at(field_type(of, name), value, depth + 1);
                let is_declared = of.is_some_and(|of| named_field(of, name).is_some());
                let is_empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
                set.attach(|| PathElement::field(name), is_leaf || is_empty || !is_declared, below);
            }
        }
        Ownership::Items(kind) => {
            if let Some(list) = of {
                items(list, kind, items_of(Some(value)), depth, &mut set);
            }
        }
    }
    (false, set)
}

/// Items that occur once are owned with what is in them, others together and as a whole.
fn items<'t, T: Topology<'t>>(list: T, kind: ListKind, items: &[Value], depth: usize, set: &mut FieldSet) {
    let mut seen: BTreeMap<PathElement, Option<&Value>> = BTreeMap::new();
    for item in items {
        if let Ok(element) = element_of(list, kind, item) {
            seen.entry(element)
                .and_modify(|item| *item = None)
                .or_insert(Some(item));
        }
    }
    for (element, item) in seen {
        let below = item
            .map(|item| at(item_type(Some(list)), item, depth + 1).1)
            .unwrap_or_default();
        set.attach(|| element, true, below);
    }
}
