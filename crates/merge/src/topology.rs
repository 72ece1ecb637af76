//! What merging needs to know about the type of a place in a document.

use serde_json::Value;

/// A cursor into the type of a document. `'t` is the lifetime of the type table it points into.
pub trait Topology<'t>: Copy {
    /// What kind of value belongs here.
    fn shape(self) -> Shape;
    /// The type of a struct's field; `None` when the struct has no field of that name.
    fn field(self, name: &str) -> Option<Self>;
    /// The type of a map's values or a list's items.
    fn element(self) -> Option<Self>;
    /// The fields that together identify an item of an associative list (`x-kubernetes-list-map-keys`).
    fn keys(self) -> &'t [Box<str>];
    /// The declared default of this place (list-map keys may have one, such as a port's `protocol: TCP`).
    fn default(self) -> Option<&'t Value>;
    /// What belongs into a [`Shape::Scalar`]; server-side apply refuses anything else with upstream's message.
    fn scalar(self) -> ScalarKind {
        ScalarKind::Whole
    }
    /// How strategic merge patch treats this place.
    fn patch_strategy(self) -> PatchStrategy<'t>;
}

/// The kind of value at one place, and how server-side apply owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A string, number or boolean, or a type that is owned as a whole.
    Scalar,
    /// An object with named fields; `atomic` when it is owned as a whole.
    Struct {
        /// `x-kubernetes-map-type: atomic`.
        atomic: bool,
    },
    /// An object with free keys; `atomic` when it is owned as a whole.
    Map {
        /// `x-kubernetes-map-type: atomic`.
        atomic: bool,
    },
    /// A list.
    List(ListKind),
    /// Nothing is known: objects are granular maps, lists are atomic.
    Untyped,
}

/// What belongs into a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarKind {
    /// A string.
    String,
    /// An integer or a float.
    Number,
    /// A boolean.
    Boolean,
    /// A string, number or boolean (quantities, times, int-or-string).
    Any,
    /// Anything, objects and lists included, owned as a whole (`RawExtension`).
    Whole,
}

/// How the items of a list are identified (`x-kubernetes-list-type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// Replaced as a whole.
    Atomic,
    /// A set of scalars.
    Set,
    /// Items identified by [`Topology::keys`].
    Map,
}

/// Strategic merge patch's reading of a field (`patchStrategy`, `patchMergeKey`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatchStrategy<'t> {
    /// `merge` is among the strategies: lists are merged instead of replaced.
    pub merge: bool,
    /// `retainKeys` is among the strategies.
    pub retain_keys: bool,
    /// `replace` is among the strategies: the value is replaced as a whole.
    pub replace: bool,
    /// The field that identifies an item of a list of objects.
    pub merge_key: Option<&'t str>,
}
