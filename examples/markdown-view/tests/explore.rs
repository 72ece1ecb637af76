// SPDX-License-Identifier: Apache-2.0

//! Crashes and restarts: what is left is what a quiet day leaves.

use kubewright::prelude::*;
use kubewright::testing::explore::{Class, Exploration, explore};
use markdown_view::api::v1::{MarkdownView, MarkdownViewSpec};

fn scenario() -> Exploration {
    explore(markdown_view::operator)
        .step("create", |env| async move {
            let spec = MarkdownViewSpec {
                markdowns: BTreeMap::from([("SUMMARY.md".to_owned(), "summary".to_owned())]),
                replicas: 1,
                viewer_image: None,
            };
            env.create(&MarkdownView::new("sample", spec)).await;
        })
        .step("scale", |env| async move {
            env.edit::<MarkdownView>("sample", |view| view.spec.replicas = 3).await;
        })
        .step(
            "delete",
            |env| async move { env.delete::<MarkdownView>("sample").await },
        )
        .invariant("at most five viewers", |cluster| {
            cluster.list::<kubewright::k8s_openapi::api::core::v1::Pod>().len() <= 5
        })
}

#[kubewright::test]
async fn crashes_and_restarts_do_no_harm() {
    let summary = scenario().classes([Class::Restart, Class::Crash]).run().await;
    assert!(summary.runs_of(Class::Crash) >= 10, "{summary}");
}
