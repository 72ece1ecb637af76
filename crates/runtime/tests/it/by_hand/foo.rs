//! `Foo`: sample-controller, by hand and from nothing but the low-level pieces. A reflector fills a store whose delta queue feeds
//! the work queue; an informer with handlers and tombstones does the same for Deployments; listers and an index read; two workers
//! take keys from a rate-limited queue; writes go through `kube`'s own `Api`.

// The kind is called so, and so are its objects.
#![allow(clippy::disallowed_names)]

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{PostParams, ResourceExt as _};
use kube::{Api, CustomResource, Resource as _};
use kubewright_runtime::cache::{Event, Index, Indexes, Lister, Query, Registration, Store, Subscription};
use kubewright_runtime::controller::Failure;
use kubewright_runtime::events::{EventNote, EventRecorder};
use kubewright_runtime::informer::{Cache, CacheTasks, Declarations, InformerOptions};
use kubewright_runtime::mapper::RestMapper;
use kubewright_runtime::object::{Kind, ObjectKey, Record};
use kubewright_runtime::queue::{Backoff, QueueOptions, TokenBucket, WorkQueue};
use kubewright_runtime::random::Random;
use kubewright_runtime::reflector::{Health, Reflector, Target};
use kubewright_runtime::stop::{Stop, Stopper};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::task::JoinSet;

use super::support::{Cluster, key, settle};

#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default)]
#[kube(
    group = "samplecontroller.k8s.io",
    version = "v1alpha1",
    kind = "Foo",
    namespaced,
    status = "FooStatus",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase")]
struct FooSpec {
    #[serde(default)]
    deployment_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replicas: Option<i32>,
}

#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
struct FooStatus {
    #[serde(default)]
    available_replicas: i32,
}

const FIELD_MANAGER: &str = "sample-controller";
const BY_DEPLOYMENT: &str = "spec.deploymentName";

#[derive(Clone)]
struct FooController {
    kube: kube::Client,
    foos: Lister<Foo>,
    deployments: Lister<Deployment>,
    queue: WorkQueue<ObjectKey>,
    recorder: EventRecorder,
}

impl FooController {
    /// Takes keys until the queue is shut down.
    async fn work(self) {
        while let Some(job) = self.queue.get().await {
            match self.sync(job.key()).await {
                Ok(()) => self.queue.forget(job.key()),
                Err(error) => {
                    tracing::info!(%error, key = %job.key(), "Error syncing; requeuing for later retry");
                    self.queue.add_rate_limited(job.key().clone());
                }
            }
        }
    }

    async fn sync(&self, key: &ObjectKey) -> Result<(), Failure> {
        let Some(foo) = self.foos.get(key)? else {
            tracing::info!(%key, "Foo referenced by item in work queue no longer exists");
            return Ok(());
        };
        let name = foo.spec.deployment_name.as_str();
        if name.is_empty() {
            tracing::info!(%key, "Deployment name missing from object reference");
            return Ok(());
        }
        let namespace = key.namespace().unwrap_or_default();
        let api = Api::<Deployment>::namespaced(self.kube.clone(), namespace);
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let mut deployment = match self.deployments.get(&ObjectKey::namespaced(namespace, name))? {
            Some(deployment) => deployment.into_owned(),
            None => api.create(&params, &new_deployment(&foo)?).await?,
        };
        let is_ours = deployment
            .owner_references()
            .iter()
            .any(|owner| owner.controller == Some(true) && Some(&owner.uid) == foo.meta().uid.as_ref());
        if !is_ours {
            let text = format!("Resource {name:?} already exists and is not managed by Foo");
            let note = EventNote::warning("ErrResourceExists", "Sync", text.clone());
            self.recorder.record(&*foo, note);
            return Err(Failure::message(text));
        }
        let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas);
        if foo.spec.replicas.is_some() && foo.spec.replicas != replicas {
            let mut wanted = new_deployment(&foo)?;
            wanted
                .metadata
                .resource_version
                .clone_from(&deployment.metadata.resource_version);
            deployment = api.replace(name, &params, &wanted).await?;
        }
        self.update_status(&foo, &deployment).await?;
        self.recorder
            .record(&*foo, EventNote::normal("Synced", "Sync", "Foo synced successfully"));
        Ok(())
    }

    async fn update_status(&self, foo: &Foo, deployment: &Deployment) -> Result<(), Failure> {
        let status = deployment.status.as_ref();
        let available_replicas = status.and_then(|status| status.available_replicas).unwrap_or(0);
        let status = Some(FooStatus { available_replicas });
        if foo.status == status {
            return Ok(());
        }
        let mut foo = foo.clone();
        foo.status = status;
        let api = Api::<Foo>::namespaced(self.kube.clone(), &foo.namespace().unwrap_or_default());
        api.replace_status(&foo.name_any(), &PostParams::default(), &foo)
            .await?;
        Ok(())
    }
}

