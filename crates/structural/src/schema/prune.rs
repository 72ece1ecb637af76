//! Pruning: removes the fields that the schema does not specify (C6).

use serde_json::{Map, Value};

use super::{
    node::{Additional, Node},
    path::ObjectPath,
};

/// The fields that every object of the API has, even if its schema does not mention them.
fn is_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

/// Removes what the schema of a whole object does not have and, if asked, collects the paths of it.
pub(super) fn prune(root: &Node, object: &mut Value, unknown: Option<&mut Vec<String>>) {
    let mut walk = Walk { unknown };
    let at = ObjectPath::ROOT;
    match object {
        Value::Object(fields) => walk.fields(root, fields, root.preserves, true, &at),
        other => walk.value(Some(root), other, &at),
    }
}

struct Walk<'u> {
    unknown: Option<&'u mut Vec<String>>,
}

impl Walk<'_> {
    fn value(&mut self, node: Option<&Node>, value: &mut Value, at: &ObjectPath<'_>) {
        let Some(node) = node else {
            return self.unspecified(value, at);
        };
        match value {
            Value::Object(fields) => self.fields(node, fields, node.preserves, node.embedded, at),
            Value::Array(items) => self.items(node, items, node.preserves, at),
            _ => {}
        }
    }

    fn fields(
        &mut self,
        node: &Node,
        fields: &mut Map<String, Value>,
        preserves: bool,
        embedded: bool,
        at: &ObjectPath<'_>,
    ) {
        let mut superfluous = false;
        for (name, value) in &mut *fields {
            if embedded && is_meta(name) {
                continue;
            }
            match (node.property(name), &node.additional) {
                (Some(property), _) => self.value(Some(property), value, &at.field(name)),
                (None, Additional::Of(values)) => self.value(Some(values), value, &at.field(name)),
                (None, Additional::Any | Additional::Nothing) => self.value(None, value, &at.field(name)),
                (None, Additional::Absent) => superfluous = true,
            }
        }
        if superfluous && !preserves {
            fields.retain(|name, _| {
                let known = (embedded && is_meta(name)) || node.property(name).is_some();
                if !known {
                    self.report(&at.field(name));
                }
                known
            });
        }
    }

    /// Preserving goes down through the items of lists, as far as fields are not specified again.
    fn items(&mut self, node: &Node, items: &mut [Value], preserves: bool, at: &ObjectPath<'_>) {
        for (index, item) in items.iter_mut().enumerate() {
            let at = at.index(index);
            match (&node.items, &mut *item) {
                (None, _) if preserves => {}
                (None, item) => self.value(None, item, &at),
                (Some(of), Value::Object(fields)) => {
                    self.fields(of, fields, preserves || of.preserves, of.embedded, &at);
                }
                (Some(of), Value::Array(items)) => self.items(of, items, preserves || of.preserves, &at),
                _ => {}
            }
        }
    }

    /// Nothing is specified here: objects lose every field, lists keep their items.
    fn unspecified(&mut self, value: &mut Value, at: &ObjectPath<'_>) {
        match value {
            Value::Object(fields) => {
                for name in fields.keys() {
                    self.report(&at.field(name));
                }
                fields.clear();
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.unspecified(item, &at.index(index));
                }
            }
            _ => {}
        }
    }

    fn report(&mut self, at: &ObjectPath<'_>) {
        if let Some(unknown) = &mut self.unknown {
            unknown.push(at.unknown());
        }
    }
}
