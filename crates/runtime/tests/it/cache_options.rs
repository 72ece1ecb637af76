//! What can be said of the cache per kind, and what its readers get, on the embedded server.

use std::sync::Arc;
use std::time::Duration;

use http::Request as HttpRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::client::Body;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::cache::{Event, Query};
use kubewright_runtime::client::{Client, Patch};
use kubewright_runtime::controller::{Action, Controller, Request};
use kubewright_runtime::informer::{Cache, CacheTasks, DeclarationError, Declarations, InformerOptions};
use kubewright_runtime::manager::Manager;
use kubewright_runtime::object::{Kind, ObjectKey, Selector};
use kubewright_runtime::random::Random;
use kubewright_runtime::reflector::Transform;
use kubewright_runtime::stop::Stopper;
use parking_lot::Mutex;
use serde_json::json;

/// A client that notes the path of every watch.
fn noting_watches(server: &ApiServer, watches: &Arc<Mutex<Vec<String>>>) -> kube::Client {
    let (plain, watches) = (server.client(), Arc::clone(watches));
    let service = tower::service_fn(move |request: HttpRequest<Body>| {
        let (plain, watches) = (plain.clone(), Arc::clone(&watches));
        async move {
            if request.uri().query().is_some_and(|query| query.contains("watch=")) {
                watches.lock().push(request.uri().path().to_owned());
            }
            plain.send(request).await
        }
    });
    kube::Client::new(service, "default")
}

struct Env {
    user: Client,
    cache: Cache,
    watches: Arc<Mutex<Vec<String>>>,
    _tasks: CacheTasks,
    _server: ApiServer,
}

async fn start(declare: impl FnOnce(&mut Declarations)) -> Env {
    let server = ApiServer::new(Options::new());
    let watches = Arc::default();
    let kube = noting_watches(&server, &watches);
    let user = Client::new(server.client(), Cache::default()).live();
    for name in ["left", "right", "other"] {
        let namespace: Namespace = serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
        user.create(&namespace).await.unwrap();
    }
    let mut declarations = Declarations::default();
    declare(&mut declarations);
    let cache = Cache::new(declarations).unwrap();
    let tasks = cache.start(&kube, &Random::seeded(1));
    cache.synced().await;
    Env {
        user,
        cache,
        watches,
        _tasks: tasks,
        _server: server,
    }
}

fn config_map(namespace: &str, name: &str, app: &str) -> ConfigMap {
    serde_json::from_value(json!({
        "metadata": { "name": name, "namespace": namespace, "labels": { "app": app } },
        "data": { "key": "value", "large": "x".repeat(1000) },
    }))
    .unwrap()
}

fn configured(options: InformerOptions) -> impl FnOnce(&mut Declarations) {
    move |declarations| {
        declarations.reads(Kind::of::<ConfigMap>());
        declarations.configure(Kind::of::<ConfigMap>(), options).unwrap();
    }
}

/// Whether two readers look at one object in memory.
fn is_one<T>(left: &T, right: &T) -> bool {
    std::ptr::eq(left, right)
}

async fn settle() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}

impl Env {
    fn store(&self) -> &kubewright_runtime::cache::Store {
        self.cache.informer(&Kind::of::<ConfigMap>()).unwrap().store()
    }

    fn keys(&self, query: &Query) -> Vec<String> {
        let records = self.store().list(query).unwrap();
        records.iter().map(|record| record.key().to_string()).collect()
    }

