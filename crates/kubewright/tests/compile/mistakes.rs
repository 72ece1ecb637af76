//! Mistakes that the compiler tells, each at its place.

use kubewright::prelude::*;

#[derive(Clone, Debug, PartialEq, kubewright::serde::Serialize, kubewright::serde::Deserialize)]
#[serde(crate = "kubewright::serde")]
pub struct NoSchema;

#[kubewright::schema]
pub struct Spec {
    #[schema(minimun = 1)]
    pub misspelt: i32,
}

#[kubewright::schema]
pub struct Foreign {
    pub without_a_schema: NoSchema,
}

#[kubewright::schema]
pub struct Defaults {
    #[schema(default = "three")]
    pub number: i32,
}

#[rbac(groups = "", resources = "pods", verbs = "delete")]
pub struct NotAReconciler;

#[kubewright::resource(group = "example.com", version = "v1", kind = "Tree", scale)]
pub struct TreeSpec {
    pub height: u32,
}

#[kubewright::schema]
pub struct Door {
    pub name: String,
}

#[kubewright::schema]
pub struct House {
    pub door: Door,
}

pub fn wrong_twin() -> HouseApply {
    HouseApply::new().door(HouseApply::new())
}
