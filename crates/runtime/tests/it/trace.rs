//! What a trace has of a running operator, and what it must not have.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, ServiceAccount};
use kube::api::{Api, DeleteParams, PostParams};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::client::Client;
use kubewright_runtime::controller::{Action, Context, Controller, Failure, Request, Trigger};
use kubewright_runtime::manager::Manager;
use kubewright_runtime::object::{ObjectKey, View};
use kubewright_runtime::stop::Stopper;
use kubewright_runtime::trace::{Cause, Follower, Found, ReconcileId, Trace, TraceEvent, TraceRecord};
use serde_json::json;

struct Running {
    stopper: Stopper,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    fn start(manager: Manager, server: &ApiServer) -> Self {
        let (stopper, stop) = Stopper::new();
        let running = manager.run(server.client(), stop);
        let task = tokio::spawn(async move { running.await.unwrap() });
        Running { stopper, task }
    }

    async fn stop(self) {
        self.stopper.stop();
        self.task.await.unwrap();
    }
}

/// Reads on until something is recorded of the reconciles of an object; what it was, in a word.
struct Told {
    follower: Follower,
    records: Vec<Arc<TraceRecord>>,
}

impl Told {
    async fn next(&mut self, name: &str) -> String {
        loop {
            if self.records.is_empty() {
                self.records = self.follower.next().await;
            }
            let (key, word) = match &self.records.remove(0).event {
                TraceEvent::Queued { key, cause, .. } => (
                    key.clone(),
                    match cause {
                        Cause::Object(change) => format!("{} {}", change.kind.kind(), change.change.as_str()),
                        Cause::Source => "source".to_owned(),
                        Cause::Again(outcome) => format!("again after {}", outcome.as_str()),
                    },
                ),
                TraceEvent::Began { key, .. } => (key.clone(), "began".to_owned()),
                TraceEvent::Ended { key, outcome, .. } => (key.clone(), format!("ended in {}", outcome.as_str())),
                _ => continue,
            };
            if key.name() == name {
                return word;
            }
        }
    }
}

fn config_maps(server: &ApiServer) -> Api<ConfigMap> {
    Api::default_namespaced(server.client())
}

