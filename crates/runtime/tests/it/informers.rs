//! Informers on the embedded server: what a cluster does, the cache knows.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{DynamicObject, PartialObjectMeta};
use kube::{Api, Client};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::cache::{Index, Lister, Query, QueryOf};
use kubewright_runtime::informer::{Cache, CacheTasks, Declarations, FirstNeed, InformerOptions, NoObjects};
use kubewright_runtime::object::{Kind, ObjectKey, Selector};
use kubewright_runtime::random::Random;
use serde_json::json;

struct Env {
    server: ApiServer,
    client: Client,
    cache: Cache,
    _tasks: CacheTasks,
}

fn start(declare: impl FnOnce(&mut Declarations)) -> Env {
    let server = ApiServer::new(Options::new());
    let client = server.client();
    let mut declarations = Declarations::default();
    declare(&mut declarations);
    let cache = Cache::new(declarations).unwrap();
    let tasks = cache.start(&client, &Random::seeded(1));
    Env {
        server,
        client,
        cache,
        _tasks: tasks,
    }
}

impl Env {
    fn config_maps(&self) -> Lister<ConfigMap> {
        Lister::new(self.cache.informer(&Kind::of::<ConfigMap>()).unwrap().store().clone())
    }

    async fn create(&self, namespace: &str, name: &str, labels: serde_json::Value) {
        let object = serde_json::from_value(json!({
            "metadata": { "name": name, "labels": labels }, "data": { "key": "value" },
        }))
        .unwrap();
        let api = Api::<ConfigMap>::namespaced(self.client.clone(), namespace);
        api.create(&PostParams::default(), &object).await.unwrap();
    }
}

async fn settle() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}

