//! A whole operator on the embedded server: reconciles, events, probes, metrics and a clean end.

use std::error::Error as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, PostParams};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::Client;
use kubewright_runtime::client::helpers::set_controller_reference;
use kubewright_runtime::controller::{Action, Controller, Failure, Request};
use kubewright_runtime::events::EventNote;
use kubewright_runtime::informer::{Cache, InformerOptions};
use kubewright_runtime::lease::ElectionOptions;
use kubewright_runtime::manager::{ManagerError, RunContext};
use kubewright_runtime::object::{ObjectKey, Selector};
use kubewright_runtime::operator::Operator;
use kubewright_runtime::serve::Certificates;
use kubewright_runtime::stop::Stopper;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinHandle;

/// Copies every labelled `ConfigMap` into a Secret of the same name, and says so.
fn copier() -> Operator {
    let controller = Controller::of::<ConfigMap>()
        .named("copier")
        .owns::<Secret>()
        .max_concurrent_reconciles(2)
        .reconcile_objects::<ConfigMap, _>(|context, source| async move {
            let mut copy = Secret::default();
            copy.metadata.name.clone_from(&source.metadata.name);
            copy.metadata.namespace.clone_from(&source.metadata.namespace);
            set_controller_reference(&*source, &mut copy).map_err(Failure::terminal)?;
            copy.string_data.clone_from(&source.data);
            let applied = context.client().apply(&copy).await?;
            if applied.outcome != kubewright_runtime::client::Outcome::Unchanged {
                context.events().record(
                    &*source,
                    EventNote::normal("Copied", "Copy", "the secret is up to date"),
                );
            }
            Ok(Action::done())
        });
    Operator::new("copier")
        .controller(controller)
        .cached::<ConfigMap>(InformerOptions {
            labels: Selector::everything().equals("copy", "yes"),
            ..InformerOptions::default()
        })
}

