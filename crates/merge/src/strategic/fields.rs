//! Merging the fields of an object.

use kubewright_apimachinery::go::quote;
use serde_json::{Map, Value};

use super::error::{bad_element_order, bad_primitive_list, expected_list, other, unknown_directive};
use super::{DELETE_FROM_PRIMITIVE_LIST, PATCH, SET_ELEMENT_ORDER, list, order, retain};
use crate::patch_error::PatchError;
use crate::topology::{ScalarKind, Shape, Topology};

/// Merges a patch into an object.
pub(super) fn merge<'t, T: Topology<'t>>(
    mut object: Map<String, Value>,
    mut patch: Map<String, Value>,
    of: T,
) -> Result<Map<String, Value>, PatchError> {
    if let Some(directive) = patch.get(PATCH) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(PATCH);
                Ok(patch)
            }
            Some("delete") => Ok(Map::new()),
            _ => Err(unknown_directive(directive, &patch)),
        };
    }
    retain::apply(&mut object, &mut patch)?;
    merge_ordered_lists(&mut object, &mut patch, of)?;
    for (name, change) in patch {
        match name.strip_prefix(DELETE_FROM_PRIMITIVE_LIST) {
            None => merge_field(&mut object, name, change, of)?,
            Some(rest) => {
                let list = rest.strip_prefix('/').ok_or_else(bad_primitive_list)?;
                delete_from_list(&mut object, list, change, of)?;
            }
        }
    }
    Ok(object)
}

fn merge_field<'t, T: Topology<'t>>(
    object: &mut Map<String, Value>,
    name: String,
    change: Value,
    of: T,
) -> Result<(), PatchError> {
    if change.is_null() {
        object.remove(&name);
        return Ok(());
    }
    let merged = match (object.get_mut(&name).map(Value::take), change) {
        (Some(Value::Object(current)), Value::Object(change)) => {
            let place = field(of, &name)?;
            if place.patch_strategy().replace {
                Some(Value::Object(change))
            } else {
                Some(Value::Object(merge(current, change, place)?))
            }
        }
        (Some(Value::Array(current)), Value::Array(change)) => {
            let place = list_field(of, &name)?;
            Some(Value::Array(if place.patch_strategy().merge {
                list::merge(current, change, place)?
            } else {
                change
            }))
        }
        (_, change) => without_directives(without_nulls(change)),
    };
    match merged {
        Some(merged) => drop(object.insert(name, merged)),
        None => drop(object.remove(&name)),
    }
    Ok(())
}

fn delete_from_list<'t, T: Topology<'t>>(
    object: &mut Map<String, Value>,
    name: &str,
    doomed: Value,
    of: T,
) -> Result<(), PatchError> {
    if doomed.is_null() {
        object.remove(name);
        return Ok(());
    }
    if let (Some(Value::Array(current)), Value::Array(doomed)) = (object.get_mut(name), doomed) {
        let place = list_field(of, name)?;
        *current = list::delete(std::mem::take(current), doomed, place)?;
    }
    Ok(())
}

/// Merges the lists whose order the patch sets, and takes them and the orders out of the patch.
fn merge_ordered_lists<'t, T: Topology<'t>>(
    object: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    of: T,
) -> Result<(), PatchError> {
    let orders: Vec<String> = patch
        .keys()
        .filter(|name| name.starts_with(SET_ELEMENT_ORDER))
        .cloned()
        .collect();
    for directive in orders {
        let order = match patch.remove(&directive) {
            Some(Value::Array(order)) => order,
            other => return Err(expected_list(&other.unwrap_or_default())),
        };
        let name = directive
            .strip_prefix(SET_ELEMENT_ORDER)
            .and_then(|rest| rest.strip_prefix('/'));
        let name = name.ok_or_else(bad_element_order)?;
        let live = list_or_absent(object.get(name))?;
        let change = list_or_absent(patch.get(name))?;
        let place = list_field(of, name)?;
        let ordered = order::merge_in_order(live, change, &order, place)?;
        if let Some(ordered) = ordered {
            object.insert(name.to_owned(), Value::Array(ordered));
            patch.remove(name);
        }
    }
    Ok(())
}

fn list_or_absent(value: Option<&Value>) -> Result<Option<&Vec<Value>>, PatchError> {
    match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(value) => Err(expected_list(value)),
    }
}

/// The place of a field, whose type must be a struct.
fn field<'t, T: Topology<'t>>(of: T, name: &str) -> Result<T, PatchError> {
    let kind = match of.shape() {
        Shape::Struct { .. } | Shape::Untyped => "struct",
        Shape::Scalar if matches!(of.scalar(), ScalarKind::Whole) => "struct",
        Shape::Map { .. } => "map",
        Shape::List(_) => "slice",
        Shape::Scalar => "string",
    };
    if kind != "struct" {
        return Err(other(format!(
            "merging an object in json but data type is not struct, instead is: {kind}"
        )));
    }
    of.field(name).ok_or_else(|| {
        // Free-form values are structs to Go, that hold their text in no field.
        other(format!(
            "unable to find api field in struct RawExtension for the json field {}",
            quote(name)
        ))
    })
}

/// The place of a field that is a list.
fn list_field<'t, T: Topology<'t>>(of: T, name: &str) -> Result<T, PatchError> {
    let place = field(of, name)?;
    match place.shape() {
        Shape::List(_) => Ok(place),
        _ => Err(other("expected slice or array type, but got: struct")),
    }
}

/// Leaves out the nulls of objects, wherever they are: they would delete what is not there.
fn without_nulls(mut value: Value) -> Value {
    discard_nulls(&mut value);
    value
}

pub(super) fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// Leaves out objects that carry a directive; `None` when that is the value itself.
pub(super) fn without_directives(value: Value) -> Option<Value> {
    Some(match value {
        Value::Object(fields) if fields.contains_key(PATCH) => return None,
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, without_directives(value)?)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().filter_map(without_directives).collect()),
        value => value,
    })
}
