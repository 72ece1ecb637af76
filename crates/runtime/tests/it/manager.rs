//! Managers on the embedded server: who leads, what stops when, and which error comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Request as HttpRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::client::{Client, Error, Patch};
use kubewright_runtime::controller::{Action, Controller, Request};
use kubewright_runtime::informer::Cache;
use kubewright_runtime::lease::ElectionOptions;
use kubewright_runtime::manager::{Manager, ManagerError, RunContext};
use kubewright_runtime::object::ObjectKey;
use kubewright_runtime::random::Random;
use kubewright_runtime::stop::{Stop, Stopper};
use kubewright_runtime::trace::{Trace, TraceEvent};
use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::support::config_map;

/// A client whose network can be cut: requests hang.
fn cuttable(server: &ApiServer, cut: &Arc<AtomicBool>) -> kube::Client {
    let (plain, cut) = (server.client(), Arc::clone(cut));
    let service = tower::service_fn(move |request: HttpRequest<Body>| {
        let (plain, cut) = (plain.clone(), Arc::clone(&cut));
        async move {
            if cut.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            plain.send(request).await
        }
    });
    kube::Client::new(service, "default")
}

fn election(identity: &str) -> ElectionOptions {
    ElectionOptions {
        identity: Some(identity.to_owned()),
        ..ElectionOptions::new("default", "lock")
    }
}

/// When writes were started, and by whom.
type Writes = Arc<Mutex<Vec<(Instant, String)>>>;

/// Tries to write every 10 ms and notes every attempt that was not refused before it was sent.
async fn write_forever(
    context: RunContext,
    name: String,
    writes: Writes,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let key = ObjectKey::namespaced("default", "target");
    loop {
        let now = Instant::now();
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { "by": name } } }));
        let write = context.client.patch::<ConfigMap>(&key, &patch);
        // A cut network leaves the write hanging; the next one is started anyhow.
        match tokio::time::timeout(Duration::from_millis(1), write).await {
            Ok(Err(Error::Fenced(_))) => {}
            _ => writes.lock().push((now, name.clone())),
        }
        tokio::select! {
            () = context.stop.stopped() => return Ok(()),
            () = tokio::time::sleep(Duration::from_millis(10)) => {}
        }
    }
}

fn writer(name: &str, writes: &Writes) -> Manager {
    let (owned, writes) = (name.to_owned(), Arc::clone(writes));
    Manager::new()
        .random(Random::seeded(u64::from(name.as_bytes()[0])))
        .leader_election(election(name))
        .runnable("writer", move |context: RunContext| {
            write_forever(context, owned, writes)
        })
}

fn start(manager: Manager, kube: kube::Client) -> (Stopper, JoinHandle<Result<(), ManagerError>>) {
    let (stopper, stop) = Stopper::new();
    (stopper, tokio::spawn(manager.run(kube, stop)))
}

fn by<'a>(writes: &'a [(Instant, String)], name: &'a str) -> impl DoubleEndedIterator<Item = Instant> + 'a {
    writes
        .iter()
        .filter(move |(_, writer)| writer == name)
        .map(|(at, _)| *at)
}

#[tokio::test(start_paused = true)]
async fn one_replica_leads_and_the_other_begins_as_soon_as_it_stops() {
    let server = ApiServer::new(Options::new());
    let writes = Writes::default();
    let (first, running) = start(writer("a", &writes), server.client());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (second, waiting) = start(writer("b", &writes), server.client());
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(by(&writes.lock(), "b").count(), 0);
    let stopped = Instant::now();
    first.stop();
    running.await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let began = by(&writes.lock(), "b").next().unwrap();
    assert!(began - stopped < Duration::from_secs(5), "{:?}", began - stopped);
    assert!(by(&writes.lock(), "a").next_back().unwrap() <= stopped);
    second.stop();
    waiting.await.unwrap().unwrap();

    let client = Client::new(server.client(), Cache::default()).live();
    let lease = client
        .get::<Lease>(&ObjectKey::namespaced("default", "lock"))
        .await
        .unwrap();
    let spec = lease.spec.as_ref().unwrap();
    assert_eq!(
        (spec.holder_identity.as_deref(), spec.lease_transitions),
        (Some(""), Some(1))
    );
}

#[tokio::test(start_paused = true)]
async fn a_leader_cut_off_stops_writing_before_another_begins() {
    let server = ApiServer::new(Options::new());
    let (writes, cut) = (Writes::default(), Arc::new(AtomicBool::new(false)));
    let (_first, running) = start(writer("a", &writes), cuttable(&server, &cut));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (_second, _waiting) = start(writer("b", &writes), server.client());
    tokio::time::sleep(Duration::from_secs(20)).await;
    let cut_at = Instant::now();
    cut.store(true, Ordering::Relaxed);
    let error = running.await.unwrap().unwrap_err();
    assert!(error.to_string().starts_with("leader election lost"), "{error}");
    tokio::time::sleep(Duration::from_mins(1)).await;
    let writes = writes.lock();
    let (last, first) = (by(&writes, "a").next_back().unwrap(), by(&writes, "b").next().unwrap());
    assert!(last < first, "both wrote");
    assert!(last - cut_at <= Duration::from_secs(10));
    assert!(first - cut_at < Duration::from_secs(25), "{:?}", first - cut_at);
}

