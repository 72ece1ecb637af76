//! Merging lists: of objects by their key, of scalars as sets.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::error::{expected_object, go_type, list_of_lists, no_merge_key, other, unknown_directive};
use super::order::{in_patch_order, partition};
use super::print::printed;
use super::{PATCH, fields};
use crate::patch_error::PatchError;
use crate::topology::Topology;

/// What the items of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Items {
    Objects,
    Scalars,
}

/// Merges a list of a patch into the live one.
pub(super) fn merge<'t, T: Topology<'t>>(live: Vec<Value>, patch: Vec<Value>, of: T) -> Result<Vec<Value>, PatchError> {
    if live.is_empty() && patch.is_empty() {
        return Ok(live);
    }
    let items = kind(&live, &patch)?;
    let key = of.patch_strategy().merge_key;
    let (live, patch) = match items {
        Items::Scalars => (live, patch),
        Items::Objects => obey_directives(live, patch, key.ok_or_else(no_key)?)?,
    };
    let merged = match (items, key) {
        (Items::Objects, Some(key)) => merge_objects(live.clone(), &patch, key, of)?,
        _ => union(&live, &patch),
    };
    let (in_patch, live_only) = partition(merged, &patch, key)?;
    in_patch_order(in_patch, live_only, &patch, &live, items, key)
}

/// Removes items from a list of scalars. (Upstream merges a list of objects, whatever the directive says.)
pub(super) fn delete<'t, T: Topology<'t>>(
    live: Vec<Value>,
    doomed: Vec<Value>,
    of: T,
) -> Result<Vec<Value>, PatchError> {
    if live.is_empty() && doomed.is_empty() {
        return Ok(live);
    }
    if kind(&live, &doomed)? == Items::Objects {
        return merge(live, doomed, of);
    }
    let doomed: HashSet<Identity> = doomed.iter().map(Identity::of).collect();
    Ok(live
        .into_iter()
        .filter(|item| !doomed.contains(&Identity::of(item)))
        .collect())
}

fn no_key() -> PatchError {
    other("cannot merge lists without merge key for struct")
}

/// What the items of both lists are; they must all be of one type.
pub(super) fn kind(live: &[Value], patch: &[Value]) -> Result<Items, PatchError> {
    let mut all = live.iter().chain(patch);
    let Some(first) = all.next() else {
        return Err(other("no elements in any of the given slices"));
    };
    if first.is_array() {
        return Err(list_of_lists());
    }
    if first.is_null() || all.any(|item| go_type(item) != go_type(first)) {
        let lists = Value::Array(vec![Value::Array(live.to_vec()), Value::Array(patch.to_vec())]);
        return Err(other(format!(
            "list element types are not identical: {}",
            printed(&lists)
        )));
    }
    Ok(if first.is_object() {
        Items::Objects
    } else {
        Items::Scalars
    })
}

/// Does what items with a directive say, and returns the live list and the items without one.
fn obey_directives(mut live: Vec<Value>, patch: Vec<Value>, key: &str) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut replace = false;
    let mut doomed = HashSet::new();
    for item in patch {
        let Value::Object(fields) = &item else {
            return Err(expected_object(&item));
        };
        let Some(directive) = fields.get(PATCH) else {
            plain.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let name = fields.get(key).ok_or_else(|| no_merge_key(fields, key))?;
                doomed.insert(Identity::of(name));
            }
            Some("replace") => replace = true,
            Some("merge") => return Err(other("merging lists cannot yet be specified in the patch")),
            _ => return Err(unknown_directive(directive, fields)),
        }
    }
    if replace {
        return Ok((plain, Vec::new()));
    }
    if !doomed.is_empty() {
        live.retain(|item| item.get(key).is_none_or(|name| !doomed.contains(&Identity::of(name))));
    }
    Ok((live, plain))
}

/// Merges the items of the patch into those of the same name, and adds the others.
fn merge_objects<'t, T: Topology<'t>>(
    mut live: Vec<Value>,
    patch: &[Value],
    key: &str,
    of: T,
) -> Result<Vec<Value>, PatchError> {
    let mut places: HashMap<Identity, usize> = HashMap::new();
    for (index, item) in live.iter().enumerate() {
        if let Some(name) = item.get(key) {
            places.entry(Identity::of(name)).or_insert(index);
        }
    }
    let element = of.element();
    for item in patch {
        let Value::Object(change) = item else {
            return Err(expected_object(item));
        };
        let name = change.get(key).ok_or_else(|| no_merge_key(change, key))?;
        if let (Some(&place), Some(element)) = (places.get(&Identity::of(name)), element) {
            let current = object(live[place].take());
            live[place] = Value::Object(fields::merge(current, change.clone(), element)?);
        } else {
            places.insert(Identity::of(name), live.len());
            live.push(item.clone());
        }
    }
    Ok(live)
}

/// The live list as upstream sees it when it orders a list that it has merged: it deletes and adds items in place, so
/// that items that are new stand where deleted ones made room.
pub(super) fn order_left_behind(live: &[Value], patch: &[Value], key: &str) -> Vec<Value> {
    let has_directive = |item: &Value, directive: &str| item.get(PATCH).is_some_and(|found| found == directive);
    let names = |items: &[Value]| {
        items
            .iter()
            .filter_map(|item| item.get(key))
            .map(Identity::of)
            .collect::<HashSet<_>>()
    };
    let doomed: Vec<Value> = patch
        .iter()
        .filter(|item| has_directive(item, "delete"))
        .cloned()
        .collect();
    let doomed = names(&doomed);
    let is_doomed = |item: &Value| item.get(key).is_some_and(|name| doomed.contains(&Identity::of(name)));
    let mut left: Vec<Value> = live.iter().filter(|item| !is_doomed(item)).cloned().collect();
    if !patch.iter().any(|item| has_directive(item, "replace")) {
        let mut known = names(&left);
        let plain = patch.iter().filter(|item| item.get(PATCH).is_none());
        let new = plain.filter(|item| item.get(key).is_some_and(|name| known.insert(Identity::of(name))));
        left.extend(new.take(live.len() - left.len()).cloned().collect::<Vec<_>>());
    }
    left
}

fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(fields) = value {
        fields
    } else {
        Map::new()
    }
}

/// The scalars of both lists, each once.
fn union(live: &[Value], patch: &[Value]) -> Vec<Value> {
    let mut seen = HashSet::new();
    live.iter()
        .chain(patch)
        .filter(|item| seen.insert(Identity::of(item)))
        .cloned()
        .collect()
}

/// What makes two keys or scalars the same: type and value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity(String);

impl Identity {
    pub(super) fn of(value: &Value) -> Self {
        Self(value.to_string())
    }

    /// The identity of an item: that of its key in a list of objects.
    pub(super) fn of_item(item: &Value, items: Items, key: Option<&str>) -> Self {
        match (items, key) {
            (Items::Objects, Some(key)) => Self::of(item.get(key).unwrap_or(&Value::Null)),
            _ => Self::of(item),
        }
    }
}
