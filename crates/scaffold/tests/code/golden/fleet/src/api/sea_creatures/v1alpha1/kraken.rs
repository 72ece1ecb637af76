// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! `Kraken`: what its users write, and what is observed of it.

/// What a `Kraken` asks for.
#[kubewright::resource(
    group = "sea-creatures.ginoh.github.io",
    version = "v1alpha1",
    kind = "Kraken",
    plural = "krakenes",
    status = "KrakenStatus"
)]
#[derive(Default)]
pub struct KrakenSpec {
    // Add fields here: `#[schema(…)]` says which values they take. Then run `make manifests`.
    /// An example. Edit `kraken.rs` to remove or change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foo: Option<String>,
}

/// What is observed of a `Kraken`.
#[kubewright::schema]
#[derive(Default)]
pub struct KrakenStatus {
    // Add what your controller finds out; it must be able to find it out again.
    /// How it stands: `Available`, and what else you add.
    #[schema(optional, list_map_keys("type"))]
    pub conditions: Vec<kubewright::prelude::Condition>,
}