fn source(name: &str) -> ConfigMap {
    serde_json::from_value(json!({
        "metadata": { "name": name, "namespace": "default", "labels": { "copy": "yes" } }, "data": { "key": "value" },
    }))
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_operator_does_its_work_and_tells_of_it() {
    let server = ApiServer::new(Options::new());
    let user = Client::new(server.client(), Cache::default()).live();
    let (stopper, stop) = Stopper::new();
    let operator = copier();
    let election = ElectionOptions {
        identity: Some("replica-1".to_owned()),
        ..ElectionOptions::new("default", "copier")
    };
    let kube = server.client();
    let running = tokio::spawn(async move { operator.run(kube, Some(election), stop).await });
    for number in 0..10 {
        user.create(&source(&format!("source-{number}"))).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    let copies = user
        .list::<Secret>(&Query::all().in_namespace("default"))
        .await
        .unwrap();
    assert_eq!(
        copies
            .iter()
            .filter(|copy| copy.key().name().starts_with("source-"))
            .count(),
        10
    );
    stopper.stop();
    running.await.unwrap().unwrap();

    let events = user.list::<Event>(&Query::all().in_namespace("default")).await.unwrap();
    let told: Vec<_> = events
        .iter()
        .filter(|event| event.reason.as_deref() == Some("Copied"))
        .collect();
    assert_eq!(told.len(), 10);
    assert_eq!(told[0].reporting_controller.as_deref(), Some("copier"));
    assert_eq!(told[0].reporting_instance.as_deref(), Some("replica-1"));
}

#[tokio::test(start_paused = true)]
async fn the_same_event_again_is_a_series_that_is_complete_at_the_end() {
    let server = ApiServer::new(Options::new());
    let user = Client::new(server.client(), Cache::default()).live();
    user.create(&source("a")).await.unwrap();
    let controller = Controller::of::<ConfigMap>().reconcile_objects::<ConfigMap, _>(|context, object| async move {
        let note = EventNote::warning("Late", "Wait", format!("generation {:?}", object.metadata.generation));
        context.events().record(&*object, note);
        Ok(Action::requeue_after(Duration::from_millis(100)))
    });
    let (stopper, stop) = Stopper::new();
    let (operator, kube) = (Operator::new("late").controller(controller), server.client());
    let running = tokio::spawn(async move { operator.run(kube, None, stop).await });
    tokio::time::sleep(Duration::from_secs(90)).await;
    stopper.stop();
    running.await.unwrap().unwrap();
    let events = user.list::<Event>(&Query::all().in_namespace("default")).await.unwrap();
    let late: Vec<_> = events
        .iter()
        .filter(|event| event.reason.as_deref() == Some("Late"))
        .collect();
    assert_eq!(late.len(), 1);
    let count = late[0].series.as_ref().unwrap().count;
    assert!((850..=901).contains(&count), "{count}");
}

#[tokio::test(start_paused = true)]
async fn one_value_can_run_many_times() {
    let runs = Arc::new(AtomicUsize::new(0));
    let operator = Operator::new("counter").runnable("count", {
        let runs = Arc::clone(&runs);
        move |context: RunContext| {
            let runs = Arc::clone(&runs);
            async move {
                runs.fetch_add(1, Ordering::Relaxed);
                context.stop.stopped().await;
                Ok(())
            }
        }
    });
    for _ in 0..3 {
        let server = ApiServer::new(Options::new());
        let (stopper, stop) = Stopper::new();
        let (operator, kube) = (operator.clone(), server.client());
        let running = tokio::spawn(async move { operator.run(kube, None, stop).await });
        tokio::time::sleep(Duration::from_millis(10)).await;
        stopper.stop();
        running.await.unwrap().unwrap();
    }
    assert_eq!(runs.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn contradictions_are_found_before_anything_runs() {
    let operator = copier().cached::<ConfigMap>(InformerOptions::default());
    assert_eq!(
        operator.manager().unwrap_err().to_string(),
        "the cache of ConfigMap is configured twice; one kind has one informer"
    );
    let operator = Operator::new("idle").index::<Secret>("type", |secret| secret.type_.clone().into_iter().collect());
    let server = ApiServer::new(Options::new());
    let (_stopper, stop) = Stopper::new();
    let error = operator.run(server.client(), None, stop).await.unwrap_err();
    assert!(error.to_string().contains("nobody reads Secret"), "{error}");
}

/// The values of an index of Secrets: what sort they are.
fn by_type(secret: &Secret) -> Vec<String> {
    secret.type_.clone().into_iter().collect()
}

/// A controller whose reconciler reads Secrets by their type, and says how many there are.
fn counts_secrets(name: &str, counted: &Arc<AtomicUsize>) -> Controller {
    let counted = Arc::clone(counted);
    Controller::of::<ConfigMap>()
        .named(name)
        .reconcile_with(move |context| {
            let (client, counted, opaque) = (context.client(), Arc::clone(&counted), context.index::<Secret>("type"));
            move |_: Request| {
                let (client, counted, query) = (client.clone(), Arc::clone(&counted), opaque.query("Opaque"));
                async move {
                    let found = client.list::<Secret>(&query).await?;
                    counted.store(found.len(), Ordering::Relaxed);
                    Ok(Action::done())
                }
            }
        })
}

#[tokio::test(start_paused = true)]
async fn an_index_is_declared_with_the_controller_that_reads_by_it() {
    let (server, counted) = (ApiServer::new(Options::new()), Arc::default());
    let secret: Secret = serde_json::from_value(json!({ "metadata": { "name": "a" }, "type": "Opaque" })).unwrap();
    let secrets: Api<Secret> = Api::namespaced(server.client(), "default");
    secrets.create(&PostParams::default(), &secret).await.unwrap();
    let map: ConfigMap = serde_json::from_value(json!({ "metadata": { "name": "a" } })).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(server.client(), "default");
    maps.create(&PostParams::default(), &map).await.unwrap();

    // Two controllers share one index.
    let operator = Operator::new("shop")
        .controller(counts_secrets("one", &counted).index("type", by_type))
        .controller(counts_secrets("two", &counted).index("type", by_type));
    let rules = operator.describe().rules;
    assert!(
        rules.iter().any(|rule| rule.resources == ["configmaps", "secrets"]),
        "{rules:?}"
    );
    let (stopper, stop) = Stopper::new();
    let mut running = tokio::spawn(async move { operator.run(server.client(), None, stop).await });
    until(&mut running, async || counted.load(Ordering::Relaxed) == 1).await;
    stopper.stop();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reconciler_that_wants_an_undeclared_index_does_not_start() {
    let server = ApiServer::new(Options::new());
    let (_stopper, stop) = Stopper::new();
    let operator = Operator::new("shop").controller(counts_secrets("secrets", &Arc::default()));
    let error = operator.run(server.client(), None, stop.clone()).await.unwrap_err();
    assert_eq!(error.to_string(), "controller \"secrets\" cannot start");
    let cause = error.source().unwrap().to_string();
    assert!(
        cause.starts_with("the cache of Secret has no index \"type\", by which ") && cause.contains(file!()),
        "{cause}"
    );

    let operator = Operator::new("shop").controller(
        counts_secrets("secrets", &Arc::default())
            .index("type", by_type)
            .index("type", |secret: &Secret| {
                secret.metadata.name.clone().into_iter().collect()
            }),
    );
    let error = operator.run(server.client(), None, stop).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "Secret has two indexes named \"type\" with different functions; give one of them another name"
    );
}

async fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// An address that nobody listens on.
fn free_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], kubewright_test_support::free_port()))
}

