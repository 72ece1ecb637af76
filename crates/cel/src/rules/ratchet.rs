//! Ratcheting: a rule that fails for a part of an object that did not change is a warning only.
//! Whether a part changed depends on its schema: lists of type map are compared by key, and a field without a
//! schema makes what holds it different.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// What of a schema matters for finding the old counterpart of a part.
#[derive(Debug, Default)]
pub(super) struct Shape {
    properties: BTreeMap<String, Shape>,
    additional: Option<Box<Shape>>,
    items: Option<Box<Shape>>,
    /// The keys of a list of type map.
    keys: Option<Vec<String>>,
}

impl Shape {
    pub(super) fn new(schema: &Json) -> Shape {
        let properties = schema.get("properties").and_then(Json::as_object).into_iter().flatten();
        let nested = |name: &str| {
            let schema = schema.get(name).filter(|schema| schema.is_object());
            schema.map(|schema| Box::new(Shape::new(schema)))
        };
        let is_map = schema.get("x-kubernetes-list-type").and_then(Json::as_str) == Some("map");
        let keys = schema
            .get("x-kubernetes-list-map-keys")
            .and_then(Json::as_array)
            .into_iter()
            .flatten();
        Shape {
            properties: properties
                .map(|(name, schema)| (name.clone(), Shape::new(schema)))
                .collect(),
            additional: nested("additionalProperties"),
            items: nested("items"),
            keys: is_map.then(|| keys.filter_map(Json::as_str).map(str::to_owned).collect()),
        }
    }

    fn field(&self, name: &str) -> Option<&Shape> {
        self.properties.get(name).or(self.additional.as_deref())
    }
}

/// The element of the old list with the same keys; elements of other lists have no identity.
pub(super) fn counterpart<'o>(keys: &[String], item: &Json, old: &'o [Json]) -> Option<&'o Json> {
    fn key<'i>(item: &'i Json, name: &str) -> Option<&'i Json> {
        item.get(name)
            .filter(|value| value.is_boolean() || value.is_number() || value.is_string())
    }
    if keys.is_empty() || !keys.iter().all(|name| key(item, name).is_some()) {
        return None;
    }
    old.iter()
        .find(|old| keys.iter().all(|name| key(old, name) == key(item, name)))
}

/// A part of the object, its counterpart in the old one and their schema.
#[derive(Clone, Copy)]
pub(super) struct Pair<'o> {
    new: &'o Json,
    old: &'o Json,
    shape: &'o Shape,
}

impl<'o> Pair<'o> {
    pub(super) fn new(new: &'o Json, old: &'o Json, shape: &'o Shape) -> Self {
        Self { new, old, shape }
    }

    fn field(self, name: &str) -> Option<Pair<'o>> {
        let (new, old) = (self.new.as_object()?.get(name)?, self.old.as_object()?.get(name)?);
        Some(Pair::new(new, old, self.shape.field(name)?))
    }

    fn item(self, index: usize) -> Option<Pair<'o>> {
        let new = self.new.as_array()?.get(index)?;
        let keys = self.shape.keys.as_ref()?;
        let old = counterpart(keys, new, self.old.as_array()?).filter(|old| !old.is_null())?;
        Some(Pair::new(new, old, self.shape.items.as_deref()?))
    }

    /// Whether nothing changed.
    fn is_equal(self) -> bool {
        match (self.new, self.old) {
            (Json::Array(new), Json::Array(old)) => {
                new.len() == old.len()
                    && match self.shape.keys {
                        Some(_) => (0..new.len()).all(|index| self.item(index).is_some_and(Pair::is_equal)),
                        None => new == old,
                    }
            }
            (Json::Object(new), Json::Object(old)) => {
                new.len() == old.len() && new.keys().all(|name| self.field(name).is_some_and(Pair::is_equal))
            }
            (new, old) => new == old,
        }
    }
}

/// The counterpart of a node in the old object, and that of the nearest node above it that has one.
#[derive(Clone, Copy)]
pub(super) struct Ratchet<'o> {
    current: Option<Pair<'o>>,
    parent: Option<Pair<'o>>,
}

impl<'o> Ratchet<'o> {
    pub(super) fn root(pair: Option<Pair<'o>>) -> Self {
        Self {
            current: pair,
            parent: None,
        }
    }

    pub(super) fn field(self, name: &str) -> Self {
        let Some(current) = self.current else { return self };
        // Both objects have been converted to one version, so a change of these two cannot be seen.
        if self.parent.is_none() && matches!(name, "apiVersion" | "kind") {
            return Self::root(None);
        }
        Self {
            current: current.field(name),
            parent: Some(current),
        }
    }

    pub(super) fn item(self, index: usize) -> Self {
        let Some(current) = self.current else { return self };
        Self {
            current: current.item(index),
            parent: Some(current),
        }
    }

    /// Failed rules of `allOf` are warnings only if the parent of the node did not change.
    pub(super) fn all_of(self) -> Self {
        Self { current: None, ..self }
    }

    /// Whether a failed rule is a warning only.
    pub(super) fn lets_pass(self) -> bool {
        self.current.or(self.parent).is_some_and(Pair::is_equal)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn equal(schema: &Json, new: &Json, old: &Json) -> bool {
        Pair::new(new, old, &Shape::new(schema)).is_equal()
    }

    #[test]
    fn lists_of_type_map_are_compared_by_key() {
        let schema = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items":
            {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}});
        let (a, b) = (json!({"k": "a", "v": 1}), json!({"k": "b"}));
        assert!(equal(&schema, &json!([a, b]), &json!([b, a])));
        assert!(!equal(&schema, &json!([a, b]), &json!([b, {"k": "a", "v": 2}])));
        assert!(!equal(&schema, &json!([{"v": 1}]), &json!([{"v": 1}])));
        assert!(!equal(&json!({"type": "array"}), &json!([a, b]), &json!([b, a])));
    }

    #[test]
    fn a_field_without_a_schema_makes_its_object_different() {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "integer"}}});
        assert!(equal(&schema, &json!({"a": 1}), &json!({"a": 1})));
        assert!(!equal(&schema, &json!({"a": 1, "b": 2}), &json!({"a": 1, "b": 2})));
        assert!(equal(&schema, &json!({}), &json!({})));
    }
}
