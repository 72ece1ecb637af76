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
pub struct ResourceTopology<'s>(TopologyNode<'s>);

#[derive(Clone, Copy, Debug)]
enum TopologyNode<'s> {
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

impl<'s> ResourceTopology<'s> {
    pub(super) fn root(schema: &'s Schema) -> Self {
        ResourceTopology(TopologyNode::Node {
            node: &schema.root,
            resource: true,
            preserves: schema.preserve_unknown_fields || schema.root.preserves,
        })
    }

    fn below(node: &'s Node, preserves: bool) -> Self {
        ResourceTopology(TopologyNode::Node {
            node,
            resource: node.embedded,
            preserves: preserves || node.preserves,
        })
    }
}

impl<'s> Topology<'s> for ResourceTopology<'s> {
    fn shape(self) -> Shape {
        match self.0 {
            TopologyNode::Meta(ty) => ty.shape(),
            TopologyNode::Text => Shape::Scalar,
            TopologyNode::Deduced => Shape::Untyped,
            TopologyNode::Node { node, resource, .. } => match node.types {
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
            TopologyNode::Meta(ty) => Topology::field(ty, name).map(|ty| ResourceTopology(TopologyNode::Meta(ty))),
            TopologyNode::Text | TopologyNode::Deduced => None,
            TopologyNode::Node {
                node,
                resource,
                preserves,
            } => match name {
                "metadata" if resource => Some(ResourceTopology(TopologyNode::Meta(coerce::object_meta()))),
                "apiVersion" | "kind" if resource => Some(ResourceTopology(TopologyNode::Text)),
                _ => node.property(name).map(|property| Self::below(property, preserves)),
            },
        }
    }

    fn element(self) -> Option<Self> {
        match self.0 {
            TopologyNode::Meta(ty) => ty.element().map(|ty| ResourceTopology(TopologyNode::Meta(ty))),
            TopologyNode::Text => None,
            TopologyNode::Deduced => Some(ResourceTopology(TopologyNode::Deduced)),
            TopologyNode::Node {
                node,
                resource,
                preserves,
            } => {
                if node.types == Types::ARRAY {
                    return node.items.as_deref().map(|items| Self::below(items, preserves));
                }
                match &node.additional {
                    Additional::Of(values) => Some(Self::below(values, preserves)),
                    Additional::Any | Additional::Nothing => Some(ResourceTopology(TopologyNode::Deduced)),
                    // Without any properties an object is free-form.
                    Additional::Absent if preserves || (node.properties.is_empty() && !resource) => {
                        Some(ResourceTopology(TopologyNode::Deduced))
                    }
                    Additional::Absent => None,
                }
            }
        }
    }

    fn keys(self) -> &'s [Box<str>] {
        match self.0 {
            TopologyNode::Node { node, .. } => &node.keys,
            TopologyNode::Meta(ty) => ty.keys(),
            TopologyNode::Text | TopologyNode::Deduced => &[],
        }
    }

    fn default(self) -> Option<&'s Value> {
        match self.0 {
            TopologyNode::Node { node, .. } => node.default.as_ref(),
            TopologyNode::Meta(ty) => Topology::default(ty),
            TopologyNode::Text | TopologyNode::Deduced => None,
        }
    }

    fn scalar(self) -> ScalarKind {
        match self.0 {
            TopologyNode::Meta(ty) => Topology::scalar(ty),
            TopologyNode::Text => ScalarKind::String,
            TopologyNode::Deduced => ScalarKind::Any,
            TopologyNode::Node { node, .. } => match node.types {
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
