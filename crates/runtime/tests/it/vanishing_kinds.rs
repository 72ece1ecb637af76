//! Definitions that are deleted under running controllers: what their informers do, what readers see, and how it begins again.

use std::sync::Arc;
use std::time::Duration;

use http::Request as HttpRequest;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::client::Body;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::cache::{Event, Query};
use kubewright_runtime::client::Client;
use kubewright_runtime::informer::{Cache, CacheTasks, Declarations};
use kubewright_runtime::mapper::{MapperError, RestMapper};
use kubewright_runtime::object::{Kind, ObjectKey};
use kubewright_runtime::random::Random;
use parking_lot::Mutex;
use serde_json::json;

use super::support::{boat, boat_definition, boats};

struct Env {
    user: Client,
    client: Client,
    asked: Arc<Mutex<Vec<String>>>,
    _tasks: CacheTasks,
    _server: ApiServer,
}

fn start() -> Env {
    let server = ApiServer::new(Options::new());
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let (plain, noted) = (server.client(), Arc::clone(&asked));
    let kube = kube::Client::new(
        tower::service_fn(move |request: HttpRequest<Body>| {
            noted.lock().push(request.uri().path().to_owned());
            let plain = plain.clone();
            async move { plain.send(request).await }
        }),
        "default",
    );
    let mut declarations = Declarations::default();
    declarations.reads(boats());
    declarations.reads(Kind::of::<ConfigMap>());
    let cache = Cache::new(declarations).unwrap();
    let tasks = cache.start(&kube, &Random::seeded(1));
    Env {
        user: Client::new(server.client(), Cache::default()).live(),
        client: Client::new(kube, cache),
        asked,
        _tasks: tasks,
        _server: server,
    }
}

async fn install(env: &Env, boats_of: &[&str]) {
    env.user.create(&boat_definition()).await.unwrap();
    for name in boats_of {
        env.user.dynamic(boats()).create(&boat(name)).await.unwrap();
    }
}

async fn uninstall(env: &Env) {
    let name = ObjectKey::cluster("boats.harbour.example.com");
    env.user.delete::<CustomResourceDefinition>(&name).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_informer_whose_definition_is_deleted_forgets_its_objects_stops_asking_and_begins_again() {
    let env = start();
    install(&env, &["one", "two"]).await;
    env.client.cache().synced().await;
    let informer = env.client.cache().informer(&boats()).unwrap();
    let mut events = informer.store().subscribe();
    let mut heard = || -> Vec<String> {
        std::iter::from_fn(|| events.try_next())
            .map(|event| match &event {
                Event::Added { object, .. } => format!("+{}", object.key().name()),
                Event::Updated { new, .. } => format!("~{}", new.key().name()),
                Event::Deleted { last, .. } => format!("-{}", last.key().name()),
            })
            .collect()
    };
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(heard(), ["+one", "+two"]);

    uninstall(&env).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(heard(), ["-one", "-two"]);
    assert!(informer.store().is_empty() && informer.is_missing());
    let troubles = env.client.cache().troubles();
    assert_eq!(
        troubles[0].to_string(),
        "Boat.harbour.example.com is not served; waiting for its CustomResourceDefinition"
    );

    // Nothing but a small question to discovery now and then; other kinds go on.
    env.asked.lock().clear();
    tokio::time::sleep(Duration::from_mins(2)).await;
    let asked = env.asked.lock().clone();
    assert!(
        asked.iter().all(|path| path == "/apis/harbour.example.com/v1"),
        "{asked:?}"
    );
    assert!((8..=13).contains(&asked.len()), "{}", asked.len());
    let settings: ConfigMap =
        serde_json::from_value(json!({ "metadata": { "name": "settings", "namespace": "default" } })).unwrap();
    env.client.create(&settings).await.unwrap();
    env.client
        .get::<ConfigMap>(&ObjectKey::namespaced("default", "settings"))
        .await
        .unwrap();

    install(&env, &["three"]).await;
    tokio::time::timeout(Duration::from_secs(12), informer.store().synced())
        .await
        .unwrap();
    assert_eq!(heard(), ["+three"]);
    assert!(!informer.is_missing() && env.client.cache().troubles().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_the_server_does_not_have_has_no_objects_and_nobody_waits_for_them() {
    let env = start();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = tokio::time::Instant::now();
    let boats = env.client.dynamic(boats());
    assert!(boats.list(&Query::all()).await.unwrap().is_empty());
    let key = ObjectKey::namespaced("default", "one");
    assert!(boats.get_opt(&key).await.unwrap().is_none());
    assert!(boats.get(&key).await.unwrap_err().is_not_found());
    assert_eq!(before.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_mapper_finds_what_was_installed_after_it_first_looked() {
    let env = start();
    let mapper = RestMapper::new(env.client.kube().clone());
    let missing = mapper.kind("harbour.example.com", "v1", "Boat").await.unwrap_err();
    assert_eq!(
        missing.to_string(),
        "the server has no kind Boat in harbour.example.com/v1"
    );
    assert!(matches!(missing, MapperError::NoMatch(_)));
    install(&env, &[]).await;
    assert_eq!(mapper.kind("harbour.example.com", "v1", "Boat").await.unwrap(), boats());
    // Known kinds are not asked for again.
    env.asked.lock().clear();
    assert_eq!(
        mapper.resource("harbour.example.com", "v1", "boats").await.unwrap(),
        boats()
    );
    assert!(
        env.asked
            .lock()
            .iter()
            .all(|path| !path.contains("harbour.example.com/v1") || path.ends_with("boats"))
    );
}
