//! Kinds written with the attributes of Kubewright, which know their lines.

use kubewright::prelude::*;

/// What cannot be defined.
#[kubewright::resource(group = "example.com", version = "v1", kind = "Pairing", namespaced)]
pub(crate) struct PairingSpec {
    pub(crate) name: String,
    pub(crate) partner: Partner,
}

#[kubewright::schema]
pub(crate) struct Partner {
    pub(crate) names: (String, String),
}

/// What only a server finds fault with.
#[kubewright::resource(group = "example.com", version = "v1", kind = "Ruled", namespaced)]
pub(crate) struct RuledSpec {
    pub(crate) limits: Vec<Limit>,
}

#[kubewright::schema]
pub(crate) struct Limit {
    #[schema(rule("self > 'a'"))]
    pub(crate) most: i32,
}

/// A kind with an example of most attributes.
#[kubewright::resource(
    group = "example.com",
    version = "v1",
    kind = "Shop",
    namespaced,
    status = "ShopStatus",
    printcolumn(name = "Replicas", type = "integer", json_path = ".spec.replicas")
)]
pub(crate) struct ShopSpec {
    /// How many.
    #[schema(minimum = 0, maximum = 10, default = 1)]
    pub(crate) replicas: i32,
    #[schema(immutable, max_length = 20, example = "blue", title = "Its colour")]
    pub(crate) colour: Option<String>,
    #[schema(unique, min_items = 2, max_items = 4)]
    pub(crate) tags: Vec<String>,
    #[schema(min_length = 3, pattern = "^[a-z]+$")]
    pub(crate) owner: String,
}

#[kubewright::schema]
#[derive(Default)]
pub(crate) struct ShopStatus {
    #[schema(optional, list_map_keys("type"))]
    pub(crate) conditions: Vec<Condition>,
}
