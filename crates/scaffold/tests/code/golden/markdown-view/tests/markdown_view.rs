// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! `MarkdownView`s on a Kubernetes API in this process.

use kubewright::prelude::*;
use kubewright::testing::TestEnv;
use markdown_view::api::v1::MarkdownView;

const SAMPLE: &str = "config/samples/view_v1_markdownview.yaml";
const NAME: &str = "markdownview-sample";

fn is_available(object: &MarkdownView) -> bool {
    let status = object.status.as_ref();
    status.is_some_and(|status| is_condition_true(&status.conditions, "Available"))
}

#[kubewright::test]
async fn a_sample_is_accepted_and_reconciled() {
    let env = TestEnv::start(markdown_view::operator()).await;
    env.apply_file(SAMPLE).await;
    env.eventually(NAME, is_available).await;
    env.assert_idempotent().await;
}