/// Wakes the Foo that controls an object. A tombstone is an object like others here: its last state says who its owner was.
fn handle_object(object: &Arc<Record>, foos: &Store, queue: &WorkQueue<ObjectKey>) {
    for owner in object
        .owners()
        .iter()
        .filter(|owner| owner.controller && owner.kind == "Foo")
    {
        let key = ObjectKey::new(object.key().namespace(), &owner.name);
        if foos.get(key.as_str()).is_some() {
            queue.add(key);
        }
    }
}

fn new_deployment(foo: &Foo) -> Result<Deployment, Failure> {
    let labels = json!({ "app": "nginx", "controller": foo.name_any() });
    let owner = foo
        .controller_owner_ref(&())
        .ok_or_else(|| Failure::message("the Foo has no uid"))?;
    Ok(serde_json::from_value(json!({
        "metadata": {
            "name": foo.spec.deployment_name, "namespace": foo.namespace(), "ownerReferences": [owner],
        },
        "spec": {
            "replicas": foo.spec.replicas, "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "nginx", "image": "nginx:latest" }] },
            },
        },
    }))?)
}

/// A controller and all that feeds it.
struct Running {
    controller: FooController,
    health: tokio::sync::watch::Receiver<Health>,
    stopper: Stopper,
    tasks: JoinSet<()>,
    _registration: Registration,
    _informers: CacheTasks,
}

impl Running {
    async fn start(cluster: &Cluster) -> Self {
        let kube = cluster.server.client();
        let mapper = RestMapper::new(kube.clone());
        let foos = mapper.preferred("samplecontroller.k8s.io", "Foo").await.unwrap();
        assert_eq!(foos, Kind::of::<Foo>());

        // The limiter of sample-controller: per key 5 ms to 1000 s, and 50 a second with bursts of 300 for all.
        let queue = WorkQueue::new(QueueOptions {
            backoff: Backoff {
                base: Duration::from_millis(5),
                max: Duration::from_secs(1000),
            },
            bucket: NonZeroU32::new(300).map(|burst| TokenBucket::new(Duration::from_millis(20), burst)),
            ..QueueOptions::default()
        });
        let mut tasks = JoinSet::new();

        // Foos: reflector, store with an indexer, subscription.
        let mut indexes = Indexes::default();
        indexes.add(Index::of::<Foo>(BY_DEPLOYMENT, |foo| {
            vec![foo.spec.deployment_name.clone()]
        }));
        let store = Store::new(foos.clone(), indexes);
        let random = Random::seeded(1);
        let reflector = Reflector::new(kube.clone(), Target::new(foos), store.writer(None), random.clone());
        let health = reflector.health();
        tasks.spawn(reflector.run());
        tasks.spawn(enqueue(store.subscribe(), queue.clone()));

        // Deployments: a shared informer with handlers, as from a factory with a resync of 30 seconds.
        let mut declarations = Declarations::default();
        let kind = Kind::of::<Deployment>();
        declarations.reads(kind.clone());
        let options = InformerOptions {
            resync: Some(Duration::from_secs(30)),
            ..InformerOptions::default()
        };
        declarations.configure(kind.clone(), options).unwrap();
        let factory = Cache::new(declarations).unwrap();
        let informer = factory.informer(&kind).unwrap();
        let registration = informer.add_handler({
            let (foos, queue) = (store.clone(), queue.clone());
            move |event: &Event| match event {
                Event::Added { object, .. } => handle_object(object, &foos, &queue),
                // A resync says the same again: two versions of the same Deployment always differ.
                Event::Updated { .. } if event.is_background() => {}
                Event::Updated { new, .. } => handle_object(new, &foos, &queue),
                Event::Deleted { last, .. } => handle_object(last, &foos, &queue),
            }
        });
        let informers = factory.start(&kube, &random);

        let (stopper, stop): (Stopper, Stop) = Stopper::new();
        let (recorder, writer) = EventRecorder::new(FIELD_MANAGER, "test");
        tasks.spawn(writer.run_with(kube.clone(), stop.clone()));
        let controller = FooController {
            kube,
            foos: Lister::new(store.clone()),
            deployments: informer.lister(),
            queue,
            recorder,
        };
        // WaitForCacheSync, then two workers.
        store.synced().await;
        factory.synced().await;
        assert!(informer.has_synced());
        for _ in 0..2 {
            tasks.spawn(controller.clone().work());
        }
        Running {
            controller,
            health,
            stopper,
            tasks,
            _registration: registration,
            _informers: informers,
        }
    }

