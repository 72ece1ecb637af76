//! Defaulting (C7), and the nulls that leave before it.

use serde_json::Value;

use super::node::Node;

/// Fills in defaults below a place. A default that is an object or a list is defaulted in turn.
pub(super) fn default(node: &Node, value: &mut Value) {
    if !node.below.defaults {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, property) in &node.properties {
                let Some(default) = &property.default else { continue };
                match fields.get_mut(&**name) {
                    None => {
                        fields.insert(name.to_string(), default.clone());
                    }
                    Some(present) => replace_null(property, present),
                }
            }
            for (name, value) in fields {
                if let Some(property) = node.property(name) {
                    self::default(property, value);
                } else if let Some(values) = node.additional.schema() {
                    replace_null(values, value);
                    self::default(values, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(of) = &node.items {
                for item in items {
                    replace_null(of, item);
                    self::default(of, item);
                }
            }
        }
        _ => {}
    }
}

/// Whether a place has all its defaults: whether filling them in would change nothing.
pub(super) fn is_complete(node: &Node, value: &Value) -> bool {
    if !node.below.defaults {
        return true;
    }
    let takes_default = |node: &Node, value: &Value| value.is_null() && !node.nullable && node.default.is_some();
    match value {
        Value::Object(fields) => {
            let is_missing = |(name, property): &(Box<str>, Node)| {
                property.default.is_some() && fields.get(&**name).is_none_or(|value| takes_default(property, value))
            };
            !node.properties.iter().any(is_missing)
                && fields.iter().all(|(name, value)| {
                    let child = node.child(name);
                    child.is_none_or(|child| !takes_default(child, value) && is_complete(child, value))
                })
        }
        Value::Array(items) => node.items.as_deref().is_none_or(|of| {
            let complete = |item: &Value| !takes_default(of, item) && is_complete(of, item);
            items.iter().all(complete)
        }),
        _ => true,
    }
}

fn replace_null(node: &Node, value: &mut Value) {
    if value.is_null()
        && !node.nullable
        && let Some(default) = &node.default
    {
        *value = default.clone();
    }
}

/// Removes nulls that are neither allowed nor defaulted; those in lists stay.
pub(super) fn prune_nulls(node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let mut superfluous = false;
            for (name, value) in &mut *fields {
                match node.child(name) {
                    Some(child) if value.is_null() => superfluous |= child.drops_null(),
                    Some(child) => prune_nulls(child, value),
                    None => {}
                }
            }
            if superfluous {
                fields.retain(|name, value| !(value.is_null() && node.child(name).is_some_and(Node::drops_null)));
            }
        }
        Value::Array(items) => {
            if let Some(of) = &node.items {
                for item in items {
                    prune_nulls(of, item);
                }
            }
        }
        _ => {}
    }
}
