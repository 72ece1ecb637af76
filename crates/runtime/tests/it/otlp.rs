//! Spans, from a running operator to a collector.
#![cfg(feature = "otlp")]

mod decoded;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::client::Body;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::client::Client;
use kubewright_runtime::controller::{Action, Context, Controller};
use kubewright_runtime::flags::Environment;
use kubewright_runtime::informer::Cache;
use kubewright_runtime::manager::Manager;
use kubewright_runtime::object::View;
use kubewright_runtime::otlp::{ExportSettings, Exporter};
use kubewright_runtime::serve::{BindAddress, HttpResponse, HttpServer, ResponseBody, Router};
use kubewright_runtime::stop::Stopper;
use kubewright_runtime::trace::Trace;
use parking_lot::Mutex;
use serde_json::Value;

use crate::support::config_map_with;

/// A collector: keeps what is sent to it as the JSON of the protocol, and answers with a code and a text, the last of them from then on.
struct Collector {
    endpoint: String,
    received: Arc<Mutex<Vec<Value>>>,
    _stopper: Stopper,
}

impl Collector {
    async fn start(content_type: &'static str, answers: &'static [Answer]) -> Self {
        let received: Arc<Mutex<Vec<Value>>> = Arc::default();
        let kept = Arc::clone(&received);
        let router = Router::new().route("/v1/traces", move |request: Request<Incoming>| {
            let kept = Arc::clone(&kept);
            async move {
                assert_eq!(request.headers()["content-type"], content_type);
                assert_eq!(request.headers()["x-team"], "shop");
                assert!(!request.headers().contains_key("authorization"));
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let mut kept = kept.lock();
                let (code, text) = answers[kept.len().min(answers.len() - 1)];
                kept.push(if content_type == PROTOBUF {
                    decoded::request(&body)
                } else {
                    serde_json::from_slice(&body).unwrap()
                });
                let mut answer = HttpResponse::new(ResponseBody::from(text));
                *answer.status_mut() = code;
                answer
            }
        });
        let address: BindAddress = "127.0.0.1:0".parse().unwrap();
        let server = HttpServer::bind(&address, router).await.unwrap().unwrap();
        let endpoint = format!("http://{}", server.address());
        let (stopper, stop) = Stopper::new();
        tokio::spawn(server.run(stop));
        Collector {
            endpoint,
            received,
            _stopper: stopper,
        }
    }

    /// All spans so far.
    fn spans(&self) -> Vec<Value> {
        let received = self.received.lock();
        let scopes = received
            .iter()
            .map(|sent| &sent["resourceSpans"][0]["scopeSpans"][0]["spans"]);
        scopes.flat_map(|spans| spans.as_array().unwrap().clone()).collect()
    }
}

const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";

/// A code and what it says with it.
type Answer = (StatusCode, &'static [u8]);

const TAKEN: Answer = (StatusCode::OK, b"");
/// With a `google.rpc.Status`.
const BUSY: Answer = (StatusCode::SERVICE_UNAVAILABLE, b"\x12\x04busy");
const REFUSED: Answer = (StatusCode::BAD_REQUEST, b"\x12\x02no");

fn settings(endpoint: &str, more: &[(&str, &str)]) -> ExportSettings {
    let usual = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-team=shop"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "500"),
        ("OTEL_BSP_SCHEDULE_DELAY", "20"),
    ];
    let environment = Environment::of(usual.iter().chain(more).copied());
    ExportSettings::from_environment(&environment, "vault")
        .unwrap()
        .unwrap()
}

/// Gives each `ConfigMap` with a value a Secret that holds it.
fn controller() -> Controller {
    Controller::of::<ConfigMap>().owns::<Secret>().reconcile_objects(
        |context: Context, map: View<ConfigMap>| async move {
            let Some(value) = map.data.as_ref().and_then(|data| data.get("key")) else {
                return Ok(Action::done());
            };
            let client = context.client();
            if client.get_opt::<Secret>(map.key()).await?.is_none() {
                tracing::info!(target: "vault", "a Secret is made");
                let mut secret = Secret::default();
                secret.metadata.namespace.clone_from(&map.metadata.namespace);
                secret.metadata.name.clone_from(&map.metadata.name);
                secret.string_data = Some([("key".to_owned(), value.clone())].into());
                kubewright_runtime::client::helpers::set_controller_reference(&*map, &mut secret)
                    .map_err(kubewright_runtime::controller::Failure::terminal)?;
                client.create(&secret).await?;
            }
            Ok(Action::done())
        },
    )
}