/// Waits until the condition holds. If the manager ends before, the panic says how it ended.
async fn until(running: &mut JoinHandle<Result<(), ManagerError>>, condition: impl AsyncFn() -> bool) {
    let deadline = tokio::time::Instant::now() + Duration::from_mins(1);
    while !condition().await {
        assert!(
            tokio::time::Instant::now() < deadline,
            "it did not happen within a minute"
        );
        assert!(!running.is_finished(), "the manager ended: {:?}", running.await);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn probes_and_metrics_tell_the_outside_how_it_goes() {
    let server = ApiServer::new(Options::new());
    let user = Client::new(server.client(), Cache::default()).live();
    user.create(&source("a")).await.unwrap();
    let [probes, measures, debug] = std::array::from_fn(|_| free_address());
    let manager = copier()
        .manager()
        .unwrap()
        .probe_address(probes.to_string().parse().unwrap())
        .metrics_address(measures.to_string().parse().unwrap())
        .debug_address(debug.to_string().parse().unwrap())
        .api_server("embedded:443");
    let (stopper, stop) = Stopper::new();
    let mut running = tokio::spawn(manager.run(server.client(), stop));
    let key = ObjectKey::namespaced("default", "a");
    let is_copied = async || user.get_opt::<Secret>(&key).await.unwrap().is_some();
    until(&mut running, is_copied).await;
    assert!(get(probes, "/healthz").await.starts_with("HTTP/1.1 200"));
    assert!(get(probes, "/readyz?verbose").await.contains("[+]caches ok\n"));
    let page = get(debug, "/debug/kubewright").await;
    let page: serde_json::Value = serde_json::from_str(page.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(page["informers"][0]["kind"], "ConfigMap");
    assert_eq!(page["controllers"][0]["name"], "copier");
    let metrics = get(measures, "/metrics").await;
    assert!(
        metrics.contains("controller_runtime_max_concurrent_reconciles{controller=\"copier\"} 2\n"),
        "{metrics}"
    );
    assert!(!metrics.contains("controller_runtime_reconcile_total{controller=\"copier\",result=\"success\"} 0\n"));
    // One Secret was applied; the recorder's event may be on its way or not.
    let patched = "rest_client_requests_total{code=\"201\",host=\"embedded:443\",method=\"PATCH\"} 1\n";
    assert!(metrics.contains(patched), "{metrics}");
    assert!(
        metrics.contains("rest_client_requests_total{code=\"200\",host=\"embedded:443\",method=\"GET\"} "),
        "{metrics}"
    );
    stopper.stop();
    running.await.unwrap().unwrap();
    assert!(tokio::net::TcpStream::connect(probes).await.is_err());
}

#[tokio::test]
async fn secure_metrics_are_for_those_whom_the_cluster_knows() {
    let server = ApiServer::new(Options::new());
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.path().join("tls.crt"), made.cert.pem()).unwrap();
    std::fs::write(folder.path().join("tls.key"), made.signing_key.serialize_pem()).unwrap();
    let certificates = Certificates::from_folder(folder.path(), "tls.crt", "tls.key").unwrap();
    let (address, debug) = (free_address(), free_address());
    let manager = copier()
        .manager()
        .unwrap()
        .metrics_address(address.to_string().parse().unwrap())
        // Elsewhere than on this machine the debug page is served like them.
        .debug_address(format!("0.0.0.0:{}", debug.port()).parse().unwrap())
        .secure_metrics(certificates, false);
    let (stopper, stop) = Stopper::new();
    let mut running = tokio::spawn(manager.run(server.client(), stop));

    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    until(&mut running, async || {
        tokio::net::TcpStream::connect(address).await.is_ok()
    })
    .await;
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    for (address, path) in [
        (address, "/metrics"),
        (debug, "/debug/kubewright"),
        (debug, "/debug/kubewright/trace"),
    ] {
        until(&mut running, async || {
            tokio::net::TcpStream::connect(address).await.is_ok()
        })
        .await;
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let name = "localhost".try_into().unwrap();
        let mut stream = connector.connect(name, stream).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // The server may close without a TLS farewell; what it said counts.
        let _ = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 401"), "{path}: {answer}");
    }
    stopper.stop();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_debug_page_that_others_reach_needs_secure_metrics() {
    let server = ApiServer::new(Options::new());
    let manager = copier().manager().unwrap().debug_address(":0".parse().unwrap());
    let (_stopper, stop) = Stopper::new();
    let error = manager.run(server.client(), stop).await.unwrap_err();
    assert!(error.to_string().contains("is not loopback"), "{error}");
}
