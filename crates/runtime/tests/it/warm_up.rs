//! Standby replicas: what is ready before they lead, and what waits until then.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::client::{Client, Error, Patch};
use kubewright_runtime::controller::{Action, Controller, Request, Trigger};
use kubewright_runtime::informer::Cache;
use kubewright_runtime::lease::ElectionOptions;
use kubewright_runtime::manager::{Manager, ManagerError};
use kubewright_runtime::object::ObjectKey;
use kubewright_runtime::stop::Stopper;
use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// What a replica did: which sources ran, what they were told when they wrote, and when what was reconciled.
#[derive(Clone, Default)]
struct Replica {
    sources: Arc<AtomicUsize>,
    refused: Arc<AtomicUsize>,
    reconciled: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl Replica {
    fn source(&self) -> impl Fn(Trigger, Client) -> std::future::Ready<()> + Send + Sync + 'static {
        let (sources, refused) = (Arc::clone(&self.sources), Arc::clone(&self.refused));
        move |trigger, client| {
            sources.fetch_add(1, Ordering::Relaxed);
            let refused = Arc::clone(&refused);
            tokio::spawn(async move {
                let patch = Patch::Merge(json!({ "metadata": { "labels": { "written": "yes" } } }));
                let written = client.patch::<Namespace>(&ObjectKey::cluster("default"), &patch).await;
                if matches!(written, Err(Error::Fenced(_))) {
                    refused.fetch_add(1, Ordering::Relaxed);
                }
            });
            trigger.wake(ObjectKey::namespaced("elsewhere", "from-the-source"));
            std::future::ready(())
        }
    }

    fn controller(&self) -> Controller {
        let reconciled = Arc::clone(&self.reconciled);
        Controller::of::<ConfigMap>()
            .source(self.source())
            .reconcile_with(move |_| {
                let reconciled = Arc::clone(&reconciled);
                move |request: Request| {
                    reconciled.lock().push((Instant::now(), request.to_string()));
                    async { Ok(Action::done()) }
                }
            })
    }

    fn start(&self, server: &ApiServer, identity: &str, warm: bool) -> (Stopper, JoinHandle<Result<(), ManagerError>>) {
        let controller = if warm {
            self.controller().warm_up()
        } else {
            self.controller()
        };
        let manager = Manager::new().controller(controller).leader_election(ElectionOptions {
            identity: Some(identity.to_owned()),
            ..ElectionOptions::new("default", "lock")
        });
        let (stopper, stop) = Stopper::new();
        (stopper, tokio::spawn(manager.run(server.client(), stop)))
    }
}

async fn cluster_with_ten() -> ApiServer {
    let server = ApiServer::new(Options::new());
    let user = Client::new(server.client(), Cache::default()).live();
    for number in 0..10 {
        let object: ConfigMap = serde_json::from_value(json!({
            "metadata": { "name": format!("settings-{number}"), "namespace": "default" },
        }))
        .unwrap();
        user.create(&object).await.unwrap();
    }
    server
}

#[tokio::test(start_paused = true)]
async fn a_warm_replica_fills_its_queue_reconciles_nothing_and_writes_nothing_before_it_leads() {
    let server = cluster_with_ten().await;
    let (leader, warm, cold) = (Replica::default(), Replica::default(), Replica::default());
    let (first, leading) = leader.start(&server, "a", true);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(leader.reconciled.lock().len() >= 11);

    let (second, waiting) = warm.start(&server, "b", true);
    tokio::time::sleep(Duration::from_mins(1)).await;
    let (third, idle) = cold.start(&server, "c", false);
    tokio::time::sleep(Duration::from_mins(5)).await;
    // Its source ran, though whatever it writes is refused; a cold one does not begin.
    assert_eq!(warm.sources.load(Ordering::Relaxed), 1);
    assert_eq!(warm.refused.load(Ordering::Relaxed), 1);
    assert_eq!(cold.sources.load(Ordering::Relaxed), 0);
    assert!(warm.reconciled.lock().is_empty());

    // Everything is reconciled as soon as it leads, also what the source said minutes before.
    third.stop();
    idle.await.unwrap().unwrap();
    let stopped = Instant::now();
    first.stop();
    leading.await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let done = warm.reconciled.lock().clone();
    assert!(done.iter().any(|(_, request)| request == "elsewhere/from-the-source"));
    assert!(done.len() >= 11, "{done:?}");
    assert!(done.iter().all(|(at, _)| *at >= stopped));
    second.stop();
    waiting.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_warm_replica_that_never_leads_stops_when_it_is_asked_to() {
    let server = cluster_with_ten().await;
    let (leader, warm) = (Replica::default(), Replica::default());
    let (first, leading) = leader.start(&server, "a", false);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (second, waiting) = warm.start(&server, "b", true);
    tokio::time::sleep(Duration::from_secs(30)).await;
    let before = Instant::now();
    second.stop();
    waiting.await.unwrap().unwrap();
    assert!(before.elapsed() < Duration::from_secs(1));
    assert!(warm.reconciled.lock().is_empty());
    first.stop();
    leading.await.unwrap().unwrap();
}
