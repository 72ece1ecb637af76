//! A node of a schema (`JSONSchemaProps`) as upstream's Go types read it.

use serde_json::{Map, Value};

use crate::crd::access::{at, flag, list, text};

/// One node of a schema.
#[derive(Clone, Copy)]
pub(super) struct Props<'a>(pub(super) &'a Value);

/// What `items` holds.
pub(super) enum Items<'a> {
    /// One schema for all items.
    One(Props<'a>),
    /// A schema per position, possibly none.
    Many(&'a [Value]),
}

impl<'a> Props<'a> {
    pub(super) fn kind(self) -> &'a str {
        text(self.0, &["type"])
    }

    pub(super) fn text(self, field: &str) -> &'a str {
        text(self.0, &[field])
    }

    pub(super) fn flag(self, field: &str) -> bool {
        flag(self.0, &[field])
    }

    /// Whether a field with a pointer type is set.
    pub(super) fn has(self, field: &str) -> bool {
        at(self.0, &[field]).is_some()
    }

    pub(super) fn get(self, field: &str) -> Option<&'a Value> {
        at(self.0, &[field])
    }

    pub(super) fn nullable(self) -> bool {
        self.flag("nullable")
    }

    pub(super) fn list_type(self) -> Option<&'a str> {
        self.get("x-kubernetes-list-type").and_then(Value::as_str)
    }

    pub(super) fn map_type(self) -> Option<&'a str> {
        self.get("x-kubernetes-map-type").and_then(Value::as_str)
    }

    pub(super) fn list_map_keys(self) -> Vec<&'a str> {
        list(self.0, &["x-kubernetes-list-map-keys"])
            .iter()
            .filter_map(Value::as_str)
            .collect()
    }

    pub(super) fn rules(self) -> &'a [Value] {
        list(self.0, &["x-kubernetes-validations"])
    }

    pub(super) fn preserves_unknown_fields(self) -> bool {
        self.flag("x-kubernetes-preserve-unknown-fields")
    }

    pub(super) fn is_embedded_resource(self) -> bool {
        self.flag("x-kubernetes-embedded-resource")
    }

    pub(super) fn is_int_or_string(self) -> bool {
        self.flag("x-kubernetes-int-or-string")
    }

    pub(super) fn items(self) -> Option<Items<'a>> {
        match self.get("items")? {
            Value::Array(many) => Some(Items::Many(many)),
            one @ Value::Object(_) => Some(Items::One(Props(one))),
            _ => None,
        }
    }

    /// The one schema of all items.
    pub(super) fn item(self) -> Option<Props<'a>> {
        match self.items()? {
            Items::One(item) => Some(item),
            Items::Many(_) => None,
        }
    }

    pub(super) fn properties(self) -> impl Iterator<Item = (&'a str, Props<'a>)> {
        self.map("properties")
    }

    pub(super) fn property(self, name: &str) -> Option<Props<'a>> {
        at(self.0, &["properties", name])
            .filter(|schema| schema.is_object())
            .map(Props)
    }

    pub(super) fn has_properties(self) -> bool {
        self.properties().next().is_some()
    }

    /// The schemas in a map of schemas.
    pub(super) fn map(self, field: &str) -> impl Iterator<Item = (&'a str, Props<'a>)> {
        let schemas: Option<&Map<String, Value>> = self.get(field).and_then(Value::as_object);
        schemas
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.as_str(), Props(schema)))
    }

    /// The schemas in a list of schemas.
    pub(super) fn all(self, field: &str) -> impl Iterator<Item = Props<'a>> {
        list(self.0, &[field]).iter().map(Props)
    }

    pub(super) fn not(self) -> Option<Props<'a>> {
        self.schema("not")
    }

    /// A field that holds a schema or a boolean: the schema.
    pub(super) fn schema(self, field: &str) -> Option<Props<'a>> {
        self.get(field).filter(|schema| schema.is_object()).map(Props)
    }

    pub(super) fn additional_properties(self) -> Option<Props<'a>> {
        self.schema("additionalProperties")
    }

    /// The texts of a list.
    pub(super) fn texts(self, field: &str) -> Vec<&'a str> {
        list(self.0, &[field]).iter().filter_map(Value::as_str).collect()
    }

    /// Whether this node or any below it meets a predicate.
    pub(super) fn any(self, predicate: &mut dyn FnMut(Props<'a>) -> bool) -> bool {
        predicate(self) || self.children().into_iter().any(|child| child.any(predicate))
    }

    /// Every schema directly below this node, wherever it stands.
    fn children(self) -> Vec<Props<'a>> {
        let mut children: Vec<Props<'a>> = Vec::new();
        match self.items() {
            Some(Items::One(item)) => children.push(item),
            Some(Items::Many(items)) => children.extend(items.iter().map(Props)),
            None => {}
        }
        for field in ["allOf", "anyOf", "oneOf"] {
            children.extend(self.all(field));
        }
        children.extend(self.not());
        children.extend(self.properties().map(|(_, schema)| schema));
        children.extend(self.additional_properties());
        children.extend(self.map("patternProperties").map(|(_, schema)| schema));
        children.extend(self.schema("additionalItems"));
        children.extend(self.map("definitions").map(|(_, schema)| schema));
        children.extend(
            self.map("dependencies")
                .map(|(_, schema)| schema)
                .filter(|schema| schema.0.is_object()),
        );
        children
    }
}
