//! Values seen through their type: validate, compare, merge, remove, and the set of fields a value has.
//!
//! A type is an `Option` of a topology: `None` is a place that the type does not declare; it is owned as a whole.

mod compare;
mod field_set;
mod items;
mod merge;
mod problems;
mod reconcile;
mod remove;
mod validate;

pub(super) use compare::{Comparison, compare};
pub(super) use field_set::field_set;
pub(super) use merge::merge;
pub(super) use reconcile::{reconcile, with_named_fields};
pub(super) use remove::{extract_items, remove_items};
pub(super) use validate::{Origin, validate};

use serde_json::{Map, Value};

use crate::managed::MAX_DEPTH;
use crate::{ListKind, Shape, Topology};

/// How a value at a place is owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ownership {
    /// As a whole.
    Leaf,
    /// By field or entry.
    Fields,
    /// By item, items being identified by value or by keys.
    Items(ListKind),
}

/// How `value` is owned at a place of type `of`.
fn form<'t, T: Topology<'t>>(of: Option<T>, value: &Value, depth: usize) -> Ownership {
    let Some(of) = of.filter(|_| depth < MAX_DEPTH) else {
        return Ownership::Leaf;
    };
    match of.shape() {
        Shape::Scalar
        | Shape::Struct { atomic: true }
        | Shape::Map { atomic: true }
        | Shape::List(ListKind::Atomic) => Ownership::Leaf,
        Shape::Struct { atomic: false } | Shape::Map { atomic: false } => Ownership::Fields,
        Shape::List(kind) => Ownership::Items(kind),
        Shape::Untyped => match value {
            Value::Object(_) | Value::Null => Ownership::Fields,
            _ => Ownership::Leaf,
        },
    }
}

/// The type of a declared field of a struct.
fn named_field<'t, T: Topology<'t>>(of: T, name: &str) -> Option<T> {
    match of.shape() {
        Shape::Struct { .. } => of.field(name),
        _ => None,
    }
}

/// The type of what a map, or a struct that allows more than its fields, holds under any name.
fn entry_type<'t, T: Topology<'t>>(of: T) -> Option<T> {
    match of.shape() {
        Shape::Struct { .. } | Shape::Map { .. } => of.element(),
        Shape::Untyped => Some(of.element().unwrap_or(of)),
        Shape::Scalar | Shape::List(_) => None,
    }
}

/// The type of whatever is found under a name.
fn field_type<'t, T: Topology<'t>>(of: Option<T>, name: &str) -> Option<T> {
    let of = of?;
    named_field(of, name).or_else(|| entry_type(of))
}

/// The type of a list's items.
fn item_type<'t, T: Topology<'t>>(of: Option<T>) -> Option<T> {
    let of = of?;
    match of.shape() {
        Shape::List(_) => of.element(),
        _ => None,
    }
}

/// The entries of a map. Upstream treats null, and values that are not maps, as empty maps.
fn entries(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object).filter(|fields| !fields.is_empty())
}

/// The items of a list. Upstream treats null, and values that are not lists, as empty lists.
fn items_of(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