    async fn create(&self, namespace: &str, name: &str, app: &str) {
        self.user.create(&config_map(namespace, name, app)).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn each_namespace_of_a_kind_has_one_watch_and_nothing_else_is_watched() {
    let env = start(configured(InformerOptions {
        namespaces: Some(["left".to_owned(), "right".to_owned()].into()),
        ..InformerOptions::default()
    }))
    .await;
    for namespace in ["left", "right", "other"] {
        env.create(namespace, "a", "web").await;
    }
    settle().await;
    assert_eq!(env.keys(&Query::all()), ["left/a", "right/a"]);
    let mut watches = env.watches.lock().clone();
    watches.sort();
    assert_eq!(
        watches,
        [
            "/api/v1/namespaces/left/configmaps",
            "/api/v1/namespaces/right/configmaps"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_field_selector_leaves_out_what_it_does_not_want() {
    let env = start(configured(InformerOptions {
        fields: Some("metadata.namespace=left,metadata.name!=b".to_owned()),
        ..InformerOptions::default()
    }))
    .await;
    for (namespace, name) in [("left", "a"), ("left", "b"), ("right", "a")] {
        env.create(namespace, name, "web").await;
    }
    settle().await;
    assert_eq!(env.keys(&Query::all()), ["left/a"]);
    // A write of what the watch does not show makes no reader wait for it.
    let client = Client::new(env.user.kube().clone(), env.cache.clone());
    client.create(&config_map("left", "c", "web")).await.unwrap();
    assert!(
        client
            .get_opt::<ConfigMap>(&ObjectKey::namespaced("left", "c"))
            .await
            .unwrap()
            .is_some()
    );
    client
        .delete::<ConfigMap>(&ObjectKey::namespaced("left", "b"))
        .await
        .unwrap();
    let before = tokio::time::Instant::now();
    assert!(
        client
            .get_opt::<ConfigMap>(&ObjectKey::namespaced("left", "b"))
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(before.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_transform_keeps_only_what_is_read() {
    let env = start(configured(InformerOptions {
        transform: Some(Transform::new(|object| {
            if let Some(data) = object["data"].as_object_mut() {
                data.remove("large");
            }
        })),
        ..InformerOptions::default()
    }))
    .await;
    env.create("left", "a", "web").await;
    settle().await;
    let record = env.store().get("left/a").unwrap();
    assert!(record.json().len() < 500, "{}", record.json().len());
    let data = record.view::<ConfigMap>().unwrap().data.clone().unwrap();
    assert_eq!(
        data.into_iter().collect::<Vec<_>>(),
        [("key".to_owned(), "value".to_owned())]
    );
}

#[tokio::test(start_paused = true)]
async fn a_resync_comes_as_often_as_the_kind_says_and_never_if_it_says_so() {
    let resynced = async |resync| {
        let env = start(configured(InformerOptions {
            fields: Some("metadata.namespace=left".to_owned()),
            resync,
            ..InformerOptions::default()
        }))
        .await;
        env.create("left", "a", "web").await;
        settle().await;
        let mut events = env.store().subscribe();
        events.try_next();
        let watched = env.watches.lock().len();
        tokio::time::sleep(Duration::from_mins(65)).await;
        let times = std::iter::from_fn(|| events.try_next())
            .inspect(|event| assert!(matches!(event, Event::Updated { .. }) && event.is_background()))
            .count();
        // Told from memory: apart from the watches that the server ends now and then nothing is asked.
        let opened = env.watches.lock().len() - watched;
        assert!(opened <= 65 * 60 / 290, "{opened}");
        times
    };
    assert_eq!(resynced(None).await, 0);
    // Ten minutes, and up to one more by random: not all informers of all replicas at once.
    assert!((5..=6).contains(&resynced(Some(Duration::from_mins(10))).await));
}

#[tokio::test(start_paused = true)]
async fn one_kind_is_configured_once_and_only_if_somebody_reads_it() {
    let mut declarations = Declarations::default();
    let kind = Kind::of::<ConfigMap>();
    declarations
        .configure(kind.clone(), InformerOptions::default())
        .unwrap();
    let error = Cache::new(declarations.clone()).unwrap_err();
    assert_eq!(error, DeclarationError::Unused("ConfigMap".to_owned()));
    declarations.reads(kind.clone());
    let error = declarations.configure(kind, InformerOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the cache of ConfigMap is configured twice; one kind has one informer"
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_selects_by_namespace_and_labels_together() {
    let env = start(configured(InformerOptions::default())).await;
    for (namespace, name, app) in [
        ("left", "a", "web"),
        ("left", "b", "api"),
        ("left", "c", "db"),
        ("right", "a", "web"),
    ] {
        env.create(namespace, name, app).await;
    }
    settle().await;
    let apps = |selector: &str| Query::all().matching(selector.parse::<Selector>().unwrap());
    assert_eq!(env.keys(&apps("app=web")), ["left/a", "right/a"]);
    assert_eq!(env.keys(&apps("app=web").in_namespace("right")), ["right/a"]);
    assert_eq!(
        env.keys(&apps("app in (web, db)").in_namespace("left")),
        ["left/a", "left/c"]
    );
    assert_eq!(env.keys(&apps("app,app!=web")), ["left/b", "left/c"]);

    // The client's lists are the same, live or from the cache.
    let client = Client::new(env.user.kube().clone(), env.cache.clone());
    for client in [client.live(), client] {
        let query = apps("app,app notin (web)").in_namespace("left");
        let found = client.list::<ConfigMap>(&query).await.unwrap();
        let names: Vec<_> = found.iter().map(|object| object.key().name()).collect();
        assert_eq!(names, ["b", "c"]);
    }
}

#[tokio::test(start_paused = true)]
async fn reads_share_one_object_and_copy_nothing() {
    let env = start(configured(InformerOptions::default())).await;
    env.create("left", "a", "web").await;
    settle().await;
    let client = Client::new(env.user.kube().clone(), env.cache.clone());
    let key = ObjectKey::namespaced("left", "a");
    let one = client.get::<ConfigMap>(&key).await.unwrap();
    let other = client.get::<ConfigMap>(&key).await.unwrap();
    // The same bytes, and as long as somebody holds it the same decoded object.
    assert!(Arc::ptr_eq(one.record(), other.record()));
    assert!(is_one(&*one, &*other));
    assert!(Arc::ptr_eq(one.record(), &env.store().get("left/a").unwrap()));
    let listed = client
        .list::<ConfigMap>(&Query::all().in_namespace("left"))
        .await
        .unwrap();
    assert!(listed.iter().any(|listed| is_one(&**listed, &*one)));
    // What everyone asks for is borrowed from the bytes.
    let within = one.record().json().as_ptr_range();
    let uid = one.record().uid();
    assert!(within.contains(&uid.as_ptr()));

    // A reader keeps what it has read, whatever happens meanwhile.
    let patch = Patch::Merge(json!({ "data": { "key": "changed" } }));
    client.patch::<ConfigMap>(&key, &patch).await.unwrap();
    assert_eq!(
        client.get::<ConfigMap>(&key).await.unwrap().data.as_ref().unwrap()["key"],
        "changed"
    );
    assert_eq!(one.data.as_ref().unwrap()["key"], "value");
}

#[tokio::test(start_paused = true)]
async fn who_subscribes_late_hears_of_everything_once_and_in_order() {
    let env = start(configured(InformerOptions {
        fields: Some("metadata.namespace=left".to_owned()),
        ..InformerOptions::default()
    }))
    .await;
    env.create("left", "a", "web").await;
    env.create("left", "b", "web").await;
    settle().await;
    let mut events = env.store().subscribe();
    env.user
        .delete::<ConfigMap>(&ObjectKey::namespaced("left", "a"))
        .await
        .unwrap();
    env.create("left", "c", "web").await;
    settle().await;
    let heard: Vec<_> = std::iter::from_fn(|| events.try_next())
        .map(|event| match &event {
            Event::Added { initial, .. } => format!("+{} {initial}", event.key().name()),
            Event::Updated { .. } => format!("~{}", event.key().name()),
            Event::Deleted { known, .. } => format!("-{} {known}", event.key().name()),
        })
        .collect();
    assert_eq!(heard, ["+a true", "+b true", "-a true", "+c false"]);
}

#[tokio::test(start_paused = true)]
async fn many_controllers_and_readers_of_a_kind_share_its_watch() {
    let server = ApiServer::new(Options::new());
    let watches = Arc::default();
    let kube = noting_watches(&server, &watches);
    let idle = |controller: Controller| controller.reconcile_with(|_| |_: Request| async { Ok(Action::done()) });
    let manager = Manager::new()
        .controller(idle(Controller::of::<ConfigMap>().owns::<Secret>()))
        .controller(idle(Controller::of::<Secret>().reads::<ConfigMap>()))
        .controller(idle(
            Controller::of::<Namespace>()
                .watches_metadata::<ConfigMap>(|_| Vec::new())
                .watches_metadata::<Secret>(|_| Vec::new()),
        ));
    let (stopper, stop) = Stopper::new();
    let running = tokio::spawn(manager.run(kube, stop));
    settle().await;
    stopper.stop();
    running.await.unwrap().unwrap();
    let mut watches = watches.lock().clone();
    watches.sort();
    assert_eq!(watches, ["/api/v1/configmaps", "/api/v1/namespaces", "/api/v1/secrets"]);
}
