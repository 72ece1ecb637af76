// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! `Frigate`: what its users write, and what is observed of it.

/// What a `Frigate` asks for.
#[kubewright::resource(
    group = "ship.ginoh.github.io",
    version = "v2",
    kind = "Frigate",
    namespaced,
    status = "FrigateStatus",
    storage = false
)]
#[derive(Default, kubewright::conversion::Convert)]
#[convert(hub = crate::api::ship::v1::FrigateSpec)]
pub struct FrigateSpec {
    // Add fields here: `#[schema(…)]` says which values they take. Then run `make manifests`.
    /// An example. Edit `frigate.rs` to remove or change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foo: Option<String>,
}

/// What is observed of a `Frigate`.
#[kubewright::schema]
#[derive(Default, kubewright::conversion::Convert)]
#[convert(hub = crate::api::ship::v1::FrigateStatus)]
pub struct FrigateStatus {
    // Add what your controller finds out; it must be able to find it out again.
    /// How it stands: `Available`, and what else you add.
    #[schema(optional, list_map_keys("type"))]
    pub conditions: Vec<kubewright::prelude::Condition>,
}
