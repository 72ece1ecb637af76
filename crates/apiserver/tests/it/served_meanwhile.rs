//! Expensive requests hold up nobody: a server on one thread answers others while it works on them. What counts is how many answers there
//! were, not how long anything took.

use std::future::Future;

use bytes::Bytes;
use http::{StatusCode, Version};
use kubewright_apiserver::Listener;
use serde_json::json;
use tokio::task::JoinSet;

use crate::tls::{connect, start};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// How many definitions there are, each with a pattern that takes a thousand steps for each character.
const EXPENSIVE: usize = 24;

/// How many answers are expected meanwhile at least. One thread that works on a request itself answers nobody until it has done so.
const MANY: usize = 100;

fn definition(index: usize, properties: &serde_json::Value) -> Bytes {
    let schema = json!({"type": "object", "properties": properties});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    let names = json!({
        "plural": format!("words{index}"),
        "singular": format!("word{index}"),
        "kind": format!("Word{index}"),
        "listKind": format!("Word{index}List"),
    });
    let object = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("words{index}.example.com")},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    });
    object.to_string().into()
}

fn object(index: usize, member: &str, value: &serde_json::Value) -> (String, Bytes) {
    let mut object = json!({
        "apiVersion": "example.com/v1",
        "kind": format!("Word{index}"),
        "metadata": {"name": "word"},
    });
    object[member] = value.clone();
    let path = format!("/apis/example.com/v1/namespaces/default/words{index}");
    (path, object.to_string().into())
}

/// Sends each of these in a connection of its own.
async fn post_all(listener: &Listener, requests: Vec<(String, Bytes)>) -> JoinSet<StatusCode> {
    let mut posts = JoinSet::new();
    for (path, body) in requests {
        let mut client = connect(listener, Some(listener), Version::HTTP_2).await;
        posts.spawn(async move { client.ask("POST", &path, body).await.0 });
    }
    posts
}

/// How many times `/healthz` was answered while something went on, and what came of it.
async fn served_during<T>(listener: &Listener, work: impl Future<Output = T>) -> (usize, T) {
    let mut other = connect(listener, Some(listener), Version::HTTP_11).await;
    let mut served = 0;
    let asking = async {
        loop {
            let (status, _) = other.ask("GET", "/healthz", "").await;
            assert_eq!(status, StatusCode::OK);
            served += 1;
        }
    };
    tokio::select! {
        () = asking => unreachable!("it asks for ever"),
        done = work => (served, done),
    }
}

/// The answers to requests, and how many others were served before the last of them.
async fn answers_and_served(listener: &Listener, requests: Vec<(String, Bytes)>) -> (Vec<StatusCode>, usize) {
    let posts = post_all(listener, requests).await;
    let (served, answers) = served_during(listener, posts.join_all()).await;
    (answers, served)
}

#[tokio::test]
async fn values_for_patterns_of_many_steps_hold_up_nobody() {
    let (_server, listener) = start().await;
    let pattern = json!({"text": {"type": "string", "pattern": r"(\pL{30}){30}z|é"}});
    let definitions = (0..EXPENSIVE).map(|index| (DEFINITIONS.to_owned(), definition(index, &pattern)));
    let (answers, _) = answers_and_served(&listener, definitions.collect()).await;
    assert!(
        answers.iter().all(|status| *status == StatusCode::CREATED),
        "{answers:?}"
    );
    let value = "x".repeat(2_000).into();
    let objects = (0..EXPENSIVE).map(|index| object(index, "text", &value));
    let (answers, served) = answers_and_served(&listener, objects.collect()).await;
    let refused = StatusCode::UNPROCESSABLE_ENTITY;
    assert!(answers.iter().all(|status| *status == refused), "{answers:?}");
    assert!(served >= MANY, "{served} requests were served meanwhile");
}

#[tokio::test]
async fn a_body_of_many_unknown_fields_holds_up_nobody() {
    let (_server, listener) = start().await;
    let keys: Vec<String> = (0..230_000).map(|key| format!("\"k{key}\":1")).collect();
    let body = format!("{{\"metadata\":{{\"name\":\"a\"}},{}}}", keys.join(","));
    let path = "/api/v1/namespaces/default/configmaps".to_owned();
    let (answers, served) = answers_and_served(&listener, vec![(path, body.into())]).await;
    assert_eq!(answers, [StatusCode::CREATED]);
    // Others are also answered between the frames of the body, before it is worked on.
    assert!(served >= 10 * MANY, "{served} requests were served meanwhile");
}

#[tokio::test]
async fn a_small_value_for_expensive_rules_holds_up_nobody() {
    let (_server, listener) = start().await;
    let rules: Vec<_> = (0..8)
        .map(|least| json!({"rule": format!("self.all(x, self.all(y, x + y >= {least}))")}))
        .collect();
    let numbers = json!({"numbers": {
        "type": "array",
        "maxItems": 400,
        "items": {"type": "integer"},
        "x-kubernetes-validations": rules,
    }});
    let made = answers_and_served(&listener, vec![(DEFINITIONS.to_owned(), definition(0, &numbers))]).await;
    assert_eq!(made.0, [StatusCode::CREATED]);
    let value = vec![100; 350].into();
    let (answers, served) = answers_and_served(&listener, vec![object(0, "numbers", &value)]).await;
    assert_eq!(answers, [StatusCode::CREATED]);
    assert!(served >= MANY, "{served} requests were served meanwhile");
}