    async fn stop(mut self) {
        self.controller.queue.shut_down_with_drain().await;
        assert!(self.controller.queue.is_shutting_down());
        self.stopper.stop();
        self.tasks.shutdown().await;
    }
}

/// Every event of a Foo wakes it.
async fn enqueue(mut events: Subscription, queue: WorkQueue<ObjectKey>) {
    while let Some(event) = events.next().await {
        queue.add(event.key().clone());
    }
}

async fn cluster() -> Cluster {
    let spec = json!({
        "type": "object",
        "properties": {
            "deploymentName": { "type": "string" },
            "replicas": { "type": "integer", "format": "int32", "minimum": 1, "maximum": 10 },
        },
    });
    let status = json!({
        "type": "object", "properties": { "availableReplicas": { "type": "integer", "format": "int32" } },
    });
    Cluster::with(&Kind::of::<Foo>(), spec, status).await
}

fn foo(name: &str, deployment: &str, replicas: i32) -> Foo {
    let mut foo = Foo::new(
        name,
        FooSpec {
            deployment_name: deployment.to_owned(),
            replicas: Some(replicas),
        },
    );
    foo.metadata.namespace = Some("default".to_owned());
    foo
}

async fn deployment(cluster: &Cluster, name: &str) -> Option<Deployment> {
    let found = cluster.user.get_opt::<Deployment>(&key(name)).await.unwrap();
    found.map(kubewright_runtime::object::View::into_owned)
}

