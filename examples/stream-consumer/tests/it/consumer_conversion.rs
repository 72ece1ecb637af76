// SPDX-License-Identifier: Apache-2.0

//! Nothing gets lost between the versions of a `Consumer`: by the thousand in memory, and by the API server one by one.

use kubewright::conversion::Conversions;
use kubewright::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kubewright::kube::core::DynamicObject;
use kubewright::object::{Kind, ObjectKey};
use kubewright::serde_json::{Value, json};
use kubewright::testing::conversion_round_trips_preserving;
use proptest::option;
use proptest::prelude::*;
use stream_consumer::api::{v1, v1alpha1, v1beta1};
use stream_consumer::webhooks::v1::consumer::conversion;

use super::support::{Fixture, SAMPLE};

const GROUP: &str = "stream.kubewright.dev";
const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];

#[test]
fn v1beta1_and_v1_hold_the_same() {
    conversion_round_trips_preserving::<v1::Consumer, v1beta1::Consumer>();
}

#[test]
fn v1alpha1_and_v1_hold_the_same() {
    conversion_round_trips_preserving::<v1::Consumer, v1alpha1::Consumer>();
}

fn object(version: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{version}"), "kind": "Consumer",
        "metadata": { "name": "some", "namespace": "default", "uid": "1", "labels": { "a": "b" } },
        "spec": spec,
        "status": { "replicas": 1, "selector": "a=b" },
    })
}

fn name() -> impl Strategy<Value = String> {
    proptest::collection::vec(prop::sample::select(b"abc-019".to_vec()), 1..10)
        .prop_map(|bytes| format!("x{}x", String::from_utf8_lossy(&bytes)))
}

fn partitions() -> impl Strategy<Value = i32> {
    1..=64_i32
}

fn of_v1() -> impl Strategy<Value = Value> {
    let policy = prop::sample::select(vec!["Delete", "Retain"]);
    (name(), partitions(), option::of(1..315_360_000_i64), 0..64_i32, policy).prop_map(
        |(name, partitions, retention, replicas, policy)| {
            let mut spec = json!({
                "topic": { "name": name, "partitions": partitions },
                "workers": { "replicas": replicas, "image": "i" }, "deletionPolicy": policy,
            });
            if let Some(seconds) = retention {
                spec["topic"]["retentionSeconds"] = seconds.into();
            }
            object("v1", &spec)
        },
    )
}

fn of_v1beta1() -> impl Strategy<Value = Value> {
    let retention = (1..=99_999_999_i64, prop::sample::select(vec!["s", "m", "h"]));
    let retention = option::of(retention.prop_map(|(number, unit)| format!("{number}{unit}")));
    (name(), partitions(), retention, 0..64_i32, any::<bool>()).prop_map(|(name, partitions, retention, size, keep)| {
        let mut spec = json!({
            "topic": { "name": name, "partitions": partitions }, "workers": { "size": size, "image": "i" },
        });
        if let Some(retention) = retention {
            spec["topic"]["retention"] = retention.into();
        }
        if keep {
            spec["keepTopic"] = true.into();
        }
        object("v1beta1", &spec)
    })
}

fn of_v1alpha1() -> impl Strategy<Value = Value> {
    (name(), partitions(), 0..64_i32).prop_map(|(name, partitions, replicas)| {
        let topic = if partitions == 1 {
            name
        } else {
            format!("{name}/{partitions}")
        };
        object(
            "v1alpha1",
            &json!({ "topic": topic, "replicas": replicas, "image": "i" }),
        )
    })
}

