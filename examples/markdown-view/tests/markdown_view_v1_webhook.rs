// SPDX-License-Identifier: Apache-2.0

//! The webhooks of `MarkdownView`, called by a Kubernetes API in this process.

use kubewright::serde_json::Value;
use kubewright::strict::from_json;
use kubewright::testing::{Manifests as _, TestEnv};
use markdown_view::api::v1::MarkdownView;

/// The object in a file.
fn testdata(file: &str) -> Value {
    let text = std::fs::read_to_string(format!("tests/testdata/{file}")).unwrap();
    text.objects().unwrap().remove(0)
}

/// Applies what must be refused, with the words that its annotation `message` says.
async fn is_refused(file: &str) {
    let env = TestEnv::start(markdown_view::operator()).await;
    let object = testdata(file);
    let expected = object["metadata"]["annotations"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    let words = env.try_apply(object).await.expect_err("it must be refused").to_string();
    assert!(words.contains(&expected), "{words}");
}

#[kubewright::test]
async fn the_defaulter_fills_in_the_viewer() {
    let env = TestEnv::start(markdown_view::operator()).await;
    env.apply_file("tests/testdata/mutating/input.yaml").await;
    let stored: MarkdownView = env.get("mutating").await;
    let expected: MarkdownView = from_json(testdata("mutating/output.yaml")).unwrap();
    assert_eq!(stored.spec, expected.spec);
}

#[kubewright::test]
async fn the_defaulter_fills_in_an_empty_viewer_too_and_the_schema_one_replica() {
    let env = TestEnv::start(markdown_view::operator()).await;
    let mut object = testdata("mutating/input.yaml");
    object["spec"]["viewerImage"] = "".into();
    object["spec"].as_object_mut().unwrap().remove("replicas");
    env.apply(object).await;
    let stored: MarkdownView = env.get("mutating").await;
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
async fn the_validator_admits_a_valid_view_and_its_end() {
    let env = TestEnv::start(markdown_view::operator()).await;
    env.apply_file("tests/testdata/validating/valid.yaml").await;
    env.delete::<MarkdownView>("valid").await;
    env.eventually_gone::<MarkdownView>("valid").await;
}

#[kubewright::test]
async fn the_validator_refuses_too_many_replicas() {
    is_refused("validating/invalid-replicas.yaml").await;
}

#[kubewright::test]
async fn the_validator_refuses_documents_without_a_summary() {
    is_refused("validating/without-summary.yaml").await;
}

#[kubewright::test]
async fn the_validator_refuses_a_view_without_documents() {
    is_refused("validating/empty-markdowns.yaml").await;
}

#[kubewright::test]
async fn the_validator_judges_a_change_as_it_judges_a_beginning_and_says_everything_at_once() {
    let env = TestEnv::start(markdown_view::operator()).await;
    env.apply_file("tests/testdata/validating/valid.yaml").await;
    let edited = env.try_edit::<MarkdownView>("valid", |view| {
        view.spec.replicas = 0;
        view.spec.markdowns.remove("SUMMARY.md");
    });
    let words = edited.await.expect_err("it must be refused").to_string();
    let expected = "is invalid: [spec.replicas: Invalid value: 0: replicas must be in the range of 1 to 5., spec.markdowns: \
                    Required value: markdowns must have SUMMARY.md.]";
    assert!(words.contains(expected), "{words}");
}
