//! Watches of a server in the same process: they last, so that virtual time in which nothing happens costs nothing.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::Client;
use kubewright_runtime::informer::{Cache, CacheTasks, Declarations};
use kubewright_runtime::object::Kind;
use kubewright_runtime::random::Random;
use parking_lot::Mutex;
use tokio::time::sleep;

use super::support::{config_map, unchanged};

const MONTH: Duration = Duration::from_hours(30 * 24);

/// A cache of `ConfigMaps`, and the queries of its requests. A server that is elsewhere is one whose answers do not say where it is.
struct Env {
    client: Client,
    asked: Arc<Mutex<Vec<String>>>,
    _tasks: CacheTasks,
}

async fn start(server: &ApiServer, is_elsewhere: bool) -> Env {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let (plain, queries) = (server.client(), Arc::clone(&asked));
    let service = tower::service_fn(move |request: Request<Body>| {
        queries
            .lock()
            .push(request.uri().query().unwrap_or_default().to_owned());
        let plain = plain.clone();
        async move {
            let mut answer = plain.send(request).await?;
            if is_elsewhere {
                answer.extensions_mut().clear();
            }
            Ok::<_, kube::Error>(unchanged(answer))
        }
    });
    let kube = kube::Client::new(service, "default");
    let mut declarations = Declarations::default();
    declarations.reads(Kind::of::<ConfigMap>());
    let cache = Cache::new(declarations).unwrap();
    let tasks = cache.start(&kube, &Random::seeded(1));
    cache.synced().await;
    Env {
        client: Client::new(kube, cache),
        asked,
        _tasks: tasks,
    }
}

impl Env {
    async fn count(&self) -> usize {
        let query = Query::all().in_namespace("default");
        self.client.list::<ConfigMap>(&query).await.unwrap().len()
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_a_server_in_this_process_lasts_for_months_and_follows() {
    let server = ApiServer::new(Options::new());
    let env = start(&server, false).await;
    sleep(MONTH).await;
    assert!(env.client.cache().troubles().is_empty());
    // What somebody else does after a month without a word arrives.
    let before = env.count().await;
    let other = Client::new(server.client(), Cache::default()).live();
    other.create(&config_map("late")).await.unwrap();
    sleep(Duration::from_millis(10)).await;
    assert_eq!(env.count().await, before + 1);

    // The first one brought the state, as every server's does; the second one is for a year, without signs of life.
    let asked = env.asked.lock();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(
        asked[0].contains("sendInitialEvents=true") && asked[0].contains("timeoutSeconds=290"),
        "{asked:?}"
    );
    assert!(
        asked[1].contains("timeoutSeconds=31536000") && !asked[1].contains("allowWatchBookmarks"),
        "{asked:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_a_server_elsewhere_is_renewed_and_asks_for_bookmarks() {
    let server = ApiServer::new(Options::new());
    let env = start(&server, true).await;
    sleep(Duration::from_hours(1)).await;
    let asked = env.asked.lock();
    assert_eq!(asked.len(), 13, "{asked:?}");
    assert!(
        asked
            .iter()
            .all(|query| query.contains("timeoutSeconds=290") && query.contains("allowWatchBookmarks=true")),
        "{asked:?}"
    );
}