/// Runs the operator until a condition holds; the headers `traceparent` of its requests.
async fn run(settings: ExportSettings, is_done: impl AsyncFn() -> bool) -> Vec<String> {
    let server = ApiServer::new(Options::new());
    let parents: Arc<Mutex<Vec<String>>> = Arc::default();
    let (seen, kube) = (Arc::clone(&parents), server.client());
    let client = kube::Client::new(
        tower::service_fn(move |request: Request<Body>| {
            let parent = request
                .headers()
                .get("traceparent")
                .map(|parent| parent.to_str().unwrap().to_owned());
            seen.lock().extend(parent);
            let kube = kube.clone();
            async move { kube.send(request).await }
        }),
        "default",
    );
    let trace = Trace::bounded(1 << 20);
    let exporter = Exporter::new(settings, &trace).unwrap();
    let (stopper, stop) = Stopper::new();
    let running = tokio::spawn(Manager::new().controller(controller()).trace(trace).run(client, stop));
    let (export_stopper, export_stop) = Stopper::new();
    let exporting = tokio::spawn(exporter.run(export_stop));
    let user = Client::new(server.client(), Cache::default()).live();
    user.create(&config_map_with("door", "sesame")).await.unwrap();
    let deadline = Instant::now() + Duration::from_mins(1);
    while !is_done().await {
        assert!(Instant::now() < deadline, "it did not come about");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stopper.stop();
    running.await.unwrap().unwrap();
    export_stopper.stop();
    exporting.await.unwrap();
    Arc::try_unwrap(parents).map_or_else(|shared| shared.lock().clone(), Mutex::into_inner)
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let attributes = span["attributes"].as_array().unwrap().iter();
    let found = attributes.into_iter().find(|attribute| attribute["key"] == key);
    found.map_or(&Value::Null, |attribute| &attribute["value"])
}

fn is_woken(span: &Value) -> bool {
    span["links"].as_array().is_some_and(|links| !links.is_empty())
}

/// Runs the operator with a collector that has everything, and looks at what it got.
async fn exported(content_type: &'static str, more: &[(&str, &str)]) {
    let collector = Collector::start(content_type, &[TAKEN]).await;
    let settings = settings(&collector.endpoint, more);
    let parents = run(settings, async || collector.spans().iter().any(is_woken)).await;
    let spans = collector.spans();
    let write = spans.iter().find(|span| span["name"] == "create Secret").unwrap();
    let maker = spans
        .iter()
        .find(|span| span["spanId"] == write["parentSpanId"])
        .unwrap();
    assert_eq!(maker["traceId"], write["traceId"]);
    assert_eq!(maker["name"], "reconcile configmap");
    assert_eq!((&maker["kind"], &write["kind"]), (&Value::from(1), &Value::from(3)));
    let time = |span: &Value, which: &str| span[which].as_str().unwrap().parse::<u64>().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let (began, ended) = (time(maker, "startTimeUnixNano"), time(maker, "endTimeUnixNano"));
    assert!(began <= time(write, "startTimeUnixNano") && time(write, "endTimeUnixNano") <= ended);
    assert!(now.abs_diff(ended) < 120_000_000_000, "{began} {ended} {now}");
    assert_eq!(attribute(maker, "kubewright.key")["stringValue"], "default/door");
    assert_eq!(attribute(maker, "kubewright.outcome")["stringValue"], "success");
    assert!(attribute(maker, "kubewright.waited")["doubleValue"].as_f64().unwrap() >= 0.0);
    let causes = attribute(maker, "kubewright.causes")["arrayValue"]["values"].clone();
    assert!(
        causes[0]["stringValue"]
            .as_str()
            .unwrap()
            .starts_with("ConfigMap default/door "),
        "{causes}"
    );
    assert_eq!(attribute(write, "http.response.status_code")["intValue"], "201");
    assert_eq!(attribute(write, "kubewright.unchanged")["boolValue"], false);
    assert_eq!(maker["events"][0]["name"], "a Secret is made");
    // What it wrote woke another, which says so.
    let woken = spans.iter().find(|span| is_woken(span)).unwrap();
    assert_eq!(woken["links"][0]["spanId"], maker["spanId"]);
    assert_eq!(woken["links"][0]["traceId"], maker["traceId"]);
    // The API server is told by whom it is asked.
    let (trace, span) = (maker["traceId"].as_str().unwrap(), maker["spanId"].as_str().unwrap());
    assert_eq!(parents, [format!("00-{trace}-{span}-01")]);
    let resource = collector.received.lock()[0]["resourceSpans"][0]["resource"].clone();
    assert_eq!(attribute(&resource, "service.name")["stringValue"], "vault");
    assert_eq!(attribute(&resource, "team")["stringValue"], "shop");
    let all = Value::Array(collector.received.lock().clone()).to_string();
    assert!(!all.contains("sesame") && !all.contains("c2VzYW1l"), "{all}");
}

const TEAM: (&str, &str) = ("OTEL_RESOURCE_ATTRIBUTES", "team=shop");

#[tokio::test]
async fn reconciles_reach_a_collector_with_their_writes_causes_and_log_lines() {
    exported(PROTOBUF, &[TEAM]).await;
}

#[tokio::test]
async fn a_collector_that_reads_json_gets_the_same() {
    exported(JSON, &[TEAM, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")]).await;
}

#[tokio::test]
async fn spans_that_a_collector_had_no_time_for_are_sent_again() {
    let collector = Collector::start(PROTOBUF, &[BUSY, TAKEN]).await;
    let settings = settings(&collector.endpoint, &[]);
    run(settings, async || collector.received.lock().len() > 1).await;
    let received = collector.received.lock().clone();
    let spans = |sent: &Value| {
        sent["resourceSpans"][0]["scopeSpans"][0]["spans"]
            .as_array()
            .unwrap()
            .clone()
    };
    let (first, second) = (spans(&received[0]), spans(&received[1]));
    assert_eq!(second[..first.len()], first[..]);
}

#[tokio::test]
async fn a_collector_that_refuses_or_is_not_there_holds_up_nobody() {
    let collector = Collector::start(PROTOBUF, &[REFUSED]).await;
    run(settings(&collector.endpoint, &[]), async || {
        !collector.received.lock().is_empty()
    })
    .await;
    let nowhere = format!("http://127.0.0.1:{}", kubewright_test_support::free_port());
    let began = Instant::now();
    run(settings(&nowhere, &[]), async || {
        began.elapsed() > Duration::from_millis(200)
    })
    .await;
}
