//! Reads that wait for own writes are bounded and counted; kinds that are read live wait for nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use http::Request as HttpRequest;
use http_body_util::{BodyExt as _, StreamBody};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::client::Body;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::{Client, Error, Patch};
use kubewright_runtime::controller::{Action, Controller, Failure};
use kubewright_runtime::informer::{Cache, CacheTasks, Declarations};
use kubewright_runtime::manager::Manager;
use kubewright_runtime::metrics::{Registry, RuntimeMetrics};
use kubewright_runtime::object::{Kind, ObjectKey};
use kubewright_runtime::operator::{Operator, Rule};
use kubewright_runtime::random::Random;
use kubewright_runtime::stop::Stopper;
use serde_json::{Value, json};

use super::support::{BoxError, LayerResponse, config_map};

/// A client through which everything that a watch says comes late.
fn late(server: &ApiServer, delay: &Arc<AtomicU64>) -> kube::Client {
    let (plain, delay) = (server.client(), Arc::clone(delay));
    let service = tower::service_fn(move |request: HttpRequest<Body>| {
        let (plain, delay) = (plain.clone(), Arc::clone(&delay));
        async move {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch="));
            let answer = plain.send(request).await?;
            let answer: LayerResponse = answer.map(|body| {
                let frames = body.into_data_stream().then(move |frame| {
                    let delay = Duration::from_millis(if is_watch { delay.load(Ordering::Relaxed) } else { 0 });
                    async move {
                        tokio::time::sleep(delay).await;
                        frame
                    }
                });
                StreamBody::new(frames.map_ok(hyper::body::Frame::data).map_err(BoxError::from)).boxed_unsync()
            });
            Ok::<_, kube::Error>(answer)
        }
    });
    kube::Client::new(service, "default")
}

struct Env {
    client: Client,
    registry: Registry,
    delay: Arc<AtomicU64>,
    _tasks: CacheTasks,
    _server: ApiServer,
}

impl Env {
    /// The number of a metric, 0 if it was never counted.
    fn metric(&self, series: &str) -> u64 {
        let text = self.registry.render();
        let line = text.lines().find_map(|line| line.strip_prefix(series));
        line.map_or(0, |number| number.trim().parse().unwrap())
    }
}

async fn start() -> Env {
    let server = ApiServer::new(Options::new());
    let delay = Arc::default();
    let kube = late(&server, &delay);
    let mut declarations = Declarations::default();
    declarations.reads(Kind::of::<ConfigMap>());
    declarations.reads(Kind::of::<Deployment>());
    declarations.reads_live(Kind::of::<Secret>());
    let cache = Cache::new(declarations).unwrap();
    let tasks = cache.start(&kube, &Random::seeded(1));
    cache.synced().await;
    let registry = Registry::new();
    let metrics = RuntimeMetrics::register(&registry).unwrap();
    Env {
        client: Client::new(kube, cache).with_metrics(&metrics),
        registry,
        delay,
        _tasks: tasks,
        _server: server,
    }
}

fn secret(name: &str) -> Secret {
    serde_json::from_value(json!({ "metadata": { "name": name, "namespace": "default" } })).unwrap()
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("default", name)
}

const WAITS: &str = "kubewright_read_your_writes_wait_seconds_count{kind=\"ConfigMap\"}";
const SHORT_WAITS: &str = "kubewright_read_your_writes_wait_seconds_bucket{kind=\"ConfigMap\",le=\"0.5\"}";
const TIMEOUTS: &str = "kubewright_read_your_writes_timeouts_total{kind=\"ConfigMap\"}";

#[tokio::test(start_paused = true)]
async fn a_read_that_waited_is_counted_with_its_time_and_one_that_did_not_is_not() {
    let env = start().await;
    env.delay.store(200, Ordering::Relaxed);
    env.client.create(&config_map("a")).await.unwrap();
    let began = tokio::time::Instant::now();
    env.client.get::<ConfigMap>(&key("a")).await.unwrap();
    assert_eq!(began.elapsed().as_millis(), 200);
    assert_eq!(
        (env.metric(WAITS), env.metric(SHORT_WAITS), env.metric(TIMEOUTS)),
        (1, 1, 0)
    );
    for _ in 0..10 {
        env.client.get::<ConfigMap>(&key("a")).await.unwrap();
        env.client.get_opt::<ConfigMap>(&key("other")).await.unwrap();
    }
    assert_eq!(env.metric(WAITS), 1);
}

