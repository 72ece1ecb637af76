// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! `MarkdownView`: what its users write, and what is observed of it.

/// What a `MarkdownView` asks for.
#[kubewright::resource(
    group = "view.ginoh.github.io",
    version = "v1",
    kind = "MarkdownView",
    namespaced,
    status = "MarkdownViewStatus"
)]
#[derive(Default)]
pub struct MarkdownViewSpec {
    // Add fields here: `#[schema(…)]` says which values they take. Then run `make manifests`.
    /// An example. Edit `markdown_view.rs` to remove or change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foo: Option<String>,
}

/// What is observed of a `MarkdownView`.
#[kubewright::schema]
#[derive(Default)]
pub struct MarkdownViewStatus {
    // Add what your controller finds out; it must be able to find it out again.
    /// How it stands: `Available`, and what else you add.
    #[schema(optional, list_map_keys("type"))]
    pub conditions: Vec<kubewright::prelude::Condition>,
}
