//! What belongs at a place of an object, as merging asks it: of a built-in type or of a definition's schema.

use kubewright_merge::{PatchStrategy, ScalarKind, Shape, Topology};
use kubewright_schema::TypeRef;
use kubewright_structural::schema;
use serde_json::Value;

/// A place in an object.
#[derive(Clone, Copy)]
pub(crate) enum ObjectTopology<'r> {
    BuiltIn(TypeRef<'r>),
    Custom(schema::ResourceTopology<'r>),
}

impl<'r> Topology<'r> for ObjectTopology<'r> {
    fn shape(self) -> Shape {
        match self {
            ObjectTopology::BuiltIn(place) => place.shape(),
            ObjectTopology::Custom(place) => place.shape(),
        }
    }

    fn field(self, name: &str) -> Option<Self> {
        match self {
            ObjectTopology::BuiltIn(place) => place.field(name).map(ObjectTopology::BuiltIn),
            ObjectTopology::Custom(place) => place.field(name).map(ObjectTopology::Custom),
        }
    }

    fn element(self) -> Option<Self> {
        match self {
            ObjectTopology::BuiltIn(place) => Topology::element(place).map(ObjectTopology::BuiltIn),
            ObjectTopology::Custom(place) => place.element().map(ObjectTopology::Custom),
        }
    }

    fn keys(self) -> &'r [Box<str>] {
        match self {
            ObjectTopology::BuiltIn(place) => place.keys(),
            ObjectTopology::Custom(place) => place.keys(),
        }
    }

    fn default(self) -> Option<&'r Value> {
        match self {
            ObjectTopology::BuiltIn(place) => Topology::default(place),
            ObjectTopology::Custom(place) => place.default(),
        }
    }

    fn scalar(self) -> ScalarKind {
        match self {
            ObjectTopology::BuiltIn(place) => Topology::scalar(place),
            ObjectTopology::Custom(place) => place.scalar(),
        }
    }

    fn patch_strategy(self) -> PatchStrategy<'r> {
        match self {
            ObjectTopology::BuiltIn(place) => place.patch_strategy(),
            ObjectTopology::Custom(place) => place.patch_strategy(),
        }
    }
}
