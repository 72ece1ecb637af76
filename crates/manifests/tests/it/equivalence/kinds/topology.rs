//! How appliers share lists, maps and objects.

use std::collections::BTreeMap;

/// OrderedSpec says how appliers share lists.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Ordered",
    namespaced,
    doc = "Ordered has lists of each topology."
)]
pub struct OrderedSpec {
    /// Atomic has one owner.
    #[schema(list_type = "atomic")]
    pub atomic: Vec<OrderedItem>,
    /// Set has an owner for each value.
    #[schema(list_type = "set")]
    pub set: Vec<String>,
    /// Named is a set by its type.
    pub named: SharedTexts,
    /// Declared is atomic by the marker of declarative validation.
    #[schema(list_type = "atomic")]
    pub declared: Vec<String>,
    /// NamedDeclared is a set by its type and the marker of declarative validation.
    pub named_declared: DeclaredTexts,
}

/// SharedTexts is a set.
#[kubewright::schema]
#[schema(list_type = "set")]
pub struct SharedTexts(pub Vec<String>);

/// DeclaredTexts is a set.
#[kubewright::schema]
#[schema(list_type = "set")]
pub struct DeclaredTexts(pub Vec<String>);

/// OrderedItem is an item.
#[kubewright::schema]
pub struct OrderedItem {
    /// Name tells it from the others.
    pub name: String,
    /// Protocol tells it too.
    #[schema(required, default = "TCP")]
    pub protocol: String,
    /// Port is what it says.
    pub port: Option<i32>,
}

/// KeyedSpec has lists that are maps.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Keyed",
    namespaced,
    doc = "Keyed has lists whose items have keys."
)]
pub struct KeyedSpec {
    /// One has one key.
    #[schema(list_map_keys("name"))]
    pub one: Vec<OrderedItem>,
    /// Two has two keys.
    #[schema(list_map_keys("name", "protocol"))]
    pub two: Vec<OrderedItem>,
    /// Named has the keys of its type.
    pub named: KeyedItems,
    /// Declared has a key by the markers of declarative validation.
    #[schema(list_map_keys("name"))]
    pub declared: Vec<OrderedItem>,
    /// NamedDeclared has the key of its type by the markers of declarative validation.
    pub named_declared: DeclaredItems,
}

/// KeyedItems is a list with a key.
#[kubewright::schema]
#[schema(list_map_keys("name"))]
pub struct KeyedItems(pub Vec<OrderedItem>);

/// DeclaredItems is a list with a key.
#[kubewright::schema]
#[schema(list_map_keys("name"))]
pub struct DeclaredItems(pub Vec<OrderedItem>);

/// OwnedSpec says how appliers share maps and objects.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Owned",
    namespaced,
    doc = "Owned has maps and objects of each topology."
)]
pub struct OwnedSpec {
    /// AtomicMap has one owner.
    #[schema(map_type = "atomic")]
    pub atomic_map: BTreeMap<String, String>,
    /// GranularMap has an owner for each entry.
    #[schema(map_type = "granular")]
    pub granular_map: BTreeMap<String, String>,
    /// NamedMap is as its type says.
    pub named_map: OwnedMap,
    /// AtomicObject has one owner.
    #[schema(struct_type = "atomic")]
    pub atomic_object: OwnedObject,
    /// GranularObject has an owner for each field.
    #[schema(struct_type = "granular")]
    pub granular_object: OwnedObject,
    /// NamedObject is as its type says.
    pub named_object: OwnedWhole,
}

/// OwnedMap has one owner.
#[kubewright::schema]
#[schema(map_type = "atomic")]
pub struct OwnedMap(pub BTreeMap<String, String>);

/// OwnedObject is an object.
#[kubewright::schema]
pub struct OwnedObject {
    /// Name is a text.
    pub name: Option<String>,
}

/// OwnedWhole is an object with one owner.
#[kubewright::schema]
#[schema(struct_type = "atomic")]
pub struct OwnedWhole {
    /// Name is a text.
    pub name: Option<String>,
}
