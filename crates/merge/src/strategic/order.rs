//! The order of merged lists: the patch's order (or the one it sets) before the live one's.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::error::{expected_object, no_merge_key, other};
use super::fields::without_directives;
use super::list::{self, Identity, Items, kind};
use super::print::printed;
use super::{PATCH, SET_ELEMENT_ORDER};
use crate::patch_error::PatchError;
use crate::topology::Topology;

/// Merges a list whose order the patch sets; `None` when there is no list to order.
pub(super) fn merge_in_order<'t, T: Topology<'t>>(
    live: Option<&Vec<Value>>,
    patch: Option<&Vec<Value>>,
    order: &[Value],
    of: T,
) -> Result<Option<Vec<Value>>, PatchError> {
    let strategy = of.patch_strategy();
    let key = strategy.merge_key;
    check(patch.map_or(&[], Vec::as_slice), order, key)?;
    let merged = match (live, patch) {
        (None, None) => return Ok(None),
        (Some(live), None) => live.clone(),
        (None, Some(patch)) => patch.iter().cloned().filter_map(without_directives).collect(),
        (Some(live), Some(patch)) if strategy.merge => list::merge(live.clone(), patch.clone(), of)?,
        (Some(_), Some(patch)) => patch.clone(),
    };
    let (live, patch) = (
        live.map_or(&[][..], Vec::as_slice),
        patch.map_or(&[][..], Vec::as_slice),
    );
    let (in_order, live_only) = partition(merged, order, key)?;
    let items = kind(live, patch)?;
    let live_order = match key {
        Some(key) if strategy.merge => list::order_left_behind(live, patch, key),
        _ => live.to_vec(),
    };
    in_patch_order(in_order, live_only, order, &live_order, items, key).map(Some)
}

/// Checks that the items of a patch stand in the order that the patch sets, and are all in it.
fn check(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    if order.is_empty() || patch.is_empty() {
        return Ok(());
    }
    if let Some(stray) = patch.iter().find(|item| key.is_some() && !item.is_object()) {
        return Err(expected_object(stray));
    }
    let mut rest = order.iter();
    for item in patch {
        let directive = item.get(PATCH);
        let is_deletion = directive.is_some_and(|directive| directive == "delete");
        // Upstream notices what is left over when the order ends, directives included.
        if (key.is_some() && is_deletion) || (directive.is_some() && rest.len() > 0) {
            continue;
        }
        if rest.len() > 0 {
            key_of(item, key)?;
        }
        if !skip_to(&mut rest, item, key)? {
            return Err(out_of_order(patch, order));
        }
    }
    Ok(())
}

/// Goes on in an order to behind an item; returns whether it is there.
fn skip_to(rest: &mut std::slice::Iter<'_, Value>, item: &Value, key: Option<&str>) -> Result<bool, PatchError> {
    for next in rest.by_ref() {
        if key_of(item, key)? == key_of(next, key)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What identifies an item: its key, or itself in a list of scalars.
fn key_of<'v>(item: &'v Value, key: Option<&str>) -> Result<&'v Value, PatchError> {
    match (key, item) {
        (None, item) => Ok(item),
        (Some(key), Value::Object(fields)) => fields.get(key).ok_or_else(|| no_merge_key(fields, key)),
        (Some(_), item) => Err(expected_object(item)),
    }
}

fn out_of_order(patch: &[Value], order: &[Value]) -> PatchError {
    let patch = printed(&Value::Array(patch.to_vec()));
    let order = printed(&Value::Array(order.to_vec()));
    other(format!(
        "The order in patch list:\n{patch}\n doesn't match {SET_ELEMENT_ORDER} list:\n{order}\n"
    ))
}

