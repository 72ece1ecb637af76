//! Servers older than ours, or with other habits: no watch that begins with the state, resourceVersions that are no numbers.
//! A layer before the embedded server answers as they do, in what was recorded of the real ones.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, StreamBody};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::{Client, Outcome, Patch};
use kubewright_runtime::informer::{Cache, CacheTasks, Declarations};
use kubewright_runtime::object::{Kind, ObjectKey};
use kubewright_runtime::operator::cluster_warning;
use kubewright_runtime::random::Random;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::support::{BoxError, LayerResponse, config_map_with, unchanged};

/// How a server differs from ours.
#[derive(Clone, Copy, PartialEq)]
enum Habit {
    /// As 1.27 to 1.31 and 1.33 do: a watch that begins with the state is off by default, and refused.
    RefusesTheState,
    /// As 1.26 and earlier do: they do not know such watches, and refuse the `resourceVersionMatch` that comes with them.
    RefusesTheMatch,
    /// As servers do that never heard of it, and do not look at parameters they do not know.
    IgnoresTheState,
    /// Not before 1.35 are resourceVersions promised to be numbers.
    OpaqueVersions,
}

/// A client of a server with a habit, and what was asked through it.
#[derive(Clone)]
struct Old {
    habit: Habit,
    asked: Arc<Mutex<Vec<String>>>,
}

const PLAIN: &str = r#""resourceVersion":""#;
const OPAQUE: &str = r#""resourceVersion":"opaque-"#;

impl Old {
    fn client(&self, server: &ApiServer) -> kube::Client {
        let (old, plain) = (self.clone(), server.client());
        let service = tower::service_fn(move |request| {
            let (old, plain) = (old.clone(), plain.clone());
            async move { old.send(plain, request).await }
        });
        kube::Client::new(service, "default")
    }

    async fn send(&self, plain: kube::Client, request: Request<Body>) -> Result<LayerResponse, kube::Error> {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let wants_state = query.contains("sendInitialEvents=true");
        if request.uri().path() == "/version" {
            return Ok(self.version());
        }
        if request.method() == Method::GET {
            let what = match (wants_state, query.contains("watch=")) {
                (true, _) => "state",
                (false, true) => "watch",
                (false, false) => "list",
            };
            self.asked.lock().push(what.to_owned());
        }
        match self.habit {
            Habit::RefusesTheState | Habit::RefusesTheMatch if wants_state => {
                Ok(answer(StatusCode::UNPROCESSABLE_ENTITY, &self.recorded("state")))
            }
            Habit::RefusesTheState | Habit::RefusesTheMatch => Ok(unchanged(plain.send(request).await?)),
            Habit::IgnoresTheState => {
                // Without these a new server still ends the state with a bookmark, but not for those who want no bookmarks.
                let unknown = ["sendInitialEvents=", "resourceVersionMatch=", "allowWatchBookmarks="];
                let known =
                    |parameter: &&str| !wants_state || !unknown.iter().any(|unknown| parameter.starts_with(unknown));
                let query: Vec<_> = query.split('&').filter(known).collect();
                Ok(unchanged(plain.send(with_query(request, &query.join("&"))).await?))
            }
            Habit::OpaqueVersions => {
                let query = query.replace("resourceVersion=opaque-", "resourceVersion=");
                let (parts, body) = with_query(request, &query).into_parts();
                let body = body.collect().await?.to_bytes();
                let body = String::from_utf8_lossy(&body).replace(OPAQUE, PLAIN).into_bytes();
                let answer = plain.send(Request::from_parts(parts, Body::from(body))).await?;
                Ok(opaque(answer))
            }
        }
    }
}

fn with_query(mut request: Request<Body>, query: &str) -> Request<Body> {
    let path = request.uri().path();
    *request.uri_mut() = format!("{path}?{query}").trim_end_matches('?').parse::<Uri>().unwrap();
    request
}

