//! The client on the embedded server: cached reads see own writes, writes do what they say, helpers make no needless calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Method, Request, Response};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::client::Body;
use kube::core::{ApiResource, GroupVersionKind};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::helpers::{add_finalizer, ignore_not_found, remove_finalizer, retry_on_conflict};
use kubewright_runtime::client::{Client, DeleteOptions, Error, Fence, FieldValidation, Outcome, Patch};
use kubewright_runtime::informer::{Cache, CacheTasks, Declarations, InformerOptions};
use kubewright_runtime::object::{Kind, ObjectKey, Selector};
use kubewright_runtime::random::Random;
use serde_json::{Value, json};
use tower::{Service, ServiceExt as _};

use super::support::config_map_with;

/// Counts writes, and delays watches so that the cache is always late.
#[derive(Clone)]
struct Slow<S> {
    inner: S,
    writes: Arc<AtomicUsize>,
}

impl<S> Service<Request<Body>> for Slow<S>
where
    S: Service<Request<Body>> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> S::Future {
        if request.method() != Method::GET {
            self.writes.fetch_add(1, Ordering::Relaxed);
        }
        self.inner.call(request)
    }
}

struct Env {
    client: Client,
    writes: Arc<AtomicUsize>,
    _tasks: CacheTasks,
    _server: ApiServer,
}

impl Env {
    fn writes(&self) -> usize {
        self.writes.swap(0, Ordering::Relaxed)
    }
}

async fn start(declare: impl FnOnce(&mut Declarations)) -> Env {
    start_fenced(declare, Fence::open()).await
}

async fn start_fenced(declare: impl FnOnce(&mut Declarations), fence: Fence) -> Env {
    let server = ApiServer::new(Options::new());
    let plain = server.client();
    let writes = Arc::new(AtomicUsize::new(0));
    let service = Slow {
        inner: tower::service_fn({
            let plain = plain.clone();
            move |request: Request<Body>| {
                let plain = plain.clone();
                async move { plain.send(request).await }
            }
        }),
        writes: Arc::clone(&writes),
    };
    let counted = kube::Client::new(service.map_response(|response: Response<Body>| response), "default");
    let mut declarations = Declarations::default();
    declare(&mut declarations);
    let cache = Cache::new(declarations).unwrap();
    let tasks = cache.start(&plain, &Random::seeded(1));
    cache.synced().await;
    Env {
        client: Client::fenced(counted, cache, fence).field_owner("tester"),
        writes,
        _tasks: tasks,
        _server: server,
    }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("default", name)
}

