// SPDX-License-Identifier: Apache-2.0

//! `MarkdownView`: documents in Markdown, and the viewer that shows them.

use std::collections::BTreeMap;

use kubewright::prelude::*;

/// What a MarkdownView asks for.
#[kubewright::resource(
    group = "view.zoetrope.github.io",
    version = "v1",
    kind = "MarkdownView",
    namespaced,
    status = "MarkdownViewStatus",
    printcolumn(name = "Replicas", type = "integer", json_path = ".spec.replicas"),
    printcolumn(
        name = "Available",
        type = "string",
        json_path = ".status.conditions[?(@.type==\"Available\")].status"
    )
)]
#[derive(Default)]
pub struct MarkdownViewSpec {
    /// The documents, by file name. One of them is `SUMMARY.md`.
    // The webhook says what is missing, so the schema lets an empty spec through to it.
    #[schema(optional, min_properties = 1)]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub markdowns: BTreeMap<String, String>,

    /// How many viewers there are.
    #[schema(default = 1)]
    pub replicas: i32,

    /// The image of the viewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viewer_image: Option<String>,
}

/// What is observed of a MarkdownView.
#[kubewright::schema]
#[derive(Default)]
pub struct MarkdownViewStatus {
    /// `Available` and `Degraded`.
    #[schema(optional, list_map_keys("type"))]
    pub conditions: Vec<Condition>,
}