/// Parts a list into the items that another list names, and the others.
pub(super) fn partition(
    merged: Vec<Value>,
    by: &[Value],
    key: Option<&str>,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let Some(key) = key else {
        let named: HashSet<Identity> = by.iter().map(Identity::of).collect();
        return Ok(merged.into_iter().partition(|item| named.contains(&Identity::of(item))));
    };
    for item in &merged {
        let Value::Object(fields) = item else {
            return Err(expected_object(item));
        };
        if !fields.contains_key(key) {
            return Err(no_merge_key(fields, key));
        }
    }
    if let Some(index) = by
        .iter()
        .position(|item| !item.is_object())
        .filter(|_| !merged.is_empty())
    {
        return Err(other(format!("value for key {index} is not a map")));
    }
    let named: HashSet<Identity> = by.iter().filter_map(|item| item.get(key)).map(Identity::of).collect();
    Ok(merged
        .into_iter()
        .partition(|item| item.get(key).is_some_and(|name| named.contains(&Identity::of(name)))))
}

/// Puts the items of a patch in its order and the live-only ones in theirs, and interleaves both: a live-only item
/// stands before the first item of the patch that it preceded in the live list.
pub(super) fn in_patch_order(
    in_patch: Vec<Value>,
    live_only: Vec<Value>,
    patch_order: &[Value],
    live_order: &[Value],
    items: Items,
    key: Option<&str>,
) -> Result<Vec<Value>, PatchError> {
    let in_patch = sorted(in_patch, patch_order, items, key)?;
    let live_only = sorted(live_only, live_order, items, key)?;
    let live_places = places(live_order, items, key);
    let place = |item: &Value| live_places.get(&Identity::of_item(item, items, key)).copied();
    let mut all = Vec::with_capacity(in_patch.len() + live_only.len());
    let mut live_only = live_only.into_iter().peekable();
    for item in in_patch {
        let here = place(&item);
        while let Some(before) = live_only.next_if(|live| matches!((place(live), here), (Some(a), Some(b)) if a < b)) {
            all.push(before);
        }
        all.push(item);
    }
    all.extend(live_only);
    Ok(all)
}

fn places(order: &[Value], items: Items, key: Option<&str>) -> HashMap<Identity, usize> {
    let mut places = HashMap::new();
    for (index, item) in order.iter().enumerate() {
        places.entry(Identity::of_item(item, items, key)).or_insert(index);
    }
    places
}

/// Sorts items by where they stand in `order`; items marked for deletion go to the end.
fn sorted(list: Vec<Value>, order: &[Value], items: Items, key: Option<&str>) -> Result<Vec<Value>, PatchError> {
    if items == Items::Objects {
        // A list of objects without a key cannot be ordered; upstream then misses a key without a name.
        let key = key.unwrap_or_default();
        list.iter()
            .chain(order)
            .try_for_each(|item| key_of(item, Some(key)).map(drop))?;
    }
    let order = places(order, items, key);
    let is_doomed = |item: &Value| items == Items::Objects && item.get(PATCH).and_then(Value::as_str) == Some("delete");
    let (doomed, kept): (Vec<Value>, Vec<Value>) = list.into_iter().partition(is_doomed);
    let mut placed: Vec<(Option<usize>, Value)> = kept
        .into_iter()
        .map(|item| (order.get(&Identity::of_item(&item, items, key)).copied(), item))
        .collect();
    if placed.iter().all(|(place, _)| place.is_some()) {
        placed.sort_by_key(|(place, _)| *place);
    } else {
        insert_unplaced(&mut placed);
    }
    Ok(placed.into_iter().map(|(_, item)| item).chain(doomed).collect())
}

/// Upstream's comparison calls an item less than any other as soon as one of the two has no place, so that the outcome
/// depends on the sorting algorithm: Go inserts, from left to right, in blocks of twenty.
fn insert_unplaced(placed: &mut [(Option<usize>, Value)]) {
    const BLOCK: usize = 20;
    for block in placed.chunks_mut(BLOCK) {
        for end in 1..block.len() {
            for at in (1..=end).rev() {
                let is_less = match (block[at].0, block[at - 1].0) {
                    (Some(this), Some(previous)) => this < previous,
                    _ => true,
                };
                if !is_less {
                    break;
                }
                block.swap(at, at - 1);
            }
        }
    }
}
