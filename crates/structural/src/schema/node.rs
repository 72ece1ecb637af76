//! One node of a compiled schema: what the structure says of it, and what a value there must satisfy.

use serde_json::Value;

use super::checks::Checks;

/// The types a value may have (`type`, and both of `x-kubernetes-int-or-string`), by their bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Types(u8);

/// The types of JSON, as messages name them.
const NAMES: [(&str, u8); 6] = [
    ("object", Types::OBJECT.0),
    ("array", Types::ARRAY.0),
    ("string", Types::STRING.0),
    ("integer", Types::INTEGER.0),
    ("number", Types::NUMBER.0),
    ("boolean", Types::BOOLEAN.0),
];

impl Types {
    pub(super) const OBJECT: Self = Types(1);
    pub(super) const ARRAY: Self = Types(2);
    pub(super) const STRING: Self = Types(4);
    pub(super) const INTEGER: Self = Types(8);
    pub(super) const NUMBER: Self = Types(16);
    pub(super) const BOOLEAN: Self = Types(32);
    pub(super) const INT_OR_STRING: Self = Types(4 | 8);

    pub(super) fn named(name: &str) -> Self {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        Types(found.map_or(0, |(_, bit)| *bit))
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// As a message names them.
    pub(super) fn text(self) -> &'static str {
        if self == Self::INT_OR_STRING {
            return "integer,string";
        }
        NAMES
            .iter()
            .find(|(_, bit)| *bit == self.0)
            .map_or("", |(name, _)| name)
    }
}

/// `additionalProperties`.
#[derive(Debug, Default)]
pub(super) enum Additional {
    /// Not given.
    #[default]
    Absent,
    /// `true`: any value, without a schema.
    Any,
    /// `false`: no value at all. Validation reports such values; pruning leaves them in place.
    Nothing,
    /// A schema for every value.
    Of(Box<Node>),
}

impl Additional {
    /// The schema of the values; `None` when there is none, even where values are allowed.
    pub(super) fn schema(&self) -> Option<&Node> {
        match self {
            Additional::Of(node) => Some(node),
            Additional::Absent | Additional::Any | Additional::Nothing => None,
        }
    }
}

/// `x-kubernetes-list-type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ListType {
    #[default]
    Atomic,
    Set,
    Map,
}

/// What a node or any node below it has, so that a walk can skip subtrees that have nothing for it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SubtreeFeatures {
    pub(super) defaults: bool,
    pub(super) embedded: bool,
    pub(super) keyed_lists: bool,
}

impl SubtreeFeatures {
    pub(super) fn add(&mut self, other: Self) {
        self.defaults |= other.defaults;
        self.embedded |= other.embedded;
        self.keyed_lists |= other.keyed_lists;
    }
}

/// The first eight bytes of a name as a number: numbers are in the order of the names.
pub(super) fn beginning(name: &str) -> u64 {
    let mut bytes = [0; 8];
    let length = name.len().min(8);
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    u64::from_be_bytes(bytes)
}

/// One node of a compiled schema.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a marker of its own that a schema sets or not"
)]
pub(super) struct Node {
    pub(super) types: Types,
    pub(super) nullable: bool,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub(super) preserves: bool,
    /// `x-kubernetes-embedded-resource`.
    pub(super) embedded: bool,
    /// It has a format other than `byte`, known or not: to server-side apply its strings are any scalar.
    pub(super) formatted: bool,
    /// `x-kubernetes-map-type: atomic`.
    pub(super) atomic_map: bool,
    pub(super) list: ListType,
    /// `x-kubernetes-list-map-keys`.
    pub(super) keys: Box<[Box<str>]>,
    pub(super) default: Option<Value>,
    /// By name.
    pub(super) properties: Box<[(Box<str>, Node)]>,
    /// The beginnings of the names of `properties`, in their order: numbers side by side are found faster than texts.
    pub(super) beginnings: Box<[u64]>,
    pub(super) additional: Additional,
    pub(super) items: Option<Box<Node>>,
    pub(super) below: SubtreeFeatures,
    pub(super) checks: Checks,
}

impl Node {
    /// The declared property of that name.
    pub(super) fn property(&self, name: &str) -> Option<&Node> {
        let beginning = beginning(name);
        let first = self.beginnings.partition_point(|known| *known < beginning);
        let alike = self.beginnings.iter().zip(&self.properties).skip(first);
        alike
            .take_while(|(known, _)| **known == beginning)
            .find(|(_, (known, _))| **known == *name)
            .map(|(_, (_, node))| node)
    }

    /// The schema of the value under a name, declared or additional.
    pub(super) fn child(&self, name: &str) -> Option<&Node> {
        self.property(name).or_else(|| self.additional.schema())
    }

    /// A null that the schema neither allows nor replaces.
    pub(super) fn drops_null(&self) -> bool {
        !self.nullable && self.default.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::{Node, beginning};

    #[test]
    fn names_with_a_common_beginning_are_distinguished() {
        let names = [
            "",
            "a",
            "additional",
            "additionalA",
            "additionalB",
            "additionaz",
            "b",
            "é",
        ];
        let node = Node {
            properties: names
                .iter()
                .enumerate()
                .map(|(at, name)| {
                    let keys = Box::from([Box::from(at.to_string())]);
                    (
                        Box::from(*name),
                        Node {
                            keys,
                            ..Node::default()
                        },
                    )
                })
                .collect(),
            beginnings: names.iter().map(|name| beginning(name)).collect(),
            ..Node::default()
        };
        assert!(node.beginnings.is_sorted());
        for (at, name) in names.iter().enumerate() {
            let found = node.property(name).map(|node| &*node.keys[0]);
            assert_eq!(found, Some(at.to_string().as_str()), "{name:?}");
        }
        for missing in ["\0", "additiona", "additionalAA", "c", "aa"] {
            assert!(node.property(missing).is_none(), "{missing:?}");
        }
    }
}
