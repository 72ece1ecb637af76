//! Which part of the old object a part of the new one corresponds to, and whether it changed (C18). Fields and map
//! entries correspond by name, items of `map` lists by their keys; items of other lists do not correspond to anything.

use std::{borrow::Cow, cell::OnceCell, collections::HashMap, fmt::Write as _};

use serde_json::{Map, Value};

use super::{
    go,
    node::{ListType, Node},
};

/// The old list that a list corresponds to; its items are found by their keys.
pub(super) struct OldItems<'o> {
    keys: &'o [Box<str>],
    items: &'o [Value],
    by_key: OnceCell<HashMap<Cow<'o, str>, &'o Value>>,
}

impl<'o> OldItems<'o> {
    /// The items of an old value, if the list at this place identifies its items.
    pub(super) fn of(node: &'o Node, old: Option<&'o Value>) -> Option<Self> {
        match old {
            Some(Value::Array(items)) if node.list == ListType::Map && node.items.is_some() => Some(OldItems {
                keys: &node.keys,
                items,
                by_key: OnceCell::new(),
            }),
            _ => None,
        }
    }

    /// The old item with the keys of `item`: the first, if there are several.
    pub(super) fn find(&self, item: &Value) -> Option<&'o Value> {
        let key = key_of(self.keys, item.as_object()?)?;
        let by_key = self.by_key.get_or_init(|| {
            let mut by_key = HashMap::with_capacity(self.items.len());
            for item in self.items {
                if let Some(key) = item.as_object().and_then(|fields| key_of(self.keys, fields)) {
                    by_key.entry(key).or_insert(item);
                }
            }
            by_key
        });
        by_key.get(&key).copied()
    }
}

/// A text that identifies an item; `None` unless every key is given and a scalar.
fn key_of<'v>(keys: &[Box<str>], fields: &'v Map<String, Value>) -> Option<Cow<'v, str>> {
    match keys {
        [] => None,
        [key] => match fields.get(&**key)? {
            // The other scalars begin with a byte that no string begins with.
            Value::String(text) => Some(Cow::Borrowed(text)),
            other => scalar_key(other, true).map(|text| Cow::Owned(format!("\0{text}"))),
        },
        keys => {
            let mut text = String::new();
            for key in keys {
                // Writing to a string cannot fail.
                let _ = write!(text, "\0{}", scalar_key(fields.get(&**key)?, false)?);
            }
            Some(Cow::Owned(text))
        }
    }
}

/// Among several keys upstream prints floats with six digits, and compares what it printed.
fn scalar_key(value: &Value, exact: bool) -> Option<String> {
    match value {
        Value::Bool(flag) => Some(flag.to_string()),
        Value::String(text) => Some(kubewright_apimachinery::go::quote(text)),
        Value::Number(number) => Some(match go::Number::of(number) {
            go::Number::Int(int) => int.to_string(),
            go::Number::Float(float) if exact => format!("{float:?}f"),
            go::Number::Float(float) => format!("{float:.6}"),
        }),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Whether a value equals the old one that it corresponds to. A field that the schema does not specify corresponds to
/// nothing, so an object that has one is never unchanged.
pub(super) fn unchanged(node: &Node, new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            new.len() == old.len()
                && new.iter().all(|(name, value)| match (node.child(name), old.get(name)) {
                    (Some(child), Some(old)) => unchanged(child, value, old),
                    _ => false,
                })
        }
        (Value::Array(new_items), Value::Array(old_items)) => {
            if new_items.len() != old_items.len() {
                return false;
            }
            match (OldItems::of(node, Some(old)), &node.items) {
                (Some(old), Some(of)) => new_items
                    .iter()
                    .all(|item| old.find(item).is_some_and(|old| unchanged(of, item, old))),
                _ => go::deep_equal(new, old),
            }
        }
        _ => go::deep_equal(new, old),
    }
}