#[tokio::test(start_paused = true)]
async fn a_read_waits_five_seconds_or_as_long_as_it_is_told_and_then_fails_and_is_counted() {
    let env = start().await;
    env.delay.store(600_000, Ordering::Relaxed);
    env.client.create(&config_map("a")).await.unwrap();
    let began = tokio::time::Instant::now();
    let error = env.client.get::<ConfigMap>(&key("a")).await.unwrap_err();
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    assert!(matches!(error, Error::Stale(_)));
    assert_eq!(
        error.to_string(),
        "the cache of ConfigMap did not catch up with the write of default/a within 5s"
    );
    assert_eq!(
        (env.metric(WAITS), env.metric(SHORT_WAITS), env.metric(TIMEOUTS)),
        (1, 0, 1)
    );

    let patient = env.client.wait_at_most(Duration::from_mins(1));
    let began = tokio::time::Instant::now();
    patient.list::<ConfigMap>(&Query::all()).await.unwrap_err();
    assert_eq!(began.elapsed(), Duration::from_mins(1));
    assert_eq!(env.metric(TIMEOUTS), 2);
    // Who does not want to wait does not, and sees what the cache has.
    let began = tokio::time::Instant::now();
    assert!(
        env.client
            .without_waiting()
            .get_opt::<ConfigMap>(&key("a"))
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!((began.elapsed(), env.metric(TIMEOUTS)), (Duration::ZERO, 2));
}

#[tokio::test(start_paused = true)]
async fn the_waits_of_a_managers_controllers_are_among_its_metrics() {
    let server = ApiServer::new(Options::new());
    let delay = Arc::new(AtomicU64::new(20));
    let controller = Controller::of::<ConfigMap>().reconcile_objects::<ConfigMap, _>(|context, object| async move {
        let client = context.client();
        let mut labelled = object.into_owned();
        if labelled
            .metadata
            .labels
            .get_or_insert_default()
            .insert("seen".to_owned(), "yes".to_owned())
            .is_none()
        {
            client.update(&labelled).await?;
        }
        let again = client
            .get::<ConfigMap>(&key(labelled.metadata.name.as_deref().unwrap_or_default()))
            .await;
        let again = again.map_err(Failure::terminal)?;
        assert!(
            again
                .metadata
                .labels
                .as_ref()
                .is_some_and(|labels| labels.contains_key("seen"))
        );
        Ok(Action::done())
    });
    let manager = Manager::new().controller(controller);
    let (registry, stats) = (manager.registry().clone(), manager.stats()[0].1.clone());
    let (stopper, stop) = Stopper::new();
    let running = tokio::spawn(manager.run(late(&server, &delay), stop));
    let user = Client::new(server.client(), Cache::default()).live();
    user.create(&config_map("a")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(stats.snapshot().success > 0, "{:?}", stats.snapshot().last_error);
    assert!(registry.render().contains(WAITS));
    assert!(!registry.render().contains(TIMEOUTS));
    stopper.stop();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_read_live_has_no_informer_and_is_always_fresh() {
    let env = start().await;
    env.delay.store(600_000, Ordering::Relaxed);
    assert!(env.client.cache().informer(&Kind::of::<Secret>()).is_none());
    env.client.create(&secret("a")).await.unwrap();
    env.client.get::<Secret>(&key("a")).await.unwrap();
    assert_eq!(env.client.list::<Secret>(&Query::all()).await.unwrap().len(), 1);
    env.client.delete::<Secret>(&key("a")).await.unwrap();
    assert!(env.client.get_opt::<Secret>(&key("a")).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_write_of_a_scale_is_a_write_of_its_object_and_seen_as_one() {
    let env = start().await;
    env.delay.store(100, Ordering::Relaxed);
    let web = json!({
        "metadata": { "name": "web", "namespace": "default" },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "web", "image": "nginx" }] },
            },
        },
    });
    let deployments = env.client.of::<Deployment>();
    deployments.create(&serde_json::from_value(web).unwrap()).await.unwrap();
    let scaled = async |replicas: i32| {
        let patch = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
        let scale = deployments.subresource("scale");
        scale.patch_as::<Value>(&key("web"), &patch).await.unwrap();
        let web = deployments.get(&key("web")).await.unwrap();
        web.spec.as_ref().unwrap().replicas
    };
    // At once, while the cache does not know the object at all, and later.
    assert_eq!(scaled(3).await, Some(3));
    assert_eq!(scaled(5).await, Some(5));
}

#[test]
fn an_operator_that_reads_live_needs_no_permission_to_watch() {
    let controller = Controller::of::<ConfigMap>().reads_live::<Secret>();
    let description = Operator::new("shop").controller(controller).describe();
    assert!(
        description
            .rules
            .contains(&Rule::new([""], ["secrets"], ["get", "list"]))
    );
    assert!(
        description
            .rules
            .contains(&Rule::new([""], ["configmaps"], ["get", "list", "watch"]))
    );
}
