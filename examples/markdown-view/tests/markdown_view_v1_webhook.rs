// SPDX-License-Identifier: Apache-2.0

//! The webhooks of `MarkdownView`, called by a Kubernetes API in this process.

use kubewright::testing::TestEnv;
use markdown_view::api::v1::MarkdownView;

/// Applies what must be refused, and gives the words of the refusal.
async fn refusal(env: &TestEnv, file: &str) -> String {
    let refused = env
        .try_apply_file(format!("tests/testdata/validating/{file}.yaml"))
        .await;
    refused.expect_err("it must be refused").to_string()
}

#[kubewright::test]
async fn the_defaulter_fills_in_the_viewer() {
    let env = TestEnv::start(markdown_view::operator()).await;
    env.apply_file("tests/testdata/mutating/before.yaml").await;
    let stored: MarkdownView = env.get("mutating-test").await;
    assert_eq!(stored.spec.viewer_image.as_deref(), Some("peaceiris/mdbook:latest"));
    assert_eq!(stored.spec.replicas, 1);
}

#[kubewright::test]
async fn the_defaulter_leaves_what_is_said() {
    let env = TestEnv::start(markdown_view::operator()).await;
    env.apply_file("config/samples/view_v1_markdownview.yaml").await;
    let stored: MarkdownView = env.get("markdownview-sample").await;
    assert_eq!(stored.spec.viewer_image.as_deref(), Some("peaceiris/mdbook:0.4.10"));
}

#[kubewright::test]
async fn the_validator_admits_a_valid_view() {
    let env = TestEnv::start(markdown_view::operator()).await;
    env.apply_file("tests/testdata/validating/valid.yaml").await;
}

#[kubewright::test]
async fn the_validator_refuses_too_many_replicas() {
    let env = TestEnv::start(markdown_view::operator()).await;
    let words = refusal(&env, "invalid-replicas").await;
    let expected = "admission webhook \"vmarkdownview.kb.io\" denied the request: MarkdownView.view.zoetrope.github.io \
                    \"invalid-replicas\" is invalid: spec.replicas: Invalid value: 100: replicas must be in the range of 1 to 5.";
    assert!(words.contains(expected), "{words}");
}

#[kubewright::test]
async fn the_validator_refuses_documents_without_a_summary() {
    let env = TestEnv::start(markdown_view::operator()).await;
    for file in ["without-summary", "empty-markdowns"] {
        let words = refusal(&env, file).await;
        assert!(
            words.contains("spec.markdowns: Required value: markdowns must have SUMMARY.md."),
            "{words}"
        );
    }
}
