//! Sets seen through the type: named parents, and places whose ownership became atomic since the set was written.

use super::{entry_type, field_type, item_type, named_field};
use crate::managed::{FieldSet, Node, PathElement};
use crate::{ListKind, Shape, Topology};

/// The set with every declared field on the way to a member as a member itself: `spec` for `spec.replicas`, but not the
/// entry of a map for what is in it.
pub(in super::super) fn with_named_fields<'t, T: Topology<'t>>(of: Option<T>, set: &FieldSet) -> FieldSet {
    let mut named = FieldSet::new();
    for node in set.nodes() {
        let (below, is_named) = match &node.element {
            PathElement::Field(name) => {
                let is_named = of.is_some_and(|of| named_field(of, name).is_some());
                (field_type(of, name), is_named && !node.children.is_empty())
            }
            PathElement::Key(_) => (item_type(of), false),
            PathElement::Value(_) | PathElement::Index(_) => (None, false),
        };
        let children = with_named_fields(below, &node.children);
        named.attach(|| node.element.clone(), node.member || is_named, children);
    }
    named
}

/// The set as it has to be if places that were owned in parts are atomic now; `None` if nothing has to change.
pub(in super::super) fn reconcile<'t, T: Topology<'t>>(of: T, set: &FieldSet) -> Option<FieldSet> {
    let changes: Vec<_> = set.nodes().iter().map(|node| reconcile_node(of, node)).collect();
    if changes.iter().all(Option::is_none) {
        return None;
    }
    let mut reconciled = FieldSet::new();
    for (node, change) in set.nodes().iter().zip(changes) {
        let (member, children) = change.unwrap_or_else(|| (node.member, node.children.clone()));
        reconciled.attach(|| node.element.clone(), member, children);
    }
    Some(reconciled)
}

/// What a step of a set becomes, given the type of the place above it.
fn reconcile_node<'t, T: Topology<'t>>(above: T, node: &Node) -> Option<(bool, FieldSet)> {
    let of = match above.shape() {
        Shape::List(_) => item_type(Some(above)),
        Shape::Struct { .. } | Shape::Map { .. } => match &node.element {
            PathElement::Field(name) => field_type(Some(above), name),
            _ => entry_type(above),
        },
        Shape::Scalar | Shape::Untyped => None,
    }?;
    let is_whole = node.member && node.children.is_empty();
    let is_atomic = match of.shape() {
        Shape::Scalar | Shape::Untyped => return None,
        Shape::Map { .. } if of.element().is_none_or(|entry| entry.shape() == Shape::Untyped) => return None,
        Shape::List(kind) => kind == ListKind::Atomic,
        Shape::Struct { atomic } | Shape::Map { atomic } => atomic && !node.children.is_empty(),
    };
    if is_atomic && !is_whole {
        return Some((true, FieldSet::new()));
    }
    reconcile(of, &node.children).map(|children| (node.member, children))
}
