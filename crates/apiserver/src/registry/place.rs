//! What belongs at a place of an object, as merging asks it: of a built-in type or of a definition's schema.

use kubewright_merge::{PatchStrategy, ScalarKind, Shape, Topology};
use kubewright_schema::TypeRef;
use kubewright_structural::schema;
use serde_json::Value;

/// A place in an object.
#[derive(Clone, Copy)]
pub(crate) enum Place<'r> {
    BuiltIn(TypeRef<'r>),
    Custom(schema::ResourceTopology<'r>),
}

impl<'r> Topology<'r> for Place<'r> {
    fn shape(self) -> Shape {
        match self {
            Place::BuiltIn(place) => place.shape(),
            Place::Custom(place) => place.shape(),
        }
    }

    fn field(self, name: &str) -> Option<Self> {
        match self {
            Place::BuiltIn(place) => place.field(name).map(Place::BuiltIn),
            Place::Custom(place) => place.field(name).map(Place::Custom),
        }
    }

    fn element(self) -> Option<Self> {
        match self {
            Place::BuiltIn(place) => Topology::element(place).map(Place::BuiltIn),
            Place::Custom(place) => place.element().map(Place::Custom),
        }
    }

    fn keys(self) -> &'r [Box<str>] {
        match self {
            Place::BuiltIn(place) => place.keys(),
            Place::Custom(place) => place.keys(),
        }
    }

    fn default(self) -> Option<&'r Value> {
        match self {
            Place::BuiltIn(place) => Topology::default(place),
            Place::Custom(place) => place.default(),
        }
    }

    fn scalar(self) -> ScalarKind {
        match self {
            Place::BuiltIn(place) => Topology::scalar(place),
            Place::Custom(place) => place.scalar(),
        }
    }

    fn patch_strategy(self) -> PatchStrategy<'r> {
        match self {
            Place::BuiltIn(place) => place.patch_strategy(),
            Place::Custom(place) => place.patch_strategy(),
        }
    }
}
