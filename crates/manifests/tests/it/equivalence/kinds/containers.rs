//! Sizes of lists and maps.

use std::collections::BTreeMap;

/// LongestListSpec bounds the length of lists from above.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "LongestList",
    namespaced,
    doc = "LongestList has lists that may not be too long."
)]
pub struct LongestListSpec {
    /// Field is bounded where it stands.
    #[schema(max_items = 3)]
    pub field: Vec<String>,
    /// Named is bounded by its type.
    pub named: ShortList,
    /// Items are lists bounded where they stand.
    #[schema(items(max_items = 4))]
    pub items: Vec<Vec<String>>,
    /// NamedItems are lists bounded by the type of the outer list.
    pub named_items: ListOfShortLists,
    /// Declared is bounded by the marker of declarative validation.
    #[schema(max_items = 5)]
    pub declared: Vec<String>,
}

/// ShortList is a short list.
#[kubewright::schema]
#[schema(max_items = 2)]
pub struct ShortList(pub Vec<String>);

/// ListOfShortLists is a list of short lists.
#[kubewright::schema]
#[schema(items(max_items = 2))]
pub struct ListOfShortLists(pub Vec<Vec<String>>);

/// ShortestListSpec bounds the length of lists from below.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "ShortestList",
    namespaced,
    doc = "ShortestList has lists that may not be too short."
)]
pub struct ShortestListSpec {
    /// Field is bounded where it stands.
    #[schema(min_items = 1)]
    pub field: Vec<String>,
    /// Named is bounded by its type.
    pub named: LongList,
    /// Items are lists bounded where they stand.
    #[schema(items(min_items = 2))]
    pub items: Vec<Vec<String>>,
    /// NamedItems are lists bounded by the type of the outer list.
    pub named_items: ListOfLongLists,
}

/// LongList is a long list.
#[kubewright::schema]
#[schema(min_items = 10)]
pub struct LongList(pub Vec<String>);

/// ListOfLongLists is a list of long lists.
#[kubewright::schema]
#[schema(items(min_items = 10))]
pub struct ListOfLongLists(pub Vec<Vec<String>>);

/// UniqueListSpec has lists that say whether their items are unique.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "UniqueList",
    namespaced,
    doc = "UniqueList has lists without doubles."
)]
pub struct UniqueListSpec {
    /// Field says it where it stands.
    #[schema(unique)]
    pub field: Vec<String>,
    /// Named says it by its type.
    pub named: UniqueTexts,
    /// Items are lists that say it where they stand.
    #[schema(items(unique))]
    pub items: Vec<Vec<String>>,
    /// NamedItems are lists whose outer list says it.
    pub named_items: ListOfUniqueTexts,
}

/// UniqueTexts is a list without doubles.
#[kubewright::schema]
#[schema(unique)]
pub struct UniqueTexts(pub Vec<String>);

/// ListOfUniqueTexts is a list of lists without doubles.
#[kubewright::schema]
#[schema(items(unique))]
pub struct ListOfUniqueTexts(pub Vec<Vec<String>>);

/// FullestMapSpec bounds the size of maps from above.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "FullestMap",
    namespaced,
    doc = "FullestMap has maps that may not have too many entries."
)]
pub struct FullestMapSpec {
    /// Field is bounded where it stands.
    #[schema(max_properties = 3)]
    pub field: BTreeMap<String, String>,
    /// Named is bounded by its type.
    pub named: SmallMap,
    /// Items are maps bounded where they stand.
    #[schema(items(max_properties = 4))]
    pub items: Vec<BTreeMap<String, String>>,
    /// NamedItems are maps bounded by the type of the list.
    pub named_items: ListOfSmallMaps,
}

/// SmallMap is a small map.
#[kubewright::schema]
#[schema(max_properties = 2)]
pub struct SmallMap(pub BTreeMap<String, String>);

/// ListOfSmallMaps is a list of small maps.
#[kubewright::schema]
#[schema(items(max_properties = 2))]
pub struct ListOfSmallMaps(pub Vec<BTreeMap<String, String>>);

/// EmptiestMapSpec bounds the size of maps and objects from below.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "EmptiestMap",
    namespaced,
    doc = "EmptiestMap has maps that may not have too few entries."
)]
pub struct EmptiestMapSpec {
    /// Field is bounded where it stands.
    #[schema(min_properties = 1)]
    pub field: BTreeMap<String, String>,
    /// Named is bounded by its type.
    pub named: NonEmptyObject,
    /// Items are maps bounded where they stand.
    #[schema(items(min_properties = 2))]
    pub items: Vec<BTreeMap<String, String>>,
    /// NamedItems are maps bounded by the type of the list.
    pub named_items: ListOfNonEmptyMaps,
}

/// NonEmptyObject has at least one of its fields.
#[kubewright::schema]
#[schema(min_properties = 1)]
pub struct NonEmptyObject {
    /// One is the first.
    pub one: Option<String>,
    /// Two is the second.
    pub two: Option<String>,
}

/// ListOfNonEmptyMaps is a list of maps with entries.
#[kubewright::schema]
#[schema(items(min_properties = 1))]
pub struct ListOfNonEmptyMaps(pub Vec<BTreeMap<String, String>>);