fn keys(lister: &Lister<ConfigMap>, query: &impl QueryOf<ConfigMap>) -> Vec<String> {
    lister
        .list(query)
        .unwrap()
        .iter()
        .map(|object| object.key().to_string())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_cache_follows_the_cluster() {
    let env = start(|declarations| declarations.reads(Kind::of::<ConfigMap>()));
    env.create("default", "early", json!({})).await;
    env.cache.synced().await;
    settle().await;
    let lister = env.config_maps();
    let key = ObjectKey::namespaced("default", "early");
    assert!(lister.get(&key).unwrap().is_some());

    let api = Api::<ConfigMap>::namespaced(env.client.clone(), "default");
    let patch = Patch::Merge(json!({ "data": { "key": "changed" } }));
    api.patch("early", &PatchParams::default(), &patch).await.unwrap();
    settle().await;
    let changed = lister.get(&key).unwrap().unwrap();
    assert_eq!(changed.data.as_ref().unwrap()["key"], "changed");
    assert_eq!(changed.metadata.managed_fields, None);

    api.delete("early", &DeleteParams::default()).await.unwrap();
    settle().await;
    assert!(lister.get(&key).unwrap().is_none());
    assert!(env.cache.troubles().is_empty());
}

#[tokio::test(start_paused = true)]
async fn typed_dynamic_and_metadata_reads_share_one_watch() {
    let env = start(|declarations| {
        declarations.reads_metadata(Kind::of::<ConfigMap>());
        declarations.reads(Kind::of::<ConfigMap>());
    });
    env.create("default", "a", json!({})).await;
    env.cache.synced().await;
    settle().await;
    let store = env.cache.informer(&Kind::of::<ConfigMap>()).unwrap().store().clone();
    let key = ObjectKey::namespaced("default", "a");
    let dynamic = Lister::<DynamicObject>::new(store.clone()).get(&key).unwrap().unwrap();
    let metadata = Lister::<PartialObjectMeta<ConfigMap>>::new(store.clone())
        .get(&key)
        .unwrap()
        .unwrap();
    assert_eq!(dynamic.data["data"]["key"], "value");
    assert!(metadata.metadata.uid.is_some());
    assert!(Arc::ptr_eq(dynamic.record(), metadata.record()));
}

#[tokio::test(start_paused = true)]
async fn a_metadata_only_informer_holds_no_data_but_says_what_it_is() {
    let env = start(|declarations| declarations.reads_metadata(Kind::of::<ConfigMap>()));
    env.create("default", "a", json!({ "app": "web" })).await;
    env.cache.synced().await;
    settle().await;
    let informer = env.cache.informer(&Kind::of::<ConfigMap>()).unwrap();
    let record = informer.store().get("default/a").unwrap();
    assert!(informer.is_metadata_only());
    assert!(
        record
            .json()
            .starts_with(br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"#)
    );
    assert!(!String::from_utf8_lossy(record.json()).contains("value"));
    assert_eq!(record.label("app").as_deref(), Some("web"));
}

#[tokio::test(start_paused = true)]
async fn an_informer_covers_its_namespaces_and_selectors_only() {
    let env = start(|declarations| {
        declarations.reads(Kind::of::<ConfigMap>());
        let options = InformerOptions {
            namespaces: Some(["left".to_owned(), "right".to_owned()].into()),
            labels: Selector::everything().equals("app", "web"),
            ..InformerOptions::default()
        };
        declarations.configure(Kind::of::<ConfigMap>(), options).unwrap();
    });
    let namespaces = Api::<Namespace>::all(env.client.clone());
    for name in ["left", "right", "other"] {
        let namespace = serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
        namespaces.create(&PostParams::default(), &namespace).await.unwrap();
        env.create(name, "web", json!({ "app": "web" })).await;
        env.create(name, "api", json!({ "app": "api" })).await;
    }
    env.cache.synced().await;
    settle().await;
    let lister = env.config_maps();
    assert_eq!(keys(&lister, &Query::all()), ["left/web", "right/web"]);
    assert_eq!(keys(&lister, &Query::all().in_namespace("right")), ["right/web"]);

    // An object that loses its label leaves the cache.
    let api = Api::<ConfigMap>::namespaced(env.client.clone(), "left");
    let patch = Patch::Merge(json!({ "metadata": { "labels": { "app": null } } }));
    api.patch("web", &PatchParams::default(), &patch).await.unwrap();
    settle().await;
    assert_eq!(keys(&lister, &Query::all()), ["right/web"]);
}

#[tokio::test(start_paused = true)]
async fn an_index_finds_what_the_watch_brought() {
    let env = start(|declarations| {
        declarations.reads(Kind::of::<ConfigMap>());
        let by_key = Index::of::<ConfigMap>("data.key", |object| {
            object.data.iter().filter_map(|data| data.get("key").cloned()).collect()
        });
        declarations.index(Kind::of::<ConfigMap>(), by_key);
    });
    env.cache.synced().await;
    env.create("default", "a", json!({})).await;
    settle().await;
    let by_key = env.cache.index::<ConfigMap>("data.key").unwrap();
    let lister = env.config_maps();
    assert_eq!(keys(&lister, &by_key.query("value")), ["default/a"]);
    assert_eq!(keys(&lister, &by_key.query("other")), [] as [&str; 0]);
    let (undeclared, line) = (env.cache.index::<Secret>("data.key"), line!());
    let error = undeclared.unwrap_err().to_string();
    let place = format!(
        "the cache of Secret has no index \"data.key\", by which {}:{line}:",
        file!()
    );
    assert!(error.starts_with(&place), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_history_that_was_compacted_away_is_made_up_for() {
    let env = start(|declarations| declarations.reads(Kind::of::<ConfigMap>()));
    env.cache.synced().await;
    for round in 0..20 {
        env.create("default", &format!("object-{round}"), json!({})).await;
        env.server.compact();
    }
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(
        keys(&env.config_maps(), &Query::all().in_namespace("default")).len(),
        20
    );
}

#[tokio::test(start_paused = true)]
async fn objects_are_told_of_again_once_in_a_while() {
    let env = start(|declarations| declarations.reads(Kind::of::<ConfigMap>()));
    env.create("default", "a", json!({})).await;
    env.cache.synced().await;
    settle().await;
    let mut events = env.config_maps().store().subscribe();
    let initial = events.len();
    tokio::time::sleep(Duration::from_hours(11)).await;
    assert_eq!(events.len(), 2 * initial);
    while let Some(event) = events.try_next() {
        assert!(event.is_background());
    }
}

#[tokio::test(start_paused = true)]
async fn one_kind_that_cannot_be_watched_does_not_stop_the_others() {
    let missing = Kind::dynamic(
        &kube::core::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk("nowhere.example.com", "v1", "Ghost")),
        true,
    );
    let env = start(|declarations| {
        declarations.reads(Kind::of::<ConfigMap>());
        declarations.reads(missing.clone());
        declarations.reads(Kind::of::<Secret>());
    });
    for kind in [Kind::of::<ConfigMap>(), Kind::of::<Secret>()] {
        env.cache.informer(&kind).unwrap().store().synced().await;
    }
    let troubles: Vec<_> = env.cache.troubles().iter().map(ToString::to_string).collect();
    assert_eq!(
        troubles,
        ["Ghost.nowhere.example.com is not served; waiting for its CustomResourceDefinition"]
    );
}

/// The watches that a server was asked for, by resource.
fn watched(server: &ApiServer) -> Vec<String> {
    let events = server.audit().events();
    let watches = events.iter().filter(|event| event.attributes.verb == "watch");
    watches.map(|event| event.attributes.resource.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_kind_without_objects_is_watched_from_its_first_one_on() {
    let server = ApiServer::new(Options::new());
    let client = server.client();
    let mut declarations = Declarations::default();
    declarations.reads(Kind::of::<Secret>());
    declarations.reads(Kind::of::<Namespace>());
    let known = server.clone();
    declarations.first_need(FirstNeed::new(move |kind| {
        let (revision, until) = known.no_objects(kind.group(), kind.version(), kind.plural())?;
        Some(NoObjects {
            resource_version: revision.to_string(),
            until: Box::pin(until),
        })
    }));
    let cache = Cache::new(declarations).unwrap();
    let _tasks = cache.start(&client, &Random::seeded(1));
    cache.synced().await;
    tokio::time::sleep(Duration::from_hours(1)).await;
    let asked = watched(&server);
    assert!(
        asked.contains(&"namespaces".to_owned()) && !asked.contains(&"secrets".to_owned()),
        "{asked:?}"
    );

    let secrets: Lister<Secret> = cache.informer(&Kind::of::<Secret>()).unwrap().lister();
    let names = || {
        let found = secrets.list(&Query::all()).unwrap();
        let names = found.iter().map(|secret| secret.key().name().to_owned());
        names.collect::<Vec<_>>()
    };
    assert!(names().is_empty());
    let api = Api::<Secret>::namespaced(client, "default");
    for name in ["first", "second"] {
        let secret = serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
        api.create(&PostParams::default(), &secret).await.unwrap();
    }
    settle().await;
    assert_eq!(names(), ["first", "second"]);
    assert!(watched(&server).contains(&"secrets".to_owned()));
    api.delete("first", &DeleteParams::default()).await.unwrap();
    settle().await;
    assert_eq!(names(), ["second"]);
}
