//! Controllers on the embedded server: what wakes them, in which order, and what happens when they fail.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::helpers::{set_controller_reference, set_owner_reference};
use kubewright_runtime::client::{Client, Patch};
use kubewright_runtime::controller::{
    Action, Controller, ControllerStats, Environment, Failure, Predicate, Request, Watch,
};
use kubewright_runtime::events::EventRecorder;
use kubewright_runtime::informer::{Cache, CacheTasks, Declarations};
use kubewright_runtime::metrics::Registry;
use kubewright_runtime::object::ObjectKey;
use kubewright_runtime::random::Random;
use kubewright_runtime::stop::Stopper;
use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Objects of the tests are those in this namespace.
const NAMESPACE: &str = "default";

type Log = Arc<Mutex<Vec<String>>>;

struct Running {
    client: Client,
    stats: ControllerStats,
    stopper: Stopper,
    controller: JoinHandle<()>,
    _tasks: CacheTasks,
}

impl Running {
    async fn stop(self) {
        self.stopper.stop();
        self.controller.await.unwrap();
    }
}

impl Drop for Env {
    fn drop(&mut self) {
        self.log.lock().clear();
    }
}

struct Env {
    server: ApiServer,
    /// Writes, reads live.
    client: Client,
    log: Log,
}

impl Env {
    fn new() -> Self {
        let server = ApiServer::new(Options::new());
        let client = Client::new(server.client(), Cache::default()).live();
        Env {
            server,
            client,
            log: Log::default(),
        }
    }

    fn run(&self, controller: Controller) -> Running {
        let mut declarations = Declarations::default();
        controller.declare(&mut declarations);
        declarations.namespaces([NAMESPACE]);
        let cache = Cache::new(declarations).unwrap();
        let random = Random::seeded(1);
        let tasks = cache.start(&self.server.client(), &random);
        let (stopper, stop) = Stopper::new();
        let stats = ControllerStats::default();
        let client = Client::new(self.server.client(), cache);
        let environment = Environment {
            registry: Registry::new(),
            client: client.clone(),
            random,
            stop,
            stats: stats.clone(),
            events: EventRecorder::discarding(),
            trace: kubewright_runtime::trace::Trace::off(),
        };
        Running {
            client,
            stats,
            stopper,
            controller: tokio::spawn(async move { controller.run(environment).await.unwrap() }),
            _tasks: tasks,
        }
    }

    /// A reconciler that writes down whom it was called for.
    fn logging(&self, controller: Controller) -> Controller {
        let log = Arc::clone(&self.log);
        controller.reconcile_with(move |_| {
            let log = Arc::clone(&log);
            move |request: Request| {
                log.lock().push(request.name().to_owned());
                async { Ok(Action::done()) }
            }
        })
    }

    fn logged(&self) -> Vec<String> {
        let mut logged: Vec<_> = std::mem::take(&mut *self.log.lock());
        logged.retain(|name| name != "kube-root-ca.crt");
        logged
    }

    async fn create(&self, name: &str) -> ConfigMap {
        self.client.create(&config_map(name)).await.unwrap()
    }

    async fn touch(&self, name: &str) {
        let patch = Patch::Merge(json!({ "data": { "touched": format!("{:?}", Instant::now()) } }));
        self.client.patch::<ConfigMap>(&key(name), &patch).await.unwrap();
    }
}

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name, "namespace": NAMESPACE }, "data": { "key": "value" } }))
        .unwrap()
}

fn secret(name: &str) -> Secret {
    serde_json::from_value(json!({ "metadata": { "name": name, "namespace": NAMESPACE } })).unwrap()
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced(NAMESPACE, name)
}