#[tokio::test(start_paused = true)]
async fn a_foo_creates_its_deployment_and_follows_its_status() {
    let cluster = cluster().await;
    let running = Running::start(&cluster).await;
    cluster.user.create(&foo("example", "example-foo", 1)).await.unwrap();
    settle().await;
    let made = deployment(&cluster, "example-foo").await.unwrap();
    assert_eq!(made.spec.unwrap().replicas, Some(1));
    assert_eq!(
        made.metadata.managed_fields.unwrap()[0].manager.as_deref(),
        Some(FIELD_MANAGER)
    );
    cluster.pods_run("example-foo", 1).await;
    settle().await;
    let synced = cluster.user.get::<Foo>(&key("example")).await.unwrap();
    assert_eq!(synced.status.as_ref().unwrap().available_replicas, 1);
    assert!(
        cluster
            .events()
            .await
            .contains(&"Normal Synced Foo synced successfully".to_owned())
    );
    assert_eq!(*running.health.borrow(), Health::Watching);

    // The indexer finds Foos by what they ask for.
    let foos = &running.controller.foos;
    let by_deployment = foos.index(BY_DEPLOYMENT).unwrap();
    assert_eq!(foos.list(&by_deployment.query("example-foo")).unwrap().len(), 1);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_as_it_should_be_is_left_alone() {
    let cluster = cluster().await;
    let running = Running::start(&cluster).await;
    cluster.user.create(&foo("example", "example-foo", 2)).await.unwrap();
    settle().await;
    let before = deployment(&cluster, "example-foo").await.unwrap();
    // A resync tells of everything and changes nothing.
    tokio::time::sleep(Duration::from_mins(5)).await;
    let after = deployment(&cluster, "example-foo").await.unwrap();
    assert_eq!(before.metadata.resource_version, after.metadata.resource_version);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_differs_is_updated_and_one_that_is_deleted_comes_back() {
    let cluster = cluster().await;
    let running = Running::start(&cluster).await;
    cluster.user.create(&foo("example", "example-foo", 2)).await.unwrap();
    settle().await;
    let mut wanted = cluster.user.get::<Foo>(&key("example")).await.unwrap().into_owned();
    wanted.spec.replicas = Some(4);
    cluster.user.update(&wanted).await.unwrap();
    settle().await;
    assert_eq!(
        deployment(&cluster, "example-foo")
            .await
            .unwrap()
            .spec
            .unwrap()
            .replicas,
        Some(4)
    );

    cluster.user.delete::<Deployment>(&key("example-foo")).await.unwrap();
    settle().await;
    assert!(deployment(&cluster, "example-foo").await.is_some());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_of_somebody_else_is_not_touched_and_said_so() {
    let cluster = cluster().await;
    let running = Running::start(&cluster).await;
    let theirs: Deployment = serde_json::from_value(json!({
        "metadata": { "name": "theirs", "namespace": "default" },
        "spec": {
            "replicas": 5, "selector": { "matchLabels": { "app": "theirs" } },
            "template": {
                "metadata": { "labels": { "app": "theirs" } },
                "spec": { "containers": [{ "name": "web", "image": "nginx" }] },
            },
        },
    }))
    .unwrap();
    cluster.user.create(&theirs).await.unwrap();
    settle().await;
    cluster.user.create(&foo("example", "theirs", 1)).await.unwrap();
    settle().await;
    assert_eq!(
        deployment(&cluster, "theirs").await.unwrap().spec.unwrap().replicas,
        Some(5)
    );
    let said = "Warning ErrResourceExists Resource \"theirs\" already exists and is not managed by Foo";
    assert!(cluster.events().await.contains(&said.to_owned()));
    // It fails with growing pauses until the cause is gone.
    assert!(running.controller.queue.num_requeues(&key("example")) > 3);
    cluster.user.delete::<Deployment>(&key("theirs")).await.unwrap();
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(
        deployment(&cluster, "theirs").await.unwrap().spec.unwrap().replicas,
        Some(1)
    );
    assert_eq!(running.controller.queue.num_requeues(&key("example")), 0);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_foo_without_a_deployment_name_is_left_and_one_that_is_gone_is_no_error() {
    let cluster = cluster().await;
    let running = Running::start(&cluster).await;
    cluster.user.create(&foo("nameless", "", 1)).await.unwrap();
    running.controller.queue.add(key("never-existed"));
    settle().await;
    for name in ["nameless", "never-existed"] {
        assert_eq!(running.controller.queue.num_requeues(&key(name)), 0);
    }
    assert!(running.controller.deployments.list(&Query::all()).unwrap().is_empty());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_queue_works_by_itself_with_and_without_delays() {
    let plain = WorkQueue::default();
    let later = WorkQueue::default();
    plain.add(key("a"));
    plain.add(key("a"));
    later.add_after(key("b"), Duration::from_secs(10));
    later.add_after(key("b"), Duration::from_secs(5));
    let job = plain.get().await.unwrap();
    // While it is worked on, a key may be wanted again, but is not handed out.
    plain.add(key("a"));
    assert!(plain.is_empty());
    drop(job);
    assert_eq!(plain.len(), 1);

    let began = tokio::time::Instant::now();
    assert_eq!(*later.get().await.unwrap().key(), key("b"));
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    later.shut_down();
    assert!(later.get().await.is_none());
}
