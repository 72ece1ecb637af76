//! A module in a file of its own whose fields are optional, with a kind, its status and a part of it.

use kubewright::optional::{resource, schema};
use kubewright::prelude::*;

/// What a `Garden` asks for.
#[resource(
    group = "example.com",
    version = "v1",
    kind = "Garden",
    namespaced,
    status = "GardenStatus"
)]
#[derive(Default)]
#[schema(rule("self.trees >= 0"))]
pub struct GardenSpec {
    #[schema(minimum = 0)]
    pub trees: i32,
    pub bed: Option<Bed>,
}

/// A part of it.
#[schema]
pub struct Bed {
    #[schema(required)]
    pub name: String,
    pub width: i32,
}

/// What is observed of it.
#[schema]
#[derive(Default)]
pub struct GardenStatus {
    #[schema(list_map_keys("type"))]
    pub conditions: Vec<Condition>,
}