async fn settle() {
    tokio::time::sleep(Duration::from_millis(100)).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_there_is_reconciled_in_order_and_what_comes_is_too() {
    let env = Env::new();
    for name in ["a", "b", "c", "d", "e"] {
        env.create(name).await;
    }
    let _running = env.run(env.logging(Controller::of::<ConfigMap>()));
    settle().await;
    assert_eq!(env.logged(), ["a", "b", "c", "d", "e"]);
    env.touch("d").await;
    env.create("f").await;
    env.touch("b").await;
    settle().await;
    assert_eq!(env.logged(), ["d", "f", "b"]);
    env.client.delete::<ConfigMap>(&key("a")).await.unwrap();
    settle().await;
    assert_eq!(env.logged(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn children_are_created_once_and_own_writes_are_seen() {
    let env = Env::new();
    for number in 0..100 {
        env.create(&format!("owner-{number}")).await;
    }
    let controller = Controller::of::<ConfigMap>()
        .owns::<Secret>()
        .max_concurrent_reconciles(4)
        .reconcile_objects::<ConfigMap, _>(|context, owner| async move {
            let client = context.client();
            let mut child = secret(owner.key().name());
            // A stale cache would make this fail with `already exists`: every creation wakes the owner again at once.
            if client.get_opt::<Secret>(&key(owner.key().name())).await?.is_none() {
                set_controller_reference(&*owner, &mut child).map_err(Failure::terminal)?;
                client.create(&child).await?;
            }
            Ok(Action::done())
        });
    let running = env.run(controller);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let secrets = env
        .client
        .list::<Secret>(&Query::all().in_namespace(NAMESPACE))
        .await
        .unwrap();
    assert_eq!(
        secrets
            .iter()
            .filter(|secret| secret.key().name().starts_with("owner-"))
            .count(),
        100
    );
    let snapshot = running.stats.snapshot();
    assert_eq!((snapshot.errors, snapshot.last_error), (0, None));

    // A deleted child comes back.
    env.client.delete::<Secret>(&key("owner-7")).await.unwrap();
    settle().await;
    assert!(env.client.get_opt::<Secret>(&key("owner-7")).await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_removed_owner_reference_wakes_the_former_owner() {
    let env = Env::new();
    let (old, new) = (env.create("old").await, env.create("new").await);
    let mut child = secret("child");
    set_controller_reference(&old, &mut child).unwrap();
    let mut child = env.client.create(&child).await.unwrap();
    let _running = env.run(env.logging(Controller::of::<ConfigMap>().owns::<Secret>()));
    settle().await;
    env.logged();
    child.metadata.owner_references = None;
    set_controller_reference(&new, &mut child).unwrap();
    let mut child = env.client.update(&child).await.unwrap();
    settle().await;
    assert_eq!(env.logged(), ["new", "old"]);
    child.metadata.owner_references = None;
    env.client.update(&child).await.unwrap();
    settle().await;
    assert_eq!(env.logged(), ["new"]);
}

#[tokio::test(start_paused = true)]
async fn plain_owners_are_woken_only_if_asked_for() {
    let env = Env::new();
    let owner = env.create("owner").await;
    let strict = env.run(env.logging(Controller::of::<ConfigMap>().owns::<Secret>()));
    settle().await;
    env.logged();
    let mut child = secret("child");
    set_owner_reference(&owner, &mut child).unwrap();
    env.client.create(&child).await.unwrap();
    settle().await;
    assert_eq!(env.logged(), [] as [&str; 0]);
    strict.stop().await;
    let _running = env.run(
        env.logging(
            Controller::of::<ConfigMap>()
                .of_when(Predicate::new(|_| false))
                .watch(Watch::owned::<Secret>().any_owner()),
        ),
    );
    settle().await;
    assert_eq!(env.logged(), ["owner"]);
}

#[tokio::test(start_paused = true)]
async fn other_objects_wake_whom_a_function_says() {
    let env = Env::new();
    env.create("a").await;
    let controller = Controller::of::<ConfigMap>()
        .of_when(Predicate::new(|_| false))
        .watches::<Secret>(|secret| vec![key(secret.metadata.name.as_deref().unwrap_or_default()).into()])
        .watches_with::<Secret, _>(|client, secret| async move {
            // All objects that are known, read from the cache.
            let all = client
                .list::<ConfigMap>(&Query::all().in_namespace(NAMESPACE))
                .await
                .unwrap_or_default();
            let named = all.iter().filter(|object| object.metadata.name != secret.metadata.name);
            named.map(|object| object.key().clone().into()).collect()
        });
    let _running = env.run(env.logging(controller));
    settle().await;
    env.client.create(&secret("s")).await.unwrap();
    settle().await;
    let mut logged = env.logged();
    logged.sort();
    assert_eq!(logged, ["a", "s"]);
}

#[tokio::test(start_paused = true)]
async fn events_that_do_not_pass_wake_nobody() {
    let env = Env::new();
    env.create("a").await;
    let _running = env.run(env.logging(Controller::of::<ConfigMap>().when(Predicate::labels_changed())));
    settle().await;
    env.logged();
    env.touch("a").await;
    settle().await;
    assert_eq!(env.logged(), [] as [&str; 0]);
    let patch = Patch::Merge(json!({ "metadata": { "labels": { "x": "y" } } }));
    env.client.patch::<ConfigMap>(&key("a"), &patch).await.unwrap();
    settle().await;
    assert_eq!(env.logged(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_panicking_reconcile_is_a_failure_and_harms_nobody_else() {
    let env = Env::new();
    env.create("bad").await;
    env.create("good").await;
    let log = Arc::clone(&env.log);
    let controller = Controller::of::<ConfigMap>().reconcile_with(move |_| {
        let log = Arc::clone(&log);
        move |request: Request| {
            let log = Arc::clone(&log);
            async move {
                let attempts = log.lock().iter().filter(|name| *name == request.name()).count();
                log.lock().push(request.name().to_owned());
                assert!(request.name() != "bad" || attempts >= 3, "on purpose");
                Ok(Action::done())
            }
        }
    });
    let running = env.run(controller);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(env.logged(), ["bad", "good", "bad", "bad", "bad"]);
    let snapshot = running.stats.snapshot();
    assert_eq!((snapshot.panics, snapshot.errors), (3, 3));
    assert_eq!(
        snapshot.last_error.as_deref(),
        Some("default/bad: panic: on purpose [recovered]")
    );
}

#[tokio::test(start_paused = true)]
async fn failures_back_off_and_success_ends_that() {
    let env = Env::new();
    env.create("a").await;
    let times = Arc::new(Mutex::new(Vec::new()));
    let controller = Controller::of::<ConfigMap>().of_when(Predicate::object::<ConfigMap>(|object| {
        object.metadata.name.as_deref() == Some("a")
    }));
    let controller = controller.reconcile_with({
        let times = Arc::clone(&times);
        move |_| {
            let times = Arc::clone(&times);
            move |_: Request| {
                let mut times = times.lock();
                times.push(Instant::now());
                let failed = times.len() < 6;
                async move {
                    if failed {
                        Err(Failure::message("not yet"))
                    } else {
                        Ok(Action::done())
                    }
                }
            }
        }
    });
    let _running = env.run(controller);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let delays: Vec<_> = times
        .lock()
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_millis())
        .collect();
    // Timers of tokio are rounded up to whole milliseconds.
    for (delay, wanted) in delays.iter().zip([5, 10, 20, 40, 80]) {
        assert!((wanted..=wanted + 1).contains(delay), "{delays:?}");
    }
    assert_eq!(delays.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_terminal_failure_is_not_tried_again_until_something_happens() {
    let env = Env::new();
    env.create("a").await;
    let calls = Arc::new(AtomicUsize::new(0));
    let controller = Controller::of::<ConfigMap>()
        .of_when(Predicate::object::<ConfigMap>(|object| {
            object.metadata.name.as_deref() == Some("a")
        }))
        .reconcile_with({
            let calls = Arc::clone(&calls);
            move |_| {
                let calls = Arc::clone(&calls);
                move |_: Request| {
                    calls.fetch_add(1, Ordering::Relaxed);
                    async { Err(Failure::terminal("the specification makes no sense")) }
                }
            }
        });
    let running = env.run(controller);
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    env.touch("a").await;
    settle().await;
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert_eq!(running.stats.snapshot().terminal_errors, 2);
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_takes_too_long_is_dropped_and_tried_again() {
    let env = Env::new();
    env.create("slow").await;
    let controller = Controller::of::<ConfigMap>().reconcile_timeout(Duration::from_secs(5));
    let log = Arc::clone(&env.log);
    let controller = controller.reconcile_with(move |_| {
        let log = Arc::clone(&log);
        move |request: Request| {
            let first = !log.lock().contains(&request.name().to_owned());
            log.lock().push(request.name().to_owned());
            async move {
                if first && request.name() == "slow" {
                    std::future::pending::<()>().await;
                }
                Ok(Action::done())
            }
        }
    });
    let running = env.run(controller);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(env.logged(), ["slow", "slow"]);
    let snapshot = running.stats.snapshot();
    assert_eq!((snapshot.timeouts, snapshot.active), (1, 0));
    assert_eq!(
        snapshot.last_error.as_deref(),
        Some("default/slow: the reconcile took longer than 5s")
    );
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_can_ask_to_be_called_again_later() {
    let env = Env::new();
    env.create("a").await;
    let log = Arc::clone(&env.log);
    let controller = Controller::of::<ConfigMap>().reconcile_with(move |_| {
        let log = Arc::clone(&log);
        move |request: Request| {
            log.lock().push(request.name().to_owned());
            async { Ok(Action::requeue_after(Duration::from_mins(10))) }
        }
    });
    let running = env.run(controller);
    tokio::time::sleep(Duration::from_secs(3000 + 5)).await;
    assert_eq!(env.logged().len(), 6);
    // What happens meanwhile does not wait.
    env.touch("a").await;
    settle().await;
    assert_eq!(env.logged(), ["a"]);
    assert_eq!(running.stats.snapshot().errors, 0);
}

#[tokio::test(start_paused = true)]
async fn many_objects_are_reconciled_at_once_but_never_one_twice() {
    let env = Env::new();
    for number in 0..20 {
        env.create(&format!("object-{number}")).await;
    }
    let active: Arc<Mutex<BTreeMap<Request, usize>>> = Arc::default();
    let most = Arc::new(AtomicUsize::new(0));
    let controller = Controller::of::<ConfigMap>()
        .max_concurrent_reconciles(8)
        .reconcile_with({
            let (active, most) = (Arc::clone(&active), Arc::clone(&most));
            move |_| {
                let (active, most) = (Arc::clone(&active), Arc::clone(&most));
                move |request: Request| {
                    let (active, most) = (Arc::clone(&active), Arc::clone(&most));
                    async move {
                        {
                            let mut active = active.lock();
                            assert_eq!(active.insert(request.clone(), 1), None, "twice at once");
                            most.fetch_max(active.len(), Ordering::Relaxed);
                        }
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        active.lock().remove(&request);
                        Ok(Action::done())
                    }
                }
            }
        });
    let running = env.run(controller);
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        env.touch("object-3").await;
        env.touch("object-4").await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(most.load(Ordering::Relaxed), 8);
    assert_eq!(running.stats.snapshot().panics, 0);
}

#[tokio::test(start_paused = true)]
async fn what_happens_goes_before_what_was_there() {
    let env = Env::new();
    for number in 0..50 {
        env.create(&format!("old-{number:02}")).await;
    }
    let log = Arc::clone(&env.log);
    let controller = Controller::of::<ConfigMap>().reconcile_with(move |_| {
        let log = Arc::clone(&log);
        move |request: Request| {
            log.lock().push(request.name().to_owned());
            async {
                tokio::time::sleep(Duration::from_millis(10)).await;
                Ok(Action::done())
            }
        }
    });
    let _running = env.run(controller);
    tokio::time::sleep(Duration::from_millis(105)).await;
    env.create("new").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let logged = env.logged();
    let place = logged.iter().position(|name| name == "new").unwrap();
    assert!((8..15).contains(&place), "{place}");
    assert_eq!(logged.len(), 51);
}

#[tokio::test(start_paused = true)]
async fn anything_can_wake_a_controller() {
    let env = Env::new();
    env.create("a").await;
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<Request>();
    let stream = futures_util::stream::unfold(receiver, |mut receiver| async move {
        let request = receiver.recv().await?;
        Some((request, receiver))
    });
    let controller = Controller::of::<ConfigMap>()
        .of_when(Predicate::new(|_| false))
        .source(|trigger, _| async move {
            tokio::time::sleep(Duration::from_secs(10)).await;
            trigger.wake(key("from-a-timer"));
        })
        .stream(stream)
        .every(Duration::from_secs(100));
    let _running = env.run(env.logging(controller));
    settle().await;
    sender.send(key("from-a-channel").into()).unwrap();
    settle().await;
    assert_eq!(env.logged(), ["from-a-channel"]);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(env.logged(), ["from-a-timer"]);
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(env.logged(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn stopping_finishes_what_is_under_way_and_begins_nothing_new() {
    let env = Env::new();
    env.create("a").await;
    env.create("b").await;
    let log = Arc::clone(&env.log);
    let controller = Controller::of::<ConfigMap>().reconcile_with(move |_| {
        let log = Arc::clone(&log);
        move |request: Request| {
            let log = Arc::clone(&log);
            async move {
                tokio::time::sleep(Duration::from_secs(10)).await;
                log.lock().push(request.name().to_owned());
                Ok(Action::done())
            }
        }
    });
    let running = env.run(controller);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let start = Instant::now();
    running.stop().await;
    assert_eq!(start.elapsed().as_secs(), 9);
    assert_eq!(env.logged(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_reconciler_reads_only_what_is_declared() {
    let env = Env::new();
    env.create("a").await;
    let controller = Controller::of::<ConfigMap>().reconcile_objects::<ConfigMap, _>(|context, _| async move {
        context.client().list::<Secret>(&Query::all()).await?;
        Ok(Action::done())
    });
    let running = env.run(controller);
    settle().await;
    let error = running.stats.snapshot().last_error.unwrap();
    assert!(error.contains("add `.owns::<Secret>()`"), "{error}");
    let fields: Vec<_> = running
        .client
        .cache()
        .informers()
        .map(|informer| informer.store().kind().to_string())
        .collect();
    assert_eq!(fields, ["ConfigMap"]);
}
