//! The invariants of `x-kubernetes-list-type`: the items of a `set` differ, and so do the keys of a `map`'s items.

use std::collections::HashMap;

use kubewright_apimachinery::field::{Errors, FieldError};
use serde_json::{Map, Value};

use super::{
    go,
    node::{ListType, Node},
    path::ObjectPath,
};

/// Finds the items that a list has twice.
pub(super) fn validate(root: &Node, object: &Value, errors: &mut Errors) {
    if root.below.keyed_lists {
        value(root, object, &ObjectPath::ROOT, errors);
    }
}

fn value(node: &Node, value: &Value, at: &ObjectPath<'_>, errors: &mut Errors) {
    if !node.below.keyed_lists {
        return;
    }
    match value {
        Value::Array(items) => list(node, items, at, errors),
        Value::Object(fields) => {
            for (name, below) in fields {
                if let Some(values) = node.additional.schema() {
                    self::value(values, below, &at.key(name), errors);
                }
                if let Some(property) = node.property(name) {
                    self::value(property, below, &at.field(name), errors);
                }
            }
        }
        _ => {}
    }
}

fn list(node: &Node, items: &[Value], at: &ObjectPath<'_>, errors: &mut Errors) {
    match node.list {
        ListType::Atomic => {}
        ListType::Set => {
            let repeated = repeated(items.iter().map(|item| Some(identity(item))));
            for index in repeated {
                errors.push(FieldError::duplicate(&at.index(index).field_path(), &items[index]));
            }
        }
        ListType::Map => keyed(node, items, at, errors),
    }
    if let Some(of) = &node.items {
        for (index, item) in items.iter().enumerate() {
            value(of, item, &at.index(index), errors);
        }
    }
}

fn keyed(node: &Node, items: &[Value], at: &ObjectPath<'_>, errors: &mut Errors) {
    if let Some((index, item)) = items
        .iter()
        .enumerate()
        .find(|(_, item)| !item.is_object() && !item.is_null())
    {
        let detail = "must be an object for an array of list-type map";
        errors.push(FieldError::invalid(&at.index(index).field_path(), item, detail));
        return;
    }
    if items.len() < 2 {
        return;
    }
    let keys = |item: &Value| -> Map<String, Value> {
        let given = node
            .keys
            .iter()
            .filter_map(|key| Some((key.to_string(), item.get(&**key)?.clone())));
        given.collect()
    };
    let identities = items.iter().map(|item| match &*node.keys {
        [key] => item.get(&**key).map(identity),
        _ => Some(identity(&Value::Object(keys(item)))),
    });
    for index in repeated(identities) {
        errors.push(FieldError::duplicate(
            &at.index(index).field_path(),
            keys(&items[index]),
        ));
    }
}

/// A text that two values share exactly if upstream takes them for the same: an integer is no float.
fn identity(value: &Value) -> String {
    match value {
        Value::Number(number) => match go::Number::of(number) {
            go::Number::Int(int) => int.to_string(),
            go::Number::Float(float) => format!("{float:?}f"),
        },
        // Upstream compares objects and lists by their JSON, in which a whole float is an integer.
        Value::Array(_) | Value::Object(_) => go::json(value),
        other => other.to_string(),
    }
}

/// Where something appears for the second time; a third time is not reported.
fn repeated(identities: impl Iterator<Item = Option<String>>) -> Vec<usize> {
    let mut seen: HashMap<Option<String>, usize> = HashMap::new();
    let mut repeated = Vec::new();
    for (index, identity) in identities.enumerate() {
        let times = seen.entry(identity).or_default();
        *times += 1;
        if *times == 2 {
            repeated.push(index);
        }
    }
    repeated
}
