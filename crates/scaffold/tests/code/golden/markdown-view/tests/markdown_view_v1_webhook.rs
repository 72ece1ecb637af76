// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of `MarkdownView`, called by a Kubernetes API in this process.

use kubewright::testing::TestEnv;
use markdown_view::api::v1::MarkdownView;

const SAMPLE: &str = "config/samples/view_v1_markdownview.yaml";
const NAME: &str = "markdownview-sample";

#[kubewright::test]
async fn a_sample_is_admitted() {
    let env = TestEnv::start(markdown_view::operator()).await;
    env.apply_file(SAMPLE).await;
    let stored: MarkdownView = env.get(NAME).await;

    // Say here what your defaults make of it, and let `env.try_apply(…)` show what is refused.
    assert!(stored.metadata.uid.is_some());
}
