// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! `Harbour`: what its users write, and what is observed of it.

/// What a `Harbour` asks for.
#[kubewright::resource(
    group = "ship.ginoh.github.io",
    version = "v1",
    kind = "Harbour",
    namespaced,
    status = "HarbourStatus"
)]
#[derive(Default)]
pub struct HarbourSpec {
    // Add fields here: `#[schema(…)]` says which values they take. Then run `make manifests`.
    /// An example. Edit `harbour.rs` to remove or change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foo: Option<String>,
}

/// What is observed of a `Harbour`.
#[kubewright::schema]
#[derive(Default)]
pub struct HarbourStatus {
    // Add what your controller finds out; it must be able to find it out again.
    /// How it stands: `Available`, and what else you add.
    #[schema(optional, list_map_keys("type"))]
    pub conditions: Vec<kubewright::prelude::Condition>,
}