/// Every resourceVersion gets a word before its number; the embedded server sends whole objects in each chunk.
fn opaque(answer: Response<Body>) -> LayerResponse {
    answer.map(|body| {
        let chunks = body.into_data_stream().map(|chunk| {
            chunk.map(|bytes| {
                let text = String::from_utf8_lossy(&bytes).replace(PLAIN, OPAQUE);
                // A list of nothing, and a bookmark before anything, have none.
                hyper::body::Frame::data(bytes::Bytes::from(text.replace(r#""opaque-""#, r#""""#)))
            })
        });
        StreamBody::new(chunks.map_err(BoxError::from)).boxed_unsync()
    })
}

fn answer(status: StatusCode, body: &Value) -> LayerResponse {
    let answer = Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(Body::from(body.to_string().into_bytes()));
    unchanged(answer.unwrap())
}

impl Old {
    /// What a real server with this habit answered; `conformance/upstream/old-server` writes the files.
    fn recorded(&self, what: &str) -> Value {
        let text = match self.habit {
            Habit::RefusesTheState => include_str!("old_servers/v1.29.15.json"),
            Habit::RefusesTheMatch | Habit::IgnoresTheState => include_str!("old_servers/v1.25.16.json"),
            Habit::OpaqueVersions => r#"{ "version": { "major": "1", "minor": "34" } }"#,
        };
        let all: Value = serde_json::from_str(text).unwrap();
        all[what].clone()
    }

    fn version(&self) -> LayerResponse {
        let mut version = self.recorded("version");
        for field in [
            "gitVersion",
            "gitCommit",
            "gitTreeState",
            "buildDate",
            "goVersion",
            "compiler",
            "platform",
        ] {
            version
                .as_object_mut()
                .unwrap()
                .entry(field)
                .or_insert_with(|| json!(""));
        }
        answer(StatusCode::OK, &version)
    }
}

struct Env {
    kube: kube::Client,
    client: Client,
    old: Old,
    _tasks: CacheTasks,
    _server: ApiServer,
}

fn start(habit: Habit) -> Env {
    let server = ApiServer::new(Options::new());
    let old = Old {
        habit,
        asked: Arc::default(),
    };
    let kube = old.client(&server);
    let mut declarations = Declarations::default();
    declarations.reads(Kind::of::<ConfigMap>());
    let cache = Cache::new(declarations).unwrap();
    let tasks = cache.start(&kube, &Random::seeded(1));
    Env {
        kube: kube.clone(),
        client: Client::new(kube, cache).field_owner("tester"),
        old,
        _tasks: tasks,
        _server: server,
    }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("default", name)
}

/// Writes, reads back, changes, deletes: what a reconciler does.
async fn own_writes_are_seen(client: &Client) {
    for round in 0..5 {
        let name = format!("settings-{round}");
        client.create(&config_map_with(&name, "first")).await.unwrap();
        let mut read = client.get::<ConfigMap>(&key(&name)).await.unwrap().into_owned();
        read.data = config_map_with(&name, "second").data;
        client.update(&read).await.unwrap();
        assert_eq!(client.get::<ConfigMap>(&key(&name)).await.unwrap().data, read.data);
        client.delete::<ConfigMap>(&key(&name)).await.unwrap();
        assert!(client.get_opt::<ConfigMap>(&key(&name)).await.unwrap().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn operators_run_on_1_25_and_1_29_with_a_warning_of_what_is_missing() {
    for (habit, says) in [
        (
            Habit::RefusesTheMatch,
            "Kubernetes 1.25 is older than what is supported",
        ),
        (
            Habit::RefusesTheState,
            "Kubernetes 1.29 is older than what is supported",
        ),
    ] {
        let env = start(habit);
        let warning = cluster_warning(&env.kube, &[]).await.unwrap();
        assert!(
            warning.starts_with(says) && warning.contains("listed in pages"),
            "{warning}"
        );
        // At once: nothing is waited for to find out that it cannot be had.
        let before = tokio::time::Instant::now();
        env.client.cache().synced().await;
        assert_eq!(before.elapsed(), Duration::ZERO);
        own_writes_are_seen(&env.client).await;
        assert_eq!(env.old.asked.lock()[..], ["state", "list", "watch"]);
        assert!(env.client.cache().troubles().is_empty());
    }
    assert_eq!(cluster_warning(&start(Habit::OpaqueVersions).kube, &[]).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_to_stream_the_state_is_listed_in_pages_and_own_writes_are_seen() {
    let env = start(Habit::RefusesTheState);
    env.client.cache().synced().await;
    own_writes_are_seen(&env.client).await;
    assert_eq!(env.old.asked.lock()[..], ["state", "list", "watch"]);
    assert!(env.client.cache().troubles().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_heard_of_streaming_the_state_is_listed_and_own_writes_are_seen() {
    let env = start(Habit::IgnoresTheState);
    tokio::time::timeout(Duration::from_secs(15), env.client.cache().synced())
        .await
        .unwrap();
    own_writes_are_seen(&env.client).await;
    assert_eq!(env.old.asked.lock()[..], ["state", "list", "watch"]);
}

#[tokio::test(start_paused = true)]
async fn where_resource_versions_are_no_numbers_nobody_waits_and_the_cache_follows_all_the_same() {
    let env = start(Habit::OpaqueVersions);
    env.client.cache().synced().await;
    let before = tokio::time::Instant::now();
    let created = env.client.create(&config_map_with("settings", "first")).await.unwrap();
    assert!(created.metadata.resource_version.unwrap().starts_with("opaque-"));
    // It may be there or not; nobody waits to find out.
    env.client.get_opt::<ConfigMap>(&key("settings")).await.unwrap();
    assert_eq!(before.elapsed(), Duration::ZERO);
    tokio::time::sleep(Duration::from_millis(10)).await;
    let mut seen = env
        .client
        .get::<ConfigMap>(&key("settings"))
        .await
        .unwrap()
        .into_owned();
    assert!(seen.metadata.resource_version.as_ref().unwrap().starts_with("opaque-"));

    // Versions are sent back as they came: updates and their conflicts work.
    let patch = Patch::Merge(json!({ "data": { "key": "other" } }));
    env.client.patch::<ConfigMap>(&key("settings"), &patch).await.unwrap();
    seen.data = config_map_with("", "mine").data;
    assert!(env.client.update(&seen).await.unwrap_err().is_conflict());
    tokio::time::sleep(Duration::from_millis(10)).await;

    let done = env.client.create_or_update(config_map_with("settings", ""), |object| {
        object.data = config_map_with("", "mine").data;
        Ok(())
    });
    assert_eq!(done.await.unwrap().outcome, Outcome::Updated);
    env.client.delete::<ConfigMap>(&key("settings")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(10)).await;
    let left = env
        .client
        .list::<ConfigMap>(&Query::all().in_namespace("default"))
        .await
        .unwrap();
    assert!(left.iter().all(|object| object.key().name() != "settings"));
    assert!(env.client.cache().troubles().is_empty());
}