#[tokio::test(start_paused = true)]
async fn a_lease_taken_away_ends_the_leader() {
    let server = ApiServer::new(Options::new());
    let writes = Writes::default();
    let (_stopper, running) = start(writer("a", &writes), server.client());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let client = Client::new(server.client(), Cache::default());
    let patch = Patch::Merge(json!({ "spec": { "holderIdentity": "thief" } }));
    client
        .patch::<Lease>(&ObjectKey::namespaced("default", "lock"), &patch)
        .await
        .unwrap();
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "leader election lost");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_for_a_while_does_not_end_the_leader() {
    let server = ApiServer::new(Options::new());
    let (writes, cut) = (Writes::default(), Arc::new(AtomicBool::new(false)));
    let failing = Arc::clone(&cut);
    let plain = server.client();
    let service = tower::service_fn(move |request: HttpRequest<Body>| {
        let (plain, failing) = (plain.clone(), Arc::clone(&failing));
        async move {
            if failing.load(Ordering::Relaxed) {
                return Err(kube::Error::Service("connection refused".into()));
            }
            plain.send(request).await
        }
    });
    let (stopper, running) = start(writer("a", &writes), kube::Client::new(service, "default"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    cut.store(true, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(6)).await;
    cut.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(!running.is_finished());
    stopper.stop();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_first_failure_stops_all_and_comes_back_with_its_name() {
    let server = ApiServer::new(Options::new());
    let finished = Arc::new(AtomicBool::new(false));
    let manager = Manager::new()
        .runnable("patient", {
            let finished = Arc::clone(&finished);
            move |context: RunContext| async move {
                context.stop.stopped().await;
                tokio::time::sleep(Duration::from_secs(3)).await;
                finished.store(true, Ordering::Relaxed);
                Ok(())
            }
        })
        .runnable_everywhere("broken", |_: RunContext| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Err("no more disk".into())
        });
    let (_stopper, running) = start(manager, server.client());
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "broken failed");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "no more disk");
    assert!(finished.load(Ordering::Relaxed));
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_too() {
    let server = ApiServer::new(Options::new());
    let manager = Manager::new().runnable("bad", |_: RunContext| async { panic!("on purpose") });
    let (_stopper, running) = start(manager, server.client());
    assert_eq!(running.await.unwrap().unwrap_err().to_string(), "bad panicked");
}

#[tokio::test(start_paused = true)]
async fn what_does_not_stop_in_time_is_dropped_and_named() {
    let server = ApiServer::new(Options::new());
    let manager = Manager::new()
        .graceful_shutdown(Duration::from_secs(5))
        .runnable("stubborn", |_: RunContext| std::future::pending());
    let (stopper, running) = start(manager, server.client());
    tokio::time::sleep(Duration::from_secs(1)).await;
    stopper.stop();
    let start = Instant::now();
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "not everything stopped within 5s: stubborn");
    assert_eq!(start.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn controllers_run_with_the_managers_cache_and_count() {
    let server = ApiServer::new(Options::new());
    let reconcile = |controller: Controller| {
        controller.reconcile_with(|context| {
            let client = context.client();
            move |request: Request| {
                let client = client.clone();
                async move {
                    client.get_opt::<ConfigMap>(&request).await?;
                    Ok(Action::done())
                }
            }
        })
    };
    let manager = Manager::new()
        .controller(reconcile(Controller::of::<ConfigMap>()))
        .controller(reconcile(
            Controller::of::<ConfigMap>().named("another").on_every_replica(),
        ));
    let stats = manager.stats();
    let object = serde_json::from_value(json!({ "metadata": { "name": "a", "namespace": "default" } })).unwrap();
    Client::new(server.client(), Cache::default())
        .create::<ConfigMap>(&object)
        .await
        .unwrap();
    let (stopper, running) = start(manager, server.client());
    tokio::time::sleep(Duration::from_secs(1)).await;
    for (name, stats) in stats {
        let snapshot = stats.snapshot();
        assert!(snapshot.success > 0 && snapshot.errors == 0, "{name}: {snapshot:?}");
    }
    stopper.stop();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn mistakes_are_found_before_anything_runs() {
    let server = ApiServer::new(Options::new());
    let idle = || Controller::of::<ConfigMap>().reconcile_with(|_| |_: Request| async { Ok(Action::done()) });
    let run = async |manager: Manager| {
        let (_stopper, stop): (Stopper, Stop) = Stopper::new();
        manager.run(server.client(), stop).await.unwrap_err().to_string()
    };
    assert_eq!(
        run(Manager::new().controller(idle()).controller(idle())).await,
        "two controllers are named \"configmap\"; give one another name with `named`"
    );
    assert_eq!(
        run(Manager::new().controller(Controller::of::<ConfigMap>())).await,
        "controller \"configmap\" has no reconciler; give it one with `reconcile_with`"
    );
    let mut hasty = election("me");
    hasty.renew_deadline = Duration::from_secs(20);
    assert_eq!(
        run(Manager::new().leader_election(hasty)).await,
        "leader election is not possible"
    );
}

#[tokio::test(start_paused = true)]
async fn the_last_reconciles_and_the_queues_are_seen_from_within() {
    let server = ApiServer::new(Options::new());
    let manager = Manager::new().controller(Controller::of::<ConfigMap>().reconcile_with(|_| {
        |request: Request| async move {
            match request.name() {
                "broken" => Err(kubewright_runtime::controller::Failure::message("no")),
                _ => Ok(Action::done()),
            }
        }
    }));
    let trace = Trace::bounded(1 << 20);
    let (page, manager) = (manager.debug_page(), manager.trace(trace.clone()));
    assert_eq!(page.value(), None);
    let user = Client::new(server.client(), Cache::default());
    for number in 0..70 {
        user.create(&config_map(&format!("fine-{number}"))).await.unwrap();
    }
    let (stopper, stop) = Stopper::new();
    let running = tokio::spawn(manager.run(server.client(), stop));
    tokio::time::sleep(Duration::from_millis(1)).await;
    user.create(&config_map("broken")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;

    let records = trace.records();
    let ended: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.event {
            TraceEvent::Ended {
                key, outcome, error, ..
            } if key.namespace() == Some("default") => Some((key.as_str(), outcome.as_str(), error.as_deref())),
            _ => None,
        })
        .collect();
    assert_eq!(ended.len(), 71);
    assert_eq!(ended.last(), Some(&("default/broken", "error", Some("no"))));
    let waiting = page.value().unwrap()["controllers"][0]["waiting"].clone();
    assert_eq!(
        (&waiting["count"], &waiting["first"][0]["key"]),
        (&json!(1), &json!("default/broken"))
    );
    stopper.stop();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_debug_page_has_queues_workers_caches_and_the_trace() {
    let server = ApiServer::new(Options::new());
    let user = Client::new(server.client(), Cache::default());
    // One worker, which never ends with `slow`; all others wait behind it.
    let manager = Manager::new().controller(Controller::of::<ConfigMap>().reconcile_with(|_| {
        |request: Request| async move {
            if request.name() == "slow" {
                std::future::pending::<()>().await;
            }
            Ok(Action::done())
        }
    }));
    let (page, manager) = (manager.debug_page(), manager.trace(Trace::bounded(1 << 20)));
    let (stopper, stop) = Stopper::new();
    let running = tokio::spawn(
        manager
            .graceful_shutdown(Duration::from_secs(1))
            .run(server.client(), stop),
    );
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = page.value().unwrap();
    user.create(&config_map("slow")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    user.create(&config_map("behind")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let last = user.create(&config_map("last")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;

    let page = page.value().unwrap();
    assert_eq!((&page["version"], &page["webhooks"]), (&json!(1), &json!([])));
    let informer = &page["informers"][0];
    let count = |page: &serde_json::Value| page["informers"][0]["objects"].as_u64().unwrap();
    assert_eq!(count(&page), count(&before) + 3);
    let bytes = |page: &serde_json::Value| page["informers"][0]["bytes"].as_u64().unwrap();
    assert!(bytes(&page) > bytes(&before) + 300, "{page}");
    let revision: u64 = last.metadata.resource_version.unwrap().parse().unwrap();
    assert_eq!(informer["lastEvent"]["revision"], json!(revision));
    assert!(informer["revision"].as_u64().unwrap() >= revision);
    let seconds = |value: &serde_json::Value| value.as_f64().unwrap().round() as u64;
    assert_eq!(seconds(&informer["lastEvent"]["secondsAgo"]), 3);
    let controller = &page["controllers"][0];
    assert_eq!((&controller["workers"], &controller["busy"]), (&json!(1), &json!(1)));
    let running_now = &controller["running"];
    assert_eq!(
        (&running_now[0]["key"], &running_now[0]["again"]),
        (&json!("default/slow"), &json!(false))
    );
    assert_eq!(seconds(&running_now[0]["forSeconds"]), 6);
    let ready = &controller["ready"];
    assert_eq!(
        (&ready["count"], &ready["first"][0]["key"]),
        (&json!(2), &json!("default/behind"))
    );
    assert_eq!(seconds(&ready["oldestSeconds"]), 5);
    assert_eq!(controller["reconciles"]["success"], json!(count(&before)));
    let records = page["trace"]["records"].as_u64().unwrap();
    assert!(records > 4 * count(&before), "{page}");
    stopper.stop();
    // `slow` never ends.
    assert!(running.await.unwrap().is_err());
}
