//! Values as Go's `%v` prints them, which is how upstream's messages quote patches.

use kubewright_apimachinery::go::value::{Numbers, plain};
use serde_json::{Map, Value};

use super::error::go_type;
use super::fields::discard_nulls;
use super::{DELETE_FROM_PRIMITIVE_LIST, PATCH, RETAIN_KEYS, SET_ELEMENT_ORDER};
use crate::topology::Topology;

/// A value as Go's `%v` prints it: `map[a:1 b:[x y]]`.
pub fn printed(value: &Value) -> String {
    plain(value, Numbers::Int64)
}

/// A patch as it is printed after it was merged into this object, which takes out of it what was done: directives, lists whose order it
/// gives, and nulls of what was not there.
pub fn printed_after_merge<'t, T: Topology<'t>>(object: &Value, patch: &Value, of: T) -> String {
    let mut patch = patch.clone();
    if let Value::Object(patch) = &mut patch {
        take_out_of_object(object.as_object(), patch, Some(of));
    }
    printed(&patch)
}

fn take_out_of_object<'t, T: Topology<'t>>(
    live: Option<&Map<String, Value>>,
    patch: &mut Map<String, Value>,
    of: Option<T>,
) {
    if let Some(directive) = patch.get(PATCH) {
        // What replaces or deletes is not looked into.
        if directive == "replace" {
            patch.remove(PATCH);
        }
        return;
    }
    let retained = patch.remove(RETAIN_KEYS);
    let is_retained = |name: &str| match &retained {
        Some(Value::Array(retained)) => retained.iter().any(|kept| kept == name),
        _ => true,
    };
    let live_field = |name: &str| live.and_then(|live| live.get(name)).filter(|_| is_retained(name));
    let orders = patch
        .keys()
        .filter_map(|name| Some(name.strip_prefix(SET_ELEMENT_ORDER)?.strip_prefix('/')?.to_owned()));
    for name in orders.collect::<Vec<_>>() {
        patch.remove(&name);
    }
    patch.retain(|name, _| !name.starts_with(SET_ELEMENT_ORDER));
    for (name, change) in patch.iter_mut() {
        let deletes_from = name
            .strip_prefix(DELETE_FROM_PRIMITIVE_LIST)
            .and_then(|rest| rest.strip_prefix('/'));
        let name = deletes_from.unwrap_or(name);
        let place = of.and_then(|of| of.field(name));
        match (live_field(name), change) {
            (_, Value::Null) => {}
            (Some(Value::Object(live)), Value::Object(change))
                if !place.is_some_and(|place| place.patch_strategy().replace) =>
            {
                take_out_of_object(Some(live), change, place);
            }
            (Some(Value::Array(live)), Value::Array(change)) => {
                if let Some(place) = place.filter(|place| place.patch_strategy().merge || deletes_from.is_some()) {
                    take_out_of_list(live, change, place);
                }
            }
            // Of what replaces something of its own type, nothing is left out.
            (live, change) if deletes_from.is_none() && live.is_none_or(|live| go_type(live) != go_type(change)) => {
                discard_nulls(change);
                take_out_directives(change);
            }
            _ => {}
        }
    }
}

/// Of a list that is merged, items that are there already are merged, and others stay as they are.
fn take_out_of_list<'t, T: Topology<'t>>(live: &[Value], patch: &mut [Value], of: T) {
    let Some(key) = of.patch_strategy().merge_key else {
        return;
    };
    if patch
        .iter()
        .any(|item| item.get(PATCH).is_some_and(|directive| directive == "replace"))
    {
        return;
    }
    let deleted: Vec<Value> = patch
        .iter()
        .filter(|item| item.get(PATCH).is_some())
        .filter_map(|item| item.get(key).cloned())
        .collect();
    for item in patch.iter_mut().filter_map(Value::as_object_mut) {
        if item.contains_key(PATCH) {
            continue;
        }
        let Some(name) = item.get(key).filter(|name| !deleted.contains(name)) else {
            continue;
        };
        if let Some(live) = live.iter().find(|live| live.get(key) == Some(name)) {
            take_out_of_object(live.as_object(), item, of.element());
        }
    }
}

/// Takes objects with a directive out of those around them. A list of its own keeps them: its copy, which is merged, has lost them.
fn take_out_directives(value: &mut Value) {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => {}
        Value::Object(fields) => {
            fields.retain(|_, value| value.get(PATCH).is_none());
            for value in fields.values_mut() {
                take_out_directives(value);
                if let Value::Array(items) = value {
                    items.retain(|item| item.get(PATCH).is_none());
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(take_out_directives),
        _ => {}
    }
}