fn deployment(replicas: i32) -> Deployment {
    serde_json::from_value(json!({
        "metadata": { "name": "web", "namespace": "default" },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "web", "image": "nginx" }] },
            },
        },
    }))
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_cached_read_sees_every_own_write() {
    let env = start(|declarations| declarations.reads(Kind::of::<ConfigMap>())).await;
    let client = &env.client;
    for round in 0..50 {
        let name = format!("object-{round}");
        client.create(&config_map_with(&name, "one")).await.unwrap();
        let read = client.get::<ConfigMap>(&key(&name)).await.unwrap();
        let mut changed = read.into_owned();
        changed.data = config_map_with(&name, "two").data;
        client.update(&changed).await.unwrap();
        let read = client.get::<ConfigMap>(&key(&name)).await.unwrap();
        assert_eq!(read.data.as_ref().unwrap()["key"], "two");
        client
            .patch::<ConfigMap>(&key(&name), &Patch::Merge(json!({ "data": { "key": "three" } })))
            .await
            .unwrap();
        let all = client
            .list::<ConfigMap>(&Query::all().in_namespace("default"))
            .await
            .unwrap();
        let found = all.iter().find(|object| object.key().name() == name).unwrap();
        assert_eq!(found.data.as_ref().unwrap()["key"], "three");
        client.delete::<ConfigMap>(&key(&name)).await.unwrap();
        assert!(client.get_opt::<ConfigMap>(&key(&name)).await.unwrap().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_waits_for_a_finalizer_is_seen_as_one() {
    let env = start(|declarations| declarations.reads(Kind::of::<ConfigMap>())).await;
    let client = &env.client;
    let mut object = config_map_with("a", "x");
    add_finalizer(&mut object, "example.com/cleanup");
    client.create(&object).await.unwrap();
    client.delete::<ConfigMap>(&key("a")).await.unwrap();
    let read = client.get::<ConfigMap>(&key("a")).await.unwrap();
    assert!(read.record().is_deleting());
    let mut object = read.into_owned();
    remove_finalizer(&mut object, "example.com/cleanup");
    client.update(&object).await.unwrap();
    // The update that removed the last finalizer was the deletion.
    assert!(client.get_opt::<ConfigMap>(&key("a")).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn deleting_all_of_a_selection_is_seen_at_once() {
    let env = start(|declarations| declarations.reads(Kind::of::<ConfigMap>())).await;
    let client = &env.client;
    for name in ["a", "b", "c"] {
        let mut object = config_map_with(name, "x");
        object.metadata.labels = Some([("keep".to_owned(), (name == "c").to_string())].into());
        client.create(&object).await.unwrap();
    }
    let doomed = Query::all()
        .in_namespace("default")
        .matching(Selector::everything().equals("keep", "false"));
    client.delete_all_of::<ConfigMap>(&doomed).await.unwrap();
    let left = client
        .list::<ConfigMap>(&Query::all().in_namespace("default"))
        .await
        .unwrap();
    let names: Vec<_> = left
        .iter()
        .map(|object| object.key().name())
        .filter(|name| name.len() == 1)
        .collect();
    assert_eq!(names, ["c"]);
}

#[tokio::test(start_paused = true)]
async fn of_many_that_are_deleted_those_that_finalizers_hold_are_seen_marked_at_once() {
    let env = start(|declarations| declarations.reads(Kind::of::<ConfigMap>())).await;
    let client = &env.client;
    for name in ["free", "held"] {
        let mut object = config_map_with(name, "x");
        object.metadata.labels = Some([("doomed".to_owned(), "yes".to_owned())].into());
        if name == "held" {
            object.metadata.finalizers = Some(vec!["example.com/guard".to_owned()]);
        }
        client.create(&object).await.unwrap();
    }
    let doomed = Query::all()
        .in_namespace("default")
        .matching(Selector::everything().equals("doomed", "yes"));
    let before = tokio::time::Instant::now();
    client.delete_all_of::<ConfigMap>(&doomed).await.unwrap();
    let left = client.list::<ConfigMap>(&doomed).await.unwrap();
    assert_eq!(left.len(), 1);
    assert!(left[0].metadata.deletion_timestamp.is_some());
    // Asked again, nothing changes: nothing is waited for.
    client.delete_all_of::<ConfigMap>(&doomed).await.unwrap();
    assert_eq!(client.list::<ConfigMap>(&doomed).await.unwrap().len(), 1);
    assert!(before.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn an_undeclared_cached_read_names_the_missing_call() {
    let env = start(|declarations| declarations.reads_metadata(Kind::of::<Secret>())).await;
    let error = env.client.get::<ConfigMap>(&key("a")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "ConfigMap is read from the cache, but nobody declares it: add `.owns::<ConfigMap>()`, \
         `.watches::<ConfigMap>(…)` or `.reads::<ConfigMap>()` to a controller, or read it with `client.live()`"
    );
    let error = env.client.get::<Secret>(&key("a")).await.unwrap_err();
    assert!(matches!(error, Error::MetadataOnly { .. }));
    assert!(
        env.client
            .metadata_of::<Secret>()
            .get_opt(&key("a"))
            .await
            .unwrap()
            .is_none()
    );
    assert!(
        env.client
            .live()
            .get_opt::<ConfigMap>(&key("a"))
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test(start_paused = true)]
async fn a_write_outside_the_informers_selection_makes_nobody_wait() {
    let env = start(|declarations| {
        declarations.reads(Kind::of::<ConfigMap>());
        let options = InformerOptions {
            labels: Selector::everything().equals("mine", "yes"),
            ..InformerOptions::default()
        };
        declarations.configure(Kind::of::<ConfigMap>(), options).unwrap();
    })
    .await;
    let client = &env.client;
    let start = tokio::time::Instant::now();
    client.create(&config_map_with("foreign", "x")).await.unwrap();
    assert!(client.get_opt::<ConfigMap>(&key("foreign")).await.unwrap().is_none());
    assert!(start.elapsed() < Duration::from_secs(1));

    // One that leaves the selection is waited for until it has left.
    let mut object = config_map_with("mine", "x");
    object.metadata.labels = Some([("mine".to_owned(), "yes".to_owned())].into());
    client.create(&object).await.unwrap();
    assert!(client.get_opt::<ConfigMap>(&key("mine")).await.unwrap().is_some());
    let patch = Patch::Merge(json!({ "metadata": { "labels": { "mine": "no" } } }));
    client.patch::<ConfigMap>(&key("mine"), &patch).await.unwrap();
    assert!(client.get_opt::<ConfigMap>(&key("mine")).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_is_cut_off_fails_reads_after_writes_with_a_typed_error() {
    let env = start(|declarations| declarations.reads(Kind::of::<ConfigMap>())).await;
    let Env {
        client, _tasks: tasks, ..
    } = env;
    drop(tasks);
    client.create(&config_map_with("a", "x")).await.unwrap();
    let start = tokio::time::Instant::now();
    let error = client.get::<ConfigMap>(&key("a")).await.unwrap_err();
    assert!(matches!(error, Error::Stale(_)), "{error}");
    assert_eq!(start.elapsed().as_secs(), 5);
    // Unrelated keys, and readers who do not want to wait, do not.
    assert!(client.get_opt::<ConfigMap>(&key("b")).await.unwrap().is_none());
    assert!(
        client
            .without_waiting()
            .get_opt::<ConfigMap>(&key("a"))
            .await
            .unwrap()
            .is_none()
    );
    assert!(client.live().get_opt::<ConfigMap>(&key("a")).await.unwrap().is_some());
    assert!(start.elapsed().as_secs() < 6);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_changes_nothing_and_makes_nobody_wait() {
    let env = start(|declarations| declarations.reads(Kind::of::<ConfigMap>())).await;
    let client = &env.client;
    let created = client.dry_run().create(&config_map_with("a", "x")).await.unwrap();
    assert!(created.metadata.uid.is_some());
    assert!(client.get_opt::<ConfigMap>(&key("a")).await.unwrap().is_none());
    client.create(&config_map_with("a", "x")).await.unwrap();
    client.dry_run().delete::<ConfigMap>(&key("a")).await.unwrap();
    assert!(client.get_opt::<ConfigMap>(&key("a")).await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn create_or_update_writes_only_what_differs() {
    let env = start(|declarations| declarations.reads(Kind::of::<Deployment>())).await;
    let scale = async |replicas: i32| {
        let done = env.client.create_or_update(deployment(1), |object| {
            object.spec.get_or_insert_default().replicas = Some(replicas);
            Ok(())
        });
        done.await.unwrap().outcome
    };
    assert_eq!((scale(1).await, env.writes()), (Outcome::Created, 1));
    // The server's defaults are no difference.
    assert_eq!((scale(1).await, env.writes()), (Outcome::Unchanged, 0));
    assert_eq!((scale(2).await, env.writes()), (Outcome::Updated, 1));
    assert_eq!((scale(2).await, env.writes()), (Outcome::Unchanged, 0));
}

#[tokio::test(start_paused = true)]
async fn create_or_patch_patches_object_and_status_apart() {
    let env = start(|declarations| declarations.reads(Kind::of::<Deployment>())).await;
    let shape = async |replicas: i32, available: i32| {
        let done = env.client.create_or_patch(deployment(1), |object| {
            object.spec.get_or_insert_default().replicas = Some(replicas);
            let status = object.status.get_or_insert_default();
            status.replicas = Some(available);
            Ok(())
        });
        done.await.unwrap().outcome
    };
    assert_eq!(shape(1, 0).await, Outcome::Created);
    assert_eq!(shape(1, 1).await, Outcome::UpdatedStatusOnly);
    assert_eq!(shape(2, 1).await, Outcome::Updated);
    assert_eq!(shape(3, 2).await, Outcome::UpdatedStatus);
    env.writes();
    assert_eq!((shape(3, 2).await, env.writes()), (Outcome::Unchanged, 0));
}

#[tokio::test(start_paused = true)]
async fn applying_the_same_again_makes_no_call() {
    let env = start(|declarations| declarations.reads(Kind::of::<Deployment>())).await;
    let client = &env.client;
    let apply = async |replicas: i32| client.apply(&deployment(replicas)).await.unwrap().outcome;
    assert_eq!((apply(1).await, env.writes()), (Outcome::Created, 1));
    assert_eq!((apply(1).await, env.writes()), (Outcome::Unchanged, 0));
    assert_eq!((apply(2).await, env.writes()), (Outcome::Updated, 1));
    assert_eq!((apply(2).await, env.writes()), (Outcome::Unchanged, 0));

    // Somebody else's annotation is theirs; our replicas are ours.
    let theirs = client.field_owner("other");
    let patch = Patch::Merge(json!({ "metadata": { "annotations": { "note": "x" } } }));
    theirs.patch::<Deployment>(&key("web"), &patch).await.unwrap();
    env.writes();
    assert_eq!((apply(2).await, env.writes()), (Outcome::Unchanged, 0));
    let patch = Patch::Merge(json!({ "spec": { "replicas": 9 } }));
    theirs.patch::<Deployment>(&key("web"), &patch).await.unwrap();
    let error = client.apply(&deployment(2)).await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    assert_eq!(
        client.force().apply(&deployment(2)).await.unwrap().outcome,
        Outcome::Updated
    );

    // What is no longer wanted is removed.
    let mut labelled = deployment(2);
    labelled.metadata.labels = Some([("tier".to_owned(), "front".to_owned())].into());
    assert_eq!(client.apply(&labelled).await.unwrap().outcome, Outcome::Updated);
    assert_eq!(apply(2).await, Outcome::Updated);
    assert_eq!(
        client.get::<Deployment>(&key("web")).await.unwrap().metadata.labels,
        None
    );
}

#[tokio::test(start_paused = true)]
async fn apply_without_an_owner_says_so() {
    let server = ApiServer::new(Options::new());
    let client = Client::new(server.client(), Cache::default());
    let error = client.apply(&config_map_with("a", "x")).await.unwrap_err();
    assert!(error.to_string().contains("client.field_owner"));
}

#[tokio::test(start_paused = true)]
async fn status_is_written_apart_and_seen_at_once() {
    let env = start(|declarations| declarations.reads(Kind::of::<Deployment>())).await;
    let client = &env.client;
    client.create(&deployment(1)).await.unwrap();
    let mut object = client.get::<Deployment>(&key("web")).await.unwrap().into_owned();
    let status = object.status.get_or_insert_default();
    status.replicas = Some(1);
    status.ready_replicas = Some(1);
    status.available_replicas = Some(1);
    object.spec.get_or_insert_default().replicas = Some(7);
    client.update_status(&object).await.unwrap();
    let read = client.get::<Deployment>(&key("web")).await.unwrap();
    assert_eq!(read.status.as_ref().unwrap().available_replicas, Some(1));
    assert_eq!(read.spec.as_ref().unwrap().replicas, Some(1));
}

#[tokio::test(start_paused = true)]
async fn other_subresources_have_their_own_kind() {
    let env = start(|declarations| declarations.reads(Kind::of::<Deployment>())).await;
    env.client.create(&deployment(1)).await.unwrap();
    let scale = env.client.of::<Deployment>().subresource("scale");
    let patch = Patch::Merge(json!({ "spec": { "replicas": 4 } }));
    let answer: Value = scale.patch_as(&key("web"), &patch).await.unwrap();
    assert_eq!(answer["kind"], "Scale");
    let read: Value = scale.get_as(&key("web")).await.unwrap();
    assert_eq!(read["spec"]["replicas"], 4);
}

#[tokio::test(start_paused = true)]
async fn a_kind_known_only_at_run_time_has_the_same_verbs() {
    let kind = Kind::dynamic(
        &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap")),
        true,
    );
    let env = start(|declarations| declarations.reads(kind.clone())).await;
    let objects = env.client.dynamic(kind);
    let wanted = serde_json::from_value(json!({
        "metadata": { "name": "a", "namespace": "default" }, "data": { "key": "x" },
    }))
    .unwrap();
    objects.create(&wanted).await.unwrap();
    assert_eq!(objects.get(&key("a")).await.unwrap().data["data"]["key"], "x");
    // And the typed view is one of the same cache.
    assert!(env.client.get_opt::<ConfigMap>(&key("a")).await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn unknown_fields_are_errors_for_who_is_strict() {
    let server = ApiServer::new(Options::new());
    let client = Client::new(server.client(), Cache::default());
    let kind = Kind::of::<ConfigMap>();
    let wanted = serde_json::from_value(json!({
        "metadata": { "name": "a", "namespace": "default" }, "nonsense": true,
    }))
    .unwrap();
    let strict = client.field_validation(FieldValidation::Strict);
    let error = strict.dynamic(kind.clone()).create(&wanted).await.unwrap_err();
    assert!(error.to_string().contains("unknown field \"nonsense\""), "{error}");
    client.dynamic(kind).create(&wanted).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn preconditions_protect_from_deleting_another_object() {
    let env = start(|declarations| declarations.reads(Kind::of::<ConfigMap>())).await;
    env.client.create(&config_map_with("a", "x")).await.unwrap();
    let options = DeleteOptions {
        uid: Some("another".to_owned()),
        ..DeleteOptions::default()
    };
    let error = env
        .client
        .delete_with::<ConfigMap>(&key("a"), &options)
        .await
        .unwrap_err();
    assert!(error.is_conflict(), "{error}");
    ignore_not_found(env.client.delete::<ConfigMap>(&key("nobody")).await).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_tried_again_with_what_is_there_now() {
    let env = start(|declarations| declarations.reads(Kind::of::<ConfigMap>())).await;
    let client = &env.client;
    client.create(&config_map_with("a", "x")).await.unwrap();
    let mut interfered = false;
    let key = key("a");
    retry_on_conflict(|| {
        let interfere = !std::mem::replace(&mut interfered, true);
        let key = &key;
        async move {
            let object = client.live().get::<ConfigMap>(key).await?.into_owned();
            if interfere {
                client
                    .patch::<ConfigMap>(key, &Patch::Merge(json!({ "data": { "other": "y" } })))
                    .await?;
            }
            client.update(&object).await
        }
    })
    .await
    .unwrap();
    assert_eq!(env.writes(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_closed_fence_stops_writes_and_nothing_else() {
    let fence = Fence::open();
    let env = start_fenced(
        |declarations| declarations.reads(Kind::of::<ConfigMap>()),
        fence.clone(),
    )
    .await;
    env.client.create(&config_map_with("a", "x")).await.unwrap();
    fence.close();
    let error = env.client.delete::<ConfigMap>(&key("a")).await.unwrap_err();
    assert!(matches!(error, Error::Fenced(_)));
    assert_eq!(error.to_string(), "not the leader: the write was not sent");
    assert!(env.client.get_opt::<ConfigMap>(&key("a")).await.unwrap().is_some());
    assert!(
        env.client
            .live()
            .get_opt::<ConfigMap>(&key("a"))
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test(start_paused = true)]
async fn live_lists_read_every_page() {
    let env = start(|_| {}).await;
    for number in 0..510 {
        env.client
            .create(&config_map_with(&format!("object-{number:03}"), "x"))
            .await
            .unwrap();
    }
    let all = env
        .client
        .live()
        .list::<ConfigMap>(&Query::all().in_namespace("default"))
        .await
        .unwrap();
    assert_eq!(
        all.iter()
            .filter(|object| object.key().name().starts_with("object-"))
            .count(),
        510
    );
    let pods = env.client.live().list::<Pod>(&Query::all()).await.unwrap();
    assert!(pods.is_empty());
}
