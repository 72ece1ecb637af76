// SPDX-License-Identifier: Apache-2.0

//! The markdown-view operator.

pub mod api;
pub mod controllers;
pub mod webhooks;

use kubewright::prelude::*;

/// What the operator is: the kinds it brings, its controllers and its webhooks. `main` runs it, tests
/// start it and `kubewright manifests` renders it.
pub fn operator() -> Operator {
    Operator::new("markdown-view")
        .leader_election_id("3ca5b296.zoetrope.github.io")
        .resource::<api::v1::MarkdownView>()
        .controller(controllers::markdown_view::MarkdownViewReconciler::controller())
        .webhook(webhooks::v1::markdown_view::webhook())
    // kubewright:scaffold:operator
}
