//! What a trace has of a running operator, and what it must not have.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, ServiceAccount};
use kube::api::{Api, DeleteParams, PostParams};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::{Client, FieldValidation, Patch};
use kubewright_runtime::controller::{Action, Context, Controller, Failure, Request, Trigger};
use kubewright_runtime::manager::Manager;
use kubewright_runtime::object::{ObjectKey, View};
use kubewright_runtime::stop::Stopper;
use kubewright_runtime::trace::{
    ApiCall, CacheRead, Cause, Follower, Found, ReadTarget, ReconcileId, Trace, TraceEvent, TraceRecord,
};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

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
    // The first reconciles of an object fail, the others succeed.
    let controller = Controller::of::<ConfigMap>().reconcile_with(|_| {
        let attempts = AtomicUsize::new(0);
        move |request: Request| {
            let fails = request.name() == "a" && attempts.fetch_add(1, Ordering::Relaxed) < 3;
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
    let running = Running::start(Manager::new().controller(controller).trace(trace.clone()), &server);
    create_map(&server, "a").await;
    let first = told.next("a").await;
    assert!(first == "ConfigMap created" || first == "ConfigMap listed", "{first}");
    for _ in 0..3 {
        for expected in ["began", "again after error", "ended in error"] {
            assert_eq!(told.next("a").await, expected);
        }
    }
    for expected in ["began", "ended in success"] {
        assert_eq!(told.next("a").await, expected);
    }
    let records = trace.records();
    let delays = records.iter().filter_map(|record| match &record.event {
        TraceEvent::Queued {
            cause: Cause::Again(_),
            after,
            ..
        } => Some(after.expect("a back-off is no moment")),
        _ => None,
    });
    let delays: Vec<_> = delays.collect();
    assert!(
        delays.len() == 3 && delays[0] > Duration::ZERO && delays.is_sorted_by(|one, next| one < next),
        "{delays:?}"
    );
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
async fn a_failure_for_good_is_told_from_one_that_is_tried_again() {
    let server = ApiServer::new(Options::new());
    let controller = Controller::of::<ConfigMap>().reconcile_with(|_| {
        let attempts = AtomicUsize::new(0);
        move |request: Request| {
            let is_first = attempts.fetch_add(1, Ordering::Relaxed) == 0;
            async move {
                match request.name() {
                    "a" if is_first => Err(Failure::message("not yet")),
                    "a" => Err(Failure::terminal("never")),
                    _ => Ok(Action::done()),
                }
            }
        }
    });
    create_map(&server, "a").await;
    let trace = Trace::bounded(1 << 20);
    let running = Running::start(Manager::new().controller(controller).trace(trace.clone()), &server);
    tokio::time::sleep(Duration::from_mins(1)).await;
    running.stop().await;
    let records = trace.records();
    let told = records.iter().filter_map(|record| match &record.event {
        TraceEvent::Queued {
            cause: Cause::Again(_), ..
        } => Some("again".to_owned()),
        TraceEvent::Ended {
            error: Some(error),
            is_terminal,
            ..
        } => Some(format!("{error} {is_terminal}")),
        _ => None,
    });
    let told: Vec<_> = told.collect();
    assert_eq!(told, ["again", "not yet false", "never true"]);
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
        "create Secret default/a: 201 []",
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
async fn a_list_says_up_to_which_revision_the_cache_had_seen_everything() {
    let server = ApiServer::new(Options::new());
    let controller =
        Controller::of::<ConfigMap>().reconcile_objects(|context: Context, map: View<ConfigMap>| async move {
            let query = Query::all().in_namespace(map.metadata.namespace.as_deref().unwrap_or_default());
            context.client().list::<ConfigMap>(&query).await?;
            Ok(Action::done())
        });
    let trace = Trace::bounded(1 << 20);
    let running = Running::start(Manager::new().controller(controller).trace(trace.clone()), &server);
    tokio::time::sleep(Duration::from_secs(1)).await;
    for name in ["a", "b"] {
        create_map(&server, name).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    running.stop().await;
    let mut created: Vec<u64> = Vec::new();
    for name in ["a", "b"] {
        let map = config_maps(&server).get(name).await.unwrap();
        created.push(map.metadata.resource_version.unwrap().parse().unwrap());
    }
    let records = trace.records();
    let lists = records.iter().filter_map(|record| match &record.event {
        TraceEvent::Read(CacheRead {
            found: Found::Objects(_),
            target: ReadTarget::List { namespace, .. },
            cache,
            ..
        }) if namespace.as_deref() == Some("default") => Some(cache.expect("its revisions are numbers")),
        _ => None,
    });
    let lists: Vec<u64> = lists.collect();
    // One for each map, when it had come; what was there before came with the first.
    assert_eq!(lists[lists.len() - 2..], created);
}

#[tokio::test(start_paused = true)]
async fn what_the_cache_learns_can_be_left_out_and_causes_still_name_it() {
    let server = ApiServer::new(Options::new());
    create_map(&server, "a").await;
    let controller = Controller::of::<ConfigMap>().reconcile_with(|_| |_: Request| async { Ok(Action::done()) });
    let trace = Trace::bounded(1 << 20).without_cache_events();
    let running = Running::start(Manager::new().controller(controller).trace(trace.clone()), &server);
    tokio::time::sleep(Duration::from_secs(1)).await;
    running.stop().await;
    let records = trace.records();
    let is_observed = |record: &Arc<TraceRecord>| matches!(record.event, TraceEvent::Observed(_));
    assert!(!records.iter().any(is_observed), "{records:?}");
    let is_woken_by_a = |record: &Arc<TraceRecord>| matches!(&record.event, TraceEvent::Queued { cause: Cause::Object(change), .. } if change.key.name() == "a");
    assert!(records.iter().any(is_woken_by_a), "{records:?}");
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

/// Why a Secret could not be patched, as a reconciler's own error says it.
#[derive(Debug, thiserror::Error)]
#[error("the password cannot be provided")]
struct NotProvided(#[source] kubewright_runtime::client::Error);

#[tokio::test]
async fn neither_a_record_nor_the_debug_page_repeats_a_secret_that_the_server_refused() {
    let server = ApiServer::new(Options::new());
    let address = SocketAddr::from(([127, 0, 0, 1], kubewright_test_support::free_port()));
    let controller =
        Controller::of::<ConfigMap>().reconcile_objects(|context: Context, map: View<ConfigMap>| async move {
            if map.key().name() != "a" {
                return Ok(Action::done());
            }
            let client = context.client().field_validation(FieldValidation::Strict);
            let key = ObjectKey::namespaced("default", "door");
            let misspelt = Patch::Merge(json!({ "strngData": { "key": "sesame" } }));
            let patched = client.patch::<Secret>(&key, &misspelt).await;
            let error = patched.expect_err("a field is unknown");
            assert!(error.to_string().contains("strngData"), "{error}");
            Err(NotProvided(error).into())
        });
    let secrets: Api<Secret> = Api::default_namespaced(server.client());
    let secret = json!({ "metadata": { "name": "door" }, "stringData": { "key": "sesame" } });
    let secret = serde_json::from_value(secret).unwrap();
    secrets.create(&PostParams::default(), &secret).await.unwrap();
    create_map(&server, "a").await;
    let trace = Trace::bounded(1 << 20);
    let mut told = Told {
        follower: trace.follow(),
        records: Vec::new(),
    };
    let manager = Manager::new()
        .controller(controller)
        .debug_address(address.to_string().parse().unwrap())
        .trace(trace.clone());
    let running = Running::start(manager, &server);
    while told.next("a").await != "ended in error" {}
    let page = answer(address, "GET /debug/kubewright HTTP/1.1\r\nHost: localhost").await;
    running.stop().await;
    let records = trace.records();
    let errors = records.iter().filter_map(|record| match &record.event {
        TraceEvent::Called(ApiCall { error, .. }) | TraceEvent::Ended { error, .. } => error.as_deref(),
        _ => None,
    });
    let errors: Vec<_> = errors.take(2).collect();
    assert_eq!(
        errors,
        [
            "Invalid (redacted)",
            "patch Secret default/door: 422 Invalid (redacted)"
        ]
    );
    assert!(
        page.contains("default/a: patch Secret default/door: 422 Invalid (redacted)"),
        "{page}"
    );
    let records: Vec<_> = records
        .iter()
        .map(|record| serde_json::to_value(&**record).unwrap())
        .collect();
    for text in [page, format!("{records:?}")] {
        for secret in ["sesame", "c2VzYW1l"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
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

/// What a server answers, until it closes the connection.
async fn answer(address: SocketAddr, head: &str) -> String {
    let mut answer = String::new();
    let mut stream = asked(address, head).await;
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn asked(address: SocketAddr, head: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("{head}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Reads on until a text was read.
async fn read_until(stream: &mut TcpStream, read: &mut String, text: &str) {
    let mut buffer = [0; 4096];
    let reading = async {
        while !read.contains(text) {
            let count = stream.read(&mut buffer).await.unwrap();
            assert!(count > 0, "it ended before {text}: {read}");
            read.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    };
    let in_time = tokio::time::timeout(Duration::from_mins(1), reading).await;
    assert!(in_time.is_ok(), "no {text}: {read}");
}

#[tokio::test]
async fn other_processes_of_this_machine_read_the_trace_and_follow_it() {
    let server = ApiServer::new(Options::new());
    let address = SocketAddr::from(([127, 0, 0, 1], kubewright_test_support::free_port()));
    let manager = Manager::new()
        .controller(Controller::of::<Secret>().reconcile_with(|_| |_: Request| async { Ok(Action::done()) }))
        .debug_address(address.to_string().parse().unwrap())
        .trace(Trace::bounded(1 << 20));
    let running = Running::start(manager, &server);
    let secrets: Api<Secret> = Api::namespaced(server.client(), "default");
    let secret =
        |name: &str| serde_json::from_value(json!({ "metadata": { "name": name }, "stringData": { "key": "sesame" } }));
    // It listens soon.
    while TcpStream::connect(address).await.is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let path = "/debug/kubewright/trace";
    let mut follower = asked(address, &format!("GET {path}/events HTTP/1.1\r\nHost: localhost")).await;
    let mut read = String::new();
    read_until(&mut follower, &mut read, "event: begin\n").await;
    assert!(read.contains("content-type: text/event-stream\r\n"), "{read}");
    for name in ["front-door", "back-door"] {
        secrets
            .create(&PostParams::default(), &secret(name).unwrap())
            .await
            .unwrap();
        read_until(
            &mut follower,
            &mut read,
            &format!("\"event\":\"ended\",\"controller\":\"secret\",\"key\":\"default/{name}\""),
        )
        .await;
    }

    let page = answer(address, &format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:1")).await;
    let page: serde_json::Value = serde_json::from_str(page.split_once("\r\n\r\n").unwrap().1).unwrap();
    let events: Vec<_> = page["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["event"].as_str().unwrap())
        .collect();
    for event in ["observed", "queued", "began", "ended"] {
        assert!(events.contains(&event), "{event}: {page}");
    }
    assert!(!page.to_string().contains("sesame") && !read.contains("sesame"));
    let records: Vec<TraceRecord> = serde_json::from_value(page["records"].clone()).unwrap();
    assert_eq!(serde_json::to_value(&records).unwrap(), page["records"]);
    for (head, code) in [
        (format!("GET {path} HTTP/1.1\r\nHost: evil.example.com"), 403),
        (format!("GET {path}/events HTTP/1.1\r\nHost: evil.example.com"), 403),
        (format!("POST {path}/events HTTP/1.1\r\nHost: localhost"), 405),
    ] {
        let refused = answer(address, &head).await;
        assert!(refused.starts_with(&format!("HTTP/1.1 {code} ")), "{head}: {refused}");
    }

    // Who follows does not hold up the end.
    running.stop().await;
    follower.read_to_string(&mut read).await.unwrap();
}

#[tokio::test]
async fn a_trace_that_is_off_says_how_to_turn_it_on() {
    let server = ApiServer::new(Options::new());
    let address = SocketAddr::from(([127, 0, 0, 1], kubewright_test_support::free_port()));
    let manager = Manager::new().debug_address(address.to_string().parse().unwrap());
    let running = Running::start(manager, &server);
    while TcpStream::connect(address).await.is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for path in ["/debug/kubewright/trace", "/debug/kubewright/trace/events"] {
        let page = answer(address, &format!("GET {path} HTTP/1.1\r\nHost: localhost")).await;
        assert!(
            page.starts_with("HTTP/1.1 404 ") && page.contains("--debug-trace-bytes"),
            "{page}"
        );
    }
    running.stop().await;
}