async fn create_map(server: &ApiServer, name: &str) {
    let map = serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
    config_maps(server).create(&PostParams::default(), &map).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn every_cause_stands_before_the_reconcile_it_leads_to() {
    let server = ApiServer::new(Options::new());
    // The first reconcile of an object fails, the others succeed.
    let controller = Controller::of::<ConfigMap>().reconcile_with(|_| {
        let failed = std::sync::atomic::AtomicBool::new(false);
        move |request: Request| {
            let fails = request.name() == "a" && !failed.swap(true, std::sync::atomic::Ordering::Relaxed);
            async move {
                if fails {
                    return Err(Failure::message("not yet"));
                }
                Ok(Action::done())
            }
        }
    });
    let trace = Trace::bounded(1 << 20);
    let mut told = Told {
        follower: trace.follow(),
        records: Vec::new(),
    };
    let running = Running::start(Manager::new().controller(controller).trace(trace), &server);
    create_map(&server, "a").await;
    let first = told.next("a").await;
    assert!(first == "ConfigMap created" || first == "ConfigMap listed", "{first}");
    for expected in [
        "began",
        "again after error",
        "ended in error",
        "began",
        "ended in success",
    ] {
        assert_eq!(told.next("a").await, expected);
    }
    config_maps(&server)
        .delete("a", &DeleteParams::default())
        .await
        .unwrap();
    for expected in ["ConfigMap deleted", "began", "ended in success"] {
        assert_eq!(told.next("a").await, expected);
    }
    assert_eq!(told.follower.missed(), 0);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_source_is_a_cause_too() {
    let server = ApiServer::new(Options::new());
    let controller = Controller::of::<Namespace>()
        .source(|trigger: Trigger, _| async move {
            trigger.wake(ObjectKey::cluster("elsewhere"));
        })
        .reconcile_with(|_| |_: Request| async { Ok(Action::done()) });
    let trace = Trace::bounded(1 << 20);
    let mut told = Told {
        follower: trace.follow(),
        records: Vec::new(),
    };
    let running = Running::start(Manager::new().controller(controller).trace(trace), &server);
    for expected in ["source", "began", "ended in success"] {
        assert_eq!(told.next("elsewhere").await, expected);
    }
    running.stop().await;
}

/// Each `ConfigMap` gets a Secret of its name, and says in its data how many it has.
async fn secrets(context: Context, map: View<ConfigMap>) -> Result<Action, Failure> {
    let client = context.client();
    tracing::info!(map = %map.key(), "looking");
    if client.get_opt::<Secret>(map.key()).await?.is_none() {
        let mut secret = Secret::default();
        secret.metadata.namespace = map.metadata.namespace.clone();
        secret.metadata.name = map.metadata.name.clone();
        secret.string_data = Some([("password".to_owned(), "sesame".to_owned())].into());
        client.create(&secret).await?;
        let mut changed = map.into_owned();
        changed.data = Some([("secrets".to_owned(), "1".to_owned())].into());
        client.update(&changed).await?;
        // Past the client, and from a task that the trace does not know.
        let direct = Api::<ConfigMap>::namespaced(client.kube().clone(), "default");
        direct
            .get("a")
            .await
            .map_err(|error| Failure::message(error.to_string()))?;
        let elsewhere: Client = client.clone();
        let spawned = tokio::spawn(async move {
            elsewhere
                .live()
                .get_opt::<ConfigMap>(&ObjectKey::namespaced("default", "none"))
                .await
        });
        spawned.await.map_err(|error| Failure::message(error.to_string()))??;
    }
    Ok(Action::done())
}

async fn traced_secrets(server: &ApiServer) -> (Trace, Vec<Arc<TraceRecord>>) {
    let controller = Controller::of::<ConfigMap>()
        .reads::<Secret>()
        .reconcile_objects(secrets);
    let trace = Trace::bounded(1 << 20);
    let running = Running::start(Manager::new().controller(controller).trace(trace.clone()), server);
    tokio::time::sleep(Duration::from_secs(1)).await;
    create_map(server, "a").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    running.stop().await;
    let records = trace.records();
    (trace, records)
}

/// The records of the first reconcile of `a`.
fn of_first(records: &[Arc<TraceRecord>]) -> (ReconcileId, Vec<&TraceEvent>) {
    let began = records
        .iter()
        .find(|record| matches!(&record.event, TraceEvent::Began { key, .. } if key.name() == "a"));
    let id = began.unwrap().reconcile.unwrap();
    let own = records.iter().filter(|record| record.reconcile == Some(id));
    (id, own.map(|record| &record.event).collect())
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_has_what_it_read_asked_for_and_logged() {
    let server = ApiServer::new(Options::new());
    let (_, records) = traced_secrets(&server).await;
    let (_, own) = of_first(&records);
    let words: Vec<String> = own
        .iter()
        .map(|event| match event {
            TraceEvent::Began { .. } => "began".to_owned(),
            TraceEvent::Read(read) => match read.found {
                Found::Nothing => format!("no {}", read.kind.kind()),
                Found::Object(revision) => format!("{} at {}", read.kind.kind(), revision.is_some()),
                Found::Objects(count) => format!("{count} of {}", read.kind.kind()),
            },
            TraceEvent::Called(call) => {
                let changes: Vec<_> = call.changes.iter().map(ToString::to_string).collect();
                format!("{call} [{}]", changes.join(", "))
            }
            TraceEvent::Logged(line) => format!("{} {}", line.level, line.message),
            TraceEvent::Ended { outcome, .. } => format!("ended in {}", outcome.as_str()),
            other => format!("{other:?}"),
        })
        .collect();
    let expected = [
        "began",
        "ConfigMap at true",
        "INFO looking map=default/a",
        "no Secret",
        "create Secret in namespace default: 201 []",
        "update ConfigMap default/a: 200 [data from null to {\"secrets\":\"1\"}]",
        "get /api/v1/namespaces/default/configmaps/a: 200 []",
        "ended in success",
    ];
    assert_eq!(words, expected);
    let unattributed = records.iter().any(|record| {
        record.reconcile.is_none()
            && matches!(&record.event, TraceEvent::Called(call) if call.target == "ConfigMap default/none")
    });
    assert!(unattributed, "a task that was spawned has no reconcile");
}

#[tokio::test(start_paused = true)]
async fn causes_name_the_revision_that_the_cache_learned_of_before() {
    let server = ApiServer::new(Options::new());
    let (_, records) = traced_secrets(&server).await;
    let mut causes = 0;
    for (at, record) in records.iter().enumerate() {
        if let TraceEvent::Queued {
            cause: Cause::Object(change),
            ..
        } = &record.event
        {
            let observed = records[..at]
                .iter()
                .any(|earlier| earlier.event == TraceEvent::Observed(change.clone()));
            assert!(observed, "{change:?}");
            causes += 1;
        }
    }
    assert!(causes >= 2, "{causes}");
}

#[tokio::test(start_paused = true)]
async fn no_record_has_the_contents_of_a_secret() {
    let server = ApiServer::new(Options::new());
    let (trace, records) = traced_secrets(&server).await;
    let text = serde_json::to_string(&records.iter().map(|record| &**record).collect::<Vec<_>>()).unwrap();
    assert!(!text.contains("sesame") && !text.contains("c2VzYW1l"), "{text}");
    assert!(
        text.contains("\"password\":\\\"(redacted)\\\"") || text.contains("(redacted)"),
        "{text}"
    );
    assert!(!format!("{trace:?} {records:?}").contains("sesame"));
}

#[tokio::test(start_paused = true)]
async fn no_record_has_a_token_that_was_asked_for() {
    let server = ApiServer::new(Options::new());
    let accounts: Api<ServiceAccount> = Api::default_namespaced(server.client());
    let account = serde_json::from_value(json!({ "metadata": { "name": "robot" } })).unwrap();
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let tokens = Arc::new(std::sync::Mutex::new(Vec::new()));
    let given = Arc::clone(&tokens);
    let controller =
        Controller::of::<ServiceAccount>().reconcile_objects(move |context: Context, account: View<ServiceAccount>| {
            let given = Arc::clone(&given);
            async move {
                let client = context.client();
                let asked = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
                let subresource = client.of::<ServiceAccount>().subresource("token");
                let answer: TokenRequest = subresource.create_as(account.key(), &asked).await?;
                given.lock().unwrap().push(answer.status.unwrap().token.unwrap());
                Ok(Action::done())
            }
        });
    let trace = Trace::bounded(1 << 20);
    let running = Running::start(Manager::new().controller(controller).trace(trace.clone()), &server);
    tokio::time::sleep(Duration::from_secs(1)).await;
    running.stop().await;
    let tokens = tokens.lock().unwrap().clone();
    assert!(!tokens.is_empty());
    let text = format!("{:?}", trace.records());
    assert!(text.contains("ServiceAccount/token"), "{text}");
    // The beginning is the same for all tokens, and is kept out like the rest.
    assert!(tokens.iter().all(|token| !text.contains(&token[..20])), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_trace_stays_within_its_bytes_and_a_late_reader_is_told() {
    let server = ApiServer::new(Options::new());
    let controller = Controller::of::<ConfigMap>().reconcile_with(|_| |_: Request| async { Ok(Action::done()) });
    let trace = Trace::bounded(4096);
    let mut late = trace.follow();
    let running = Running::start(Manager::new().controller(controller).trace(trace.clone()), &server);
    for number in 0..50 {
        create_map(&server, &format!("map-{number}")).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    running.stop().await;
    assert!(
        trace.bytes() <= 4096 && trace.forgotten() > 0,
        "{} {}",
        trace.bytes(),
        trace.forgotten()
    );
    let read = late.next().await;
    assert_eq!(
        (late.missed(), read[0].sequence),
        (trace.forgotten(), trace.forgotten())
    );
}

#[test]
fn a_trace_that_is_off_has_nothing() {
    let trace = Trace::off();
    assert!(!trace.is_on() && trace.records().is_empty());
    assert_eq!(
        (trace.bytes(), trace.forgotten(), trace.elapsed()),
        (0, 0, Duration::ZERO)
    );
}
