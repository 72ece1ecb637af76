//! What must be there, what may be left out, and what excludes what.

use std::collections::BTreeMap;

/// ObligatorySpec has required fields.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Obligatory",
    namespaced,
    doc = "Obligatory has fields that must be there."
)]
pub struct ObligatorySpec {
    /// Unmarked is required because it is always written.
    pub unmarked: String,
    /// Marked is required although it may be empty.
    #[schema(required)]
    pub marked: Option<String>,
    /// Kubebuilder is required by kubebuilder's marker.
    pub kubebuilder: String,
    /// Text is required by the marker of declarative validation and may not be empty.
    #[schema(non_empty)]
    pub text: String,
    /// List is required by the marker of declarative validation and may not be empty.
    #[schema(non_empty)]
    pub list: Vec<String>,
    /// Map is required by the marker of declarative validation and may not be empty.
    #[schema(non_empty)]
    pub map: BTreeMap<String, String>,
    /// Object is required by the marker of declarative validation and may not be empty.
    #[schema(non_empty)]
    pub object: PresenceObject,
    /// Number is required by the marker of declarative validation and may be zero.
    pub number: i32,
}

/// PresenceObject is an object.
#[kubewright::schema]
pub struct PresenceObject {
    /// Name is a text.
    pub name: Option<String>,
}

/// VoluntarySpec has optional fields.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Voluntary",
    namespaced,
    doc = "Voluntary has fields that may be left out."
)]
pub struct VoluntarySpec {
    /// Omitempty is optional because it is not written when empty.
    pub omitempty: Option<String>,
    /// Omitzero is optional because it is not written when zero.
    pub omitzero: Option<PresenceObject>,
    /// Pointer is optional.
    pub pointer: Option<bool>,
    /// Marked is optional although it is always written.
    #[schema(optional)]
    pub marked: String,
    /// Kubebuilder is optional by kubebuilder's marker.
    #[schema(optional)]
    pub kubebuilder: i32,
    /// Declared is optional by the marker of declarative validation.
    #[schema(optional)]
    pub declared: Vec<String>,
}

/// ExclusiveSpec has fields that exclude each other.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Exclusive",
    namespaced,
    doc = "Exclusive allows no two of its fields."
)]
#[schema(at_most_one_of(one, two), at_most_one_of(three, four))]
pub struct ExclusiveSpec {
    pub one: Option<String>,
    pub two: Option<String>,
    pub three: Option<String>,
    pub four: Option<String>,
}

/// UnionSpec has exactly one of its fields.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Union",
    namespaced,
    doc = "Union has one of its fields."
)]
#[schema(exactly_one_of(one, two))]
pub struct UnionSpec {
    pub one: Option<String>,
    pub two: Option<UnionMember>,
}

/// UnionMember is a part of a union.
#[kubewright::schema]
pub struct UnionMember {
    /// Name is a text.
    pub name: String,
}

/// MoreThanNoneSpec has at least one of its fields.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "MoreThanNone",
    namespaced,
    doc = "MoreThanNone wants one of its fields."
)]
#[schema(at_least_one_of(one, two, three))]
pub struct MoreThanNoneSpec {
    pub one: Option<String>,
    pub two: Option<String>,
    pub three: Option<String>,
}
