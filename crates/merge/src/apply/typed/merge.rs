//! Merges an applied configuration into a live object: nothing is removed, where both have a leaf the configuration wins.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::items::element_of;
use super::problems::Problems;
use super::{Ownership, entries, field_type, form, item_type, items_of};
use crate::managed::PathElement;
use crate::{ListKind, Topology};

/// Merges `right` into `left`. Both have been validated; `right` has no duplicates.
pub(in super::super) fn merge<'t, T: Topology<'t>>(of: T, left: &Value, right: &Value) -> Result<Value, Problems> {
    let mut problems = Problems::default();
    let merged = merge_at(Some(of), left, right, 0, &mut problems);
    if problems.is_empty() {
        Ok(merged.unwrap_or(Value::Null))
    } else {
        Err(problems)
    }
}

/// `None` when a container is left without content.
fn merge_at<'t, T: Topology<'t>>(
    of: Option<T>,
    left: &Value,
    right: &Value,
    depth: usize,
    problems: &mut Problems,
) -> Option<Value> {
    match (form(of, right, depth), of) {
        (Ownership::Fields, _) => {
            let (left, right_fields) = (entries(Some(left)), entries(Some(right)));
            if left.is_some() || right_fields.is_some() {
                return merge_fields(of, left, right_fields, depth, problems);
            }
        }
        (Ownership::Items(kind), Some(list)) => {
            let (left, right_items) = (items_of(Some(left)), items_of(Some(right)));
            if !left.is_empty() || !right_items.is_empty() {
                let items = merge_items(list, kind, left, right_items, depth, problems);
                return (!items.is_empty()).then_some(Value::Array(items));
            }
        }
        _ => {}
    }
    Some(right.clone())
}

fn merge_fields<'t, T: Topology<'t>>(
    of: Option<T>,
    left: Option<&Map<String, Value>>,
    right: Option<&Map<String, Value>>,
    depth: usize,
    problems: &mut Problems,
) -> Option<Value> {
    let mut merged = Map::new();
    for (name, live) in left.into_iter().flatten() {
        let value = match right.and_then(|right| right.get(name)) {
            None => Some(live.clone()),
            Some(value) => {
                let mut below = Problems::default();
                let value = merge_at(field_type(of, name), live, value, depth + 1, &mut below);
                problems.add_below(|| PathElement::field(name), below);
                value
            }
        };
        if let Some(value) = value {
            merged.insert(name.clone(), value);
        }
    }
    for (name, value) in right.into_iter().flatten() {
        if left.is_none_or(|left| !left.contains_key(name)) {
            merged.insert(name.clone(), value.clone());
        }
    }
    (!merged.is_empty()).then_some(Value::Object(merged))
}

/// Items of an associative list with their identities.
struct Indexed<'v> {
    order: Vec<PathElement>,
    /// `None` where several items have the identity: those are not merged with.
    items: BTreeMap<PathElement, Option<&'v Value>>,
}

fn index<'t, 'v, T: Topology<'t>>(list: T, kind: ListKind, items: &'v [Value], problems: &mut Problems) -> Indexed<'v> {
    let mut indexed = Indexed {
        order: Vec::with_capacity(items.len()),
        items: BTreeMap::new(),
    };
    for (index, item) in items.iter().enumerate() {
        match element_of(list, kind, item) {
            Ok(element) => {
                indexed
                    .items
                    .entry(element.clone())
                    .and_modify(|item| *item = None)
                    .or_insert(Some(item));
                indexed.order.push(element);
            }
            Err(message) => problems.add(format!("element {index}: {message}")),
        }
    }
    indexed
}

/// Merges item by item. Items of both sides come in the applied order; items of the live side alone keep their place
/// relative to the live items around them; applied items alone follow the applied item before them.
fn merge_items<'t, T: Topology<'t>>(
    list: T,
    kind: ListKind,
    left: &[Value],
    right: &[Value],
    depth: usize,
    problems: &mut Problems,
) -> Vec<Value> {
    let applied = index(list, kind, right, problems);
    let live = index(list, kind, left, problems);
    if !problems.is_empty() {
        return Vec::new();
    }
    let of = item_type(Some(list));
    let mut merge_item = |element: &PathElement| {
        let applied_item = applied.items.get(element).copied().flatten()?;
        match live.items.get(element) {
            None => Some(applied_item.clone()),
            Some(live_item) => {
                let mut below = Problems::default();
                let merged = merge_at(
                    of,
                    live_item.unwrap_or(&Value::Null),
                    applied_item,
                    depth + 1,
                    &mut below,
                );
                problems.add_below(|| element.clone(), below);
                merged
            }
        }
    };
    let mut shared: VecDeque<&PathElement> = applied
        .order
        .iter()
        .filter(|element| live.items.contains_key(*element))
        .collect();
    let mut next_shared = shared.pop_front();
    let mut done = BTreeSet::new();
    let mut out = Vec::with_capacity(left.len().max(right.len()));
    let (mut at_live, mut at_applied) = (0, 0);
    loop {
        let (live_next, applied_next) = (live.order.get(at_live), applied.order.get(at_applied));
        match (live_next, applied_next) {
            (None, None) => break,
            (Some(element), Some(wanted)) if element == wanted => {
                out.extend(merge_item(element));
                done.insert(element);
                at_live += 1;
                at_applied += 1;
                next_shared = shared.pop_front();
                continue;
            }
            // A shared item whose turn has not come yet: the applied order decides when it does.
            (Some(element), Some(_))
                if applied.items.contains_key(element) && next_shared.is_some_and(|next| next != element) =>
            {
                at_live += 1;
                continue;
            }
            _ => {}
        }
        if let Some(element) = live_next {
            if !applied.items.contains_key(element) {
                out.extend(left.get(at_live).cloned());
                at_live += 1;
                continue;
            }
            if done.contains(element) {
                at_live += 1;
            }
        }
        if let Some(element) = applied_next {
            out.extend(merge_item(element));
            done.insert(element);
            at_applied += 1;
            if next_shared == Some(element) {
                next_shared = shared.pop_front();
            }
        }
    }
    out
}
