//! What a Rust type writes, a cluster keeps as it is; what the type could not read, a cluster refuses.
#![allow(missing_docs, dead_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::num::NonZeroI32;

use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kubewright_manifests::schema::structural;
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde_json::{Value, json};

use crate::cluster::Cluster;

#[derive(JsonSchema, Serialize)]
enum Size {
    Default,
    Fixed { gib: i32 },
}

#[derive(JsonSchema, Serialize)]
#[serde(tag = "type")]
enum Probe {
    Never,
    Http { port: u16, path: String },
    Tcp { port: u16 },
}

#[derive(JsonSchema, Serialize)]
#[serde(tag = "kind", content = "with")]
enum Step {
    Wait { seconds: i32 },
    Say { words: String },
}

#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
enum Source {
    Git { url: String },
    Image(String),
}

#[derive(JsonSchema, Serialize)]
enum Style {
    Modern,
    Classic,
}

#[derive(JsonSchema, Serialize)]
struct Holder<T> {
    field: T,
}

/// Whether a cluster keeps these values of the type to the letter, and refuses the others.
async fn holds<T: JsonSchema + Serialize>(
    written: impl IntoIterator<Item = T>,
    foreign: impl IntoIterator<Item = Value>,
) {
    let spec = structural(schema_for!(Holder<T>).as_value(), "spec").unwrap_or_else(|problems| panic!("{problems:?}"));
    let cluster = Cluster::new();
    cluster
        .define(&json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": "things.example.com" },
            "spec": {
                "group": "example.com",
                "names": { "plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList" },
                "scope": "Cluster",
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                    "type": "object", "properties": { "spec": spec },
                } } }],
            },
        }))
        .await;
    let thing = |name: String, field: &Value| {
        json!({
            "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "name": name }, "spec": { "field": field },
        })
    };
    for (at, value) in written.into_iter().enumerate() {
        let value = serde_json::to_value(value).unwrap();
        let answer = cluster
            .create("/apis/example.com/v1/things", &thing(format!("good-{at}"), &value))
            .await;
        assert_eq!(answer.code, 201, "{value}: {}", answer.body["message"]);
        assert_eq!(answer.body["spec"]["field"], value);
    }
    for (at, value) in foreign.into_iter().enumerate() {
        let answer = cluster
            .create("/apis/example.com/v1/things", &thing(format!("bad-{at}"), &value))
            .await;
        assert!(matches!(answer.code, 400 | 422), "{value} was taken: {:#}", answer.body);
    }
}

#[tokio::test]
async fn enums_of_every_tagging_keep_their_values() {
    holds(
        [Size::Default, Size::Fixed { gib: 3 }],
        [json!("Other"), json!({ "gib": 3 }), json!({ "Default": {} })],
    )
    .await;
    holds(
        [
            Probe::Never,
            Probe::Tcp { port: 80 },
            Probe::Http {
                port: 80,
                path: "/".to_owned(),
            },
        ],
        [
            json!({ "type": "Http", "port": 80 }),
            json!({ "type": "Icmp" }),
            json!({ "port": 80 }),
            json!({ "type": "Tcp", "port": 65536 }),
        ],
    )
    .await;
    holds(
        [
            Step::Wait { seconds: 1 },
            Step::Say {
                words: "hello".to_owned(),
            },
        ],
        [
            json!({ "kind": "Sing" }),
            json!({ "kind": "Wait" }),
            json!({ "with": {} }),
        ],
    )
    .await;
    holds(
        [
            Source::Git {
                url: "https://example.com".to_owned(),
            },
            Source::Image("busybox".to_owned()),
        ],
        [
            json!({}),
            json!({ "git": { "url": "a" }, "image": "b" }),
            json!({ "git": {} }),
            json!("image"),
        ],
    )
    .await;
}

#[tokio::test]
async fn options_in_lists_and_maps_keep_their_nulls() {
    holds([vec![Some("a".to_owned()), None]], [json!([1]), json!("a")]).await;
    holds([vec![Some(Style::Modern), None]], [json!(["Gothic"])]).await;
    holds(
        [BTreeMap::from([("a".to_owned(), None), ("b".to_owned(), Some(1))])],
        [json!({ "a": "b" })],
    )
    .await;
}

#[tokio::test]
async fn types_of_the_standard_library_keep_their_values() {
    let addresses = ["192.0.2.1", "2001:db8::1"].map(|address| address.parse::<IpAddr>().unwrap());
    holds(addresses, [json!("example.com"), json!(1)]).await;
    holds(['a', 'é'], [json!("ab"), json!("")]).await;
    holds([0_u8, 255], [json!(256), json!(-1), json!(1.5)]).await;
    holds([NonZeroI32::MIN, NonZeroI32::MAX], [json!(0)]).await;
    holds([BTreeSet::from(["a", "b"])], [json!(["a", "a"])]).await;
}

#[tokio::test]
async fn types_of_kubernetes_keep_their_values() {
    holds(
        [Quantity("500m".to_owned()), Quantity("1Gi".to_owned())],
        [json!("one"), json!(true)],
    )
    .await;
    holds(
        [IntOrString::Int(80), IntOrString::String("http".to_owned())],
        [json!(1.5)],
    )
    .await;
    holds(
        [RawExtension(json!({ "any": { "thing": [1, null] } }))],
        [json!("text")],
    )
    .await;
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(BTreeMap::from([("app".to_owned(), "web".to_owned())])),
            annotations: Some(BTreeMap::from([("note".to_owned(), "kept".to_owned())])),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec {
            containers: vec![Container {
                name: "web".to_owned(),
                image: Some("nginx".to_owned()),
                ..Container::default()
            }],
            ..PodSpec::default()
        }),
    };
    let twice = json!({ "spec": { "containers": [{ "name": "a" }, { "name": "a" }] } });
    Box::pin(holds([template], [twice, json!({ "spec": {} })])).await;
}