fn convert(conversions: &Conversions, object: &Value, version: &str) -> Value {
    let converted = conversions.convert(object, &format!("{GROUP}/{version}"));
    converted.unwrap_or_else(|error| panic!("to {version}: {error}: {object}"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_way_through_the_versions_leads_back(object in prop_oneof![of_v1(), of_v1beta1(), of_v1alpha1()]) {
        let conversions = Conversions::new().with(conversion()).unwrap();
        let api_version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        let home = api_version.rsplit('/').next().unwrap_or_default();
        for first in VERSIONS {
            let there = convert(&conversions, &object, first);
            prop_assert_eq!(&convert(&conversions, &there, home), &object, "by {}: {}", first, there);
            for second in VERSIONS {
                let further = convert(&conversions, &there, second);
                prop_assert_eq!(&convert(&conversions, &further, home), &object, "by {} and {}", first, second);
            }
        }
    }
}

#[test]
fn what_changes_on_the_way_is_what_the_versions_differ_in() {
    let conversions = Conversions::new().with(conversion()).unwrap();
    let old = object("v1alpha1", &json!({ "topic": "clicks/3", "replicas": 2, "image": "i" }));
    let new = convert(&conversions, &old, "v1");
    assert_eq!(
        new["spec"],
        json!({
            "topic": { "name": "clicks", "partitions": 3 }, "workers": { "replicas": 2, "image": "i" },
            "deletionPolicy": "Delete",
        })
    );
    // From spoke to spoke, through the hub.
    let spec = json!({
        "topic": { "name": "payments", "partitions": 1, "retention": "60m" }, "workers": { "size": 1, "image": "i" },
        "keepTopic": true,
    });
    let flat = convert(&conversions, &object("v1beta1", &spec), "v1alpha1");
    assert_eq!(
        flat["spec"],
        json!({ "topic": "payments", "replicas": 1, "image": "i" })
    );
}

#[test]
fn what_cannot_be_converted_says_which_field() {
    let conversions = Conversions::new().with(conversion()).unwrap();
    let spec = json!({ "topic": "clicks/many", "replicas": 1, "image": "i" });
    let error = conversions
        .convert(&object("v1alpha1", &spec), &format!("{GROUP}/v1"))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("topic: \"clicks/many\" is not a name and a number"),
        "{error}"
    );
}

/// The object in a version, as the API server gives it.
async fn read(fixture: &Fixture, version: &str, name: &str) -> Value {
    let kind = Kind::named(GROUP, version, "Consumer", "consumers", true);
    let key = ObjectKey::namespaced(fixture.env.namespace(), name);
    let found = fixture.env.client().dynamic(kind).get(&key).await.unwrap();
    let object: DynamicObject = found.into_owned();
    assert_eq!(object.types.as_ref().unwrap().api_version, format!("{GROUP}/{version}"));
    object.data["spec"].clone()
}

#[kubewright::test]
async fn the_api_server_gives_every_version_of_what_was_written_in_any() {
    let fixture = Fixture::start().await;
    for (file, name, expected) in [
        (
            "stream_v1_consumer.yaml",
            "orders",
            [
                json!({
                    "topic": { "name": "orders", "partitions": 4, "retentionSeconds": 86400 },
                    "workers": { "replicas": 2, "image": "example.com/worker:1.0" }, "deletionPolicy": "Delete",
                }),
                json!({
                    "topic": { "name": "orders", "partitions": 4, "retention": "24h" },
                    "workers": { "size": 2, "image": "example.com/worker:1.0" },
                }),
                json!({ "topic": "orders/4", "replicas": 2, "image": "example.com/worker:1.0" }),
            ],
        ),
        (
            "stream_v1beta1_consumer.yaml",
            "payments",
            [
                json!({
                    "topic": { "name": "payments", "partitions": 2, "retentionSeconds": 86400 },
                    "workers": { "replicas": 1, "image": "example.com/worker:1.0" }, "deletionPolicy": "Retain",
                }),
                json!({
                    "topic": { "name": "payments", "partitions": 2, "retention": "24h" },
                    "workers": { "size": 1, "image": "example.com/worker:1.0" }, "keepTopic": true,
                }),
                json!({ "topic": "payments/2", "replicas": 1, "image": "example.com/worker:1.0" }),
            ],
        ),
        (
            "stream_v1alpha1_consumer.yaml",
            "clicks",
            [
                json!({
                    "topic": { "name": "clicks", "partitions": 3 },
                    "workers": { "replicas": 3, "image": "example.com/worker:1.0" }, "deletionPolicy": "Delete",
                }),
                json!({
                    "topic": { "name": "clicks", "partitions": 3 },
                    "workers": { "size": 3, "image": "example.com/worker:1.0" },
                }),
                json!({ "topic": "clicks/3", "replicas": 3, "image": "example.com/worker:1.0" }),
            ],
        ),
    ] {
        fixture.env.apply_file(format!("config/samples/{file}")).await;
        for (version, expected) in VERSIONS.iter().zip(expected) {
            assert_eq!(read(&fixture, version, name).await, expected, "{name} in {version}");
        }
    }
}

#[kubewright::test]
async fn who_edits_an_old_version_does_not_lose_what_it_cannot_show() {
    let fixture = Fixture::start().await;
    fixture.env.apply_file(SAMPLE).await;
    fixture
        .env
        .edit::<v1::Consumer>("orders", |consumer| {
            consumer.spec.deletion_policy = v1::DeletionPolicy::Retain;
        })
        .await;
    // v1alpha1 knows neither retention nor policy.
    fixture
        .env
        .edit::<v1alpha1::Consumer>("orders", |consumer| consumer.spec.replicas = 4)
        .await;
    let spec = fixture.env.get::<v1::Consumer>("orders").await.spec;
    assert_eq!(spec.workers.replicas, 4);
    assert_eq!(spec.topic.retention_seconds, Some(86400));
    assert_eq!(spec.deletion_policy, v1::DeletionPolicy::Retain);
}

#[kubewright::test]
async fn the_definition_has_three_versions_and_stores_the_newest() {
    let fixture = Fixture::start().await;
    let definition: CustomResourceDefinition = fixture.env.get("consumers.stream.kubewright.dev").await;
    let versions = definition
        .spec
        .versions
        .iter()
        .map(|version| (version.name.as_str(), version.storage));
    let mut versions: Vec<_> = versions.collect();
    versions.sort_unstable();
    assert_eq!(versions, [("v1", true), ("v1alpha1", false), ("v1beta1", false)]);
    assert_eq!(definition.spec.conversion.unwrap().strategy, "Webhook");
}
