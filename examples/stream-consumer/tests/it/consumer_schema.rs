// SPDX-License-Identifier: Apache-2.0

//! What the schema of a `Consumer` refuses by its CEL rules, in every version, and through the scale subresource too.

use kubewright::testing::TestEnv;
use stream_consumer::api::{v1, v1alpha1, v1beta1};

use super::support::Fixture;

/// A text of a sample with something changed, and the words it is refused with.
async fn refused(env: &TestEnv, file: &str, [from, to]: [&str; 2], words: &str) {
    let sample = std::fs::read_to_string(format!("config/samples/{file}")).unwrap();
    assert!(sample.contains(from), "{file} has no {from:?}");
    let error = env.try_apply(sample.replace(from, to)).await;
    let error = error.expect_err("it is refused").to_string();
    assert!(error.contains(words), "{file}, {from:?} to {to:?}: {error}");
}

#[kubewright::test]
async fn more_workers_than_partitions_are_refused_in_every_version() {
    let Fixture { env, .. } = Fixture::start().await;
    let (v1, v1beta1, v1alpha1) = (
        "stream_v1_consumer.yaml",
        "stream_v1beta1_consumer.yaml",
        "stream_v1alpha1_consumer.yaml",
    );
    let words = "a worker reads at least one partition, and orders has fewer than workers";
    refused(&env, v1, ["replicas: 2", "replicas: 5"], words).await;
    refused(
        &env,
        v1,
        ["replicas: 2", "replicas: 5"],
        "spec.workers.replicas: Invalid value",
    )
    .await;
    let words = "a worker reads at least one partition";
    refused(&env, v1beta1, ["size: 1", "size: 3"], words).await;
    refused(&env, v1alpha1, ["replicas: 3", "replicas: 4"], words).await;
    refused(&env, v1alpha1, ["topic: clicks/3", "topic: clicks"], words).await;
}

#[kubewright::test]
async fn a_topic_keeps_its_name_and_its_partitions() {
    let Fixture { env, .. } = Fixture::start().await;
    for file in [
        "stream_v1_consumer.yaml",
        "stream_v1beta1_consumer.yaml",
        "stream_v1alpha1_consumer.yaml",
    ] {
        env.apply_file(format!("config/samples/{file}")).await;
    }
    let renamed = "a topic cannot be renamed; make another Consumer";
    let edited = env.try_edit::<v1::Consumer>("orders", |consumer| consumer.spec.topic.name = "other".to_owned());
    let words = edited.await.unwrap_err().to_string();
    assert!(words.contains(renamed) && words.contains("spec.topic.name"), "{words}");
    let edited = env.try_edit::<v1beta1::Consumer>("payments", |consumer| consumer.spec.topic.name = "x".to_owned());
    let words = edited.await.unwrap_err().to_string();
    assert!(words.contains(renamed), "{words}");
    let edited = env.try_edit::<v1alpha1::Consumer>("clicks", |consumer| consumer.spec.topic = "x/3".to_owned());
    let words = edited.await.unwrap_err().to_string();
    assert!(words.contains(renamed), "{words}");

    let fewer = env.try_edit::<v1::Consumer>("orders", |consumer| consumer.spec.topic.partitions = 2);
    let words = fewer.await.unwrap_err().to_string();
    assert!(words.contains("partitions can be added, not taken away"), "{words}");
    env.edit::<v1::Consumer>("orders", |consumer| consumer.spec.topic.partitions = 6)
        .await;
    env.edit::<v1alpha1::Consumer>("clicks", |consumer| consumer.spec.topic = "clicks/7".to_owned())
        .await;
}

#[kubewright::test]
async fn what_a_field_cannot_be_is_said_with_its_path() {
    let Fixture { env, .. } = Fixture::start().await;
    for (file, change, words) in [
        (
            "stream_v1_consumer.yaml",
            ["    name: orders\n", "    name: Orders!\n"],
            "spec.topic.name: Invalid value",
        ),
        (
            "stream_v1_consumer.yaml",
            ["deletionPolicy: Delete", "deletionPolicy: Maybe"],
            "supported values: \"Delete\", \"Retain\"",
        ),
        (
            "stream_v1beta1_consumer.yaml",
            ["retention: 24h", "retention: soon"],
            "spec.topic.retention: Invalid value",
        ),
        (
            "stream_v1alpha1_consumer.yaml",
            ["topic: clicks/3", "topic: clicks/1000"],
            "spec.topic: Invalid value",
        ),
        (
            "stream_v1_consumer.yaml",
            [
                "  name: orders\nspec",
                "  name: a-name-that-is-much-too-long-for-the-workers\nspec",
            ],
            "40 characters at most",
        ),
    ] {
        refused(&env, file, change, words).await;
    }
}
