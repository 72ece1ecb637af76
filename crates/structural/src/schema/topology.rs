//! The type of a custom resource as server-side apply sees it (S6): derived as upstream derives it from the published
//! `OpenAPI` document of the definition.

use kubewright_merge::{ListKind, PatchStrategy, ScalarKind, Shape, Topology};
use kubewright_schema::TypeRef;
use serde_json::Value;

use super::{
    Schema, coerce,
    node::{Additional, ListType, Node, Types},
};

/// The type of one place of a custom resource. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct Place<'s>(Kind<'s>);

#[derive(Clone, Copy, Debug)]
enum Kind<'s> {
    /// A place that the schema describes.
    Node {
        node: &'s Node,
        /// It has apiVersion, kind and metadata: the root, and embedded resources.
        resource: bool,
        /// Unknown fields are preserved here, by this place or one above it.
        preserves: bool,
    },
    /// Metadata, or something in it.
    Meta(TypeRef<'s>),
    /// A string that no schema describes (apiVersion, kind).
    Text,
    /// Nothing is known: objects are maps owned by entry, lists are owned as a whole.
    Deduced,
}

impl<'s> Place<'s> {
    pub(super) fn root(schema: &'s Schema) -> Self {
        Place(Kind::Node {
            node: &schema.root,
            resource: true,
            preserves: schema.preserve_unknown_fields || schema.root.preserves,
        })
    }

    fn below(node: &'s Node, preserves: bool) -> Self {
        Place(Kind::Node {
            node,
            resource: node.embedded,
            preserves: preserves || node.preserves,
        })
    }
}

impl<'s> Topology<'s> for Place<'s> {
    fn shape(self) -> Shape {
        match self.0 {
            Kind::Meta(ty) => ty.shape(),
            Kind::Text => Shape::Scalar,
            Kind::Deduced => Shape::Untyped,
            Kind::Node { node, resource, .. } => match node.types {
                Types::ARRAY => Shape::List(match node.list {
                    ListType::Atomic => ListKind::Atomic,
                    ListType::Set => ListKind::Set,
                    ListType::Map => ListKind::Map,
                }),
                Types::OBJECT if node.properties.is_empty() && !resource => Shape::Map {
                    atomic: node.atomic_map,
                },
                Types::OBJECT => Shape::Struct {
                    atomic: node.atomic_map,
                },
                Types::STRING | Types::INTEGER | Types::NUMBER | Types::BOOLEAN => Shape::Scalar,
                _ if node.properties.is_empty() && !resource => Shape::Untyped,
                _ => Shape::Struct {
                    atomic: node.atomic_map,
                },
            },
        }
    }

    fn field(self, name: &str) -> Option<Self> {
        match self.0 {
            Kind::Meta(ty) => Topology::field(ty, name).map(|ty| Place(Kind::Meta(ty))),
            Kind::Text | Kind::Deduced => None,
            Kind::Node {
                node,
                resource,
                preserves,
            } => match name {
                "metadata" if resource => Some(Place(Kind::Meta(coerce::object_meta()))),
                "apiVersion" | "kind" if resource => Some(Place(Kind::Text)),
                _ => node.property(name).map(|property| Self::below(property, preserves)),
            },
        }
    }

    fn element(self) -> Option<Self> {
        match self.0 {
            Kind::Meta(ty) => ty.element().map(|ty| Place(Kind::Meta(ty))),
            Kind::Text => None,
            Kind::Deduced => Some(Place(Kind::Deduced)),
            Kind::Node {
                node,
                resource,
                preserves,
            } => {
                if node.types == Types::ARRAY {
                    return node.items.as_deref().map(|items| Self::below(items, preserves));
                }
                match &node.additional {
                    Additional::Of(values) => Some(Self::below(values, preserves)),
                    Additional::Any | Additional::Nothing => Some(Place(Kind::Deduced)),
                    // Without any properties an object is free-form.
                    Additional::Absent if preserves || (node.properties.is_empty() && !resource) => {
                        Some(Place(Kind::Deduced))
                    }
                    Additional::Absent => None,
                }
            }
        }
    }

    fn keys(self) -> &'s [Box<str>] {
        match self.0 {
            Kind::Node { node, .. } => &node.keys,
            Kind::Meta(ty) => ty.keys(),
            Kind::Text | Kind::Deduced => &[],
        }
    }

    fn default(self) -> Option<&'s Value> {
        match self.0 {
            Kind::Node { node, .. } => node.default.as_ref(),
            Kind::Meta(ty) => Topology::default(ty),
            Kind::Text | Kind::Deduced => None,
        }
    }

    fn scalar(self) -> ScalarKind {
        match self.0 {
            Kind::Meta(ty) => Topology::scalar(ty),
            Kind::Text => ScalarKind::String,
            Kind::Deduced => ScalarKind::Any,
            Kind::Node { node, .. } => match node.types {
                Types::STRING if !node.formatted => ScalarKind::String,
                Types::INTEGER | Types::NUMBER => ScalarKind::Number,
                Types::BOOLEAN => ScalarKind::Boolean,
                _ => ScalarKind::Any,
            },
        }
    }

    fn patch_strategy(self) -> PatchStrategy<'s> {
        PatchStrategy::default()
    }
}
