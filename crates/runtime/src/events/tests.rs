//! Recorders and their writer on tokio's paused clock: on a sink that fails on demand and on the embedded server.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kubewright_apiserver::{ApiServer, Options};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::note::EventNote;
use super::record::{EventParts, EventRecorder};
use super::reference::Reference;
use super::series::Event;
use super::sink::{Refusal, Sink};
use super::writer::run;
use crate::clock::Clock;
use crate::metrics::{Registry, RuntimeMetrics};
use crate::random::Random;
use crate::stop::Stopper;

/// What was asked, and what to answer.
#[derive(Clone, Default)]
struct Fake(Arc<Mutex<FakeState>>);

#[derive(Default)]
struct FakeState {
    calls: Vec<(&'static str, Option<u32>)>,
    down: bool,
    hangs: bool,
    forgets: bool,
}

impl Fake {
    async fn call(&self, verb: &'static str, event: &Event) -> Result<(), Refusal> {
        if self.0.lock().hangs {
            std::future::pending::<()>().await;
        }
        sleep(Duration::from_millis(1)).await;
        let mut state = self.0.lock();
        state.calls.push((verb, event.series.map(|series| series.count)));
        if state.down {
            return Err(Refusal::Unreachable("down".to_owned()));
        }
        if verb == "patch" && state.forgets {
            return Err(Refusal::NotFound);
        }
        Ok(())
    }

    fn calls(&self) -> Vec<(&'static str, Option<u32>)> {
        std::mem::take(&mut self.0.lock().calls)
    }
}

impl Sink for Fake {
    async fn create(&self, event: &Event) -> Result<(), Refusal> {
        self.call("create", event).await
    }

    async fn patch(&self, event: &Event) -> Result<(), Refusal> {
        self.call("patch", event).await
    }
}

struct Setup {
    recorder: EventRecorder,
    registry: Registry,
    fake: Fake,
    stopper: Stopper,
    writing: JoinHandle<()>,
}

impl Setup {
    fn new() -> Self {
        let registry = Registry::new();
        let metrics = RuntimeMetrics::register(&registry).unwrap().events;
        let parts = EventParts {
            random: Random::seeded(1),
            metrics: Some(metrics),
            ..EventParts::default()
        };
        let (recorder, events) = EventRecorder::queue("shop", "shop-host", parts);
        let (stopper, stop) = Stopper::new();
        let fake = Fake::default();
        let shared = Arc::clone(recorder.shared());
        let writing = tokio::spawn(run(events, fake.clone(), shared, stop, Duration::from_secs(5)));
        Setup {
            recorder,
            registry,
            fake,
            stopper,
            writing,
        }
    }

    fn count(&self, result: &str) -> u64 {
        let series = format!("kubewright_events_total{{result=\"{result}\"}} ");
        let text = self.registry.render();
        text.lines()
            .find_map(|line| line.strip_prefix(&series))
            .map_or(0, |count| count.parse().unwrap())
    }
}

fn object(name: &str) -> Reference {
    Reference {
        kind: "Shop".to_owned(),
        name: name.to_owned(),
        ..Reference::default()
    }
}

fn synced() -> EventNote {
    EventNote::normal("Synced", "Sync", "synced")
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_thousand_equal_events_are_three_requests() {
    let setup = Setup::new();
    for _ in 0..1000 {
        setup.recorder.record(&object("a"), synced());
        sleep(Duration::from_millis(1)).await;
    }
    sleep(SECOND).await;
    let calls = setup.fake.calls();
    assert_eq!(calls[0], ("create", None));
    assert_eq!((calls.len(), calls[1].0), (2, "patch"));
    // The rest of the count is told when the series has ended.
    sleep(Duration::from_mins(13)).await;
    assert_eq!(setup.fake.calls(), [("patch", Some(1000))]);
    assert_eq!(setup.count("sent"), 3);
}

#[tokio::test(start_paused = true)]
async fn a_long_series_is_told_every_half_hour() {
    let setup = Setup::new();
    for _ in 0..65 {
        setup.recorder.record(&object("a"), synced());
        sleep(Duration::from_mins(1)).await;
    }
    let calls = setup.fake.calls();
    let verbs: Vec<_> = calls.iter().map(|(verb, _)| *verb).collect();
    assert_eq!(verbs, ["create", "patch", "patch", "patch"], "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn an_event_that_the_server_forgot_is_created_again_with_its_count() {
    let setup = Setup::new();
    setup.recorder.record(&object("a"), synced());
    sleep(SECOND).await;
    setup.fake.0.lock().forgets = true;
    setup.recorder.record(&object("a"), synced());
    sleep(SECOND).await;
    assert_eq!(
        setup.fake.calls(),
        [("create", None), ("patch", Some(2)), ("create", Some(2))]
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_down_is_asked_twelve_times_with_pauses() {
    let setup = Setup::new();
    setup.fake.0.lock().down = true;
    let start = Instant::now();
    setup.recorder.record(&object("a"), synced());
    while setup.count("unsent") == 0 {
        sleep(SECOND).await;
    }
    assert_eq!(setup.fake.calls().len(), 12);
    assert!(
        (110..=150).contains(&start.elapsed().as_secs()),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn recording_never_waits_and_what_does_not_fit_is_dropped_and_counted() {
    let setup = Setup::new();
    setup.fake.0.lock().hangs = true;
    let start = Instant::now();
    for number in 0..2000 {
        setup.recorder.record(&object(&number.to_string()), synced());
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(setup.count("dropped"), 1000);
}

#[tokio::test(start_paused = true)]
async fn stopping_tells_what_is_left_and_the_counts_of_series() {
    let setup = Setup::new();
    for _ in 0..10 {
        setup.recorder.record(&object("a"), synced());
    }
    setup.recorder.record(&object("b"), synced());
    setup.stopper.stop();
    setup.writing.await.unwrap();
    let calls = setup.fake.calls();
    assert_eq!(calls.iter().filter(|(verb, _)| *verb == "create").count(), 2);
    assert_eq!(calls.last(), Some(&("patch", Some(10))));
    setup.recorder.record(&object("c"), synced());
    assert_eq!(setup.fake.calls(), []);
}

#[tokio::test(start_paused = true)]
async fn stopping_does_not_wait_for_a_server_that_hangs() {
    let setup = Setup::new();
    setup.fake.0.lock().hangs = true;
    for number in 0..100 {
        setup.recorder.record(&object(&number.to_string()), synced());
    }
    sleep(SECOND).await;
    let start = Instant::now();
    setup.stopper.stop();
    let Setup { writing, registry, .. } = setup;
    writing.await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 5);
    assert!(
        registry
            .render()
            .contains("kubewright_events_total{result=\"unsent\"} 100\n")
    );
}

#[tokio::test(start_paused = true)]
async fn one_noisy_object_does_not_silence_others() {
    let setup = Setup::new();
    for number in 0..100 {
        setup.recorder.record(
            &object("noisy"),
            EventNote::warning(format!("Reason{number}"), "Act", "text"),
        );
    }
    setup.recorder.record(&object("quiet"), synced());
    sleep(SECOND).await;
    assert_eq!(setup.count("sent"), 26);
    assert_eq!(setup.count("limited"), 75);
}

async fn events(server: &ApiServer, namespace: &str) -> Vec<Value> {
    let request = kube::core::request::Request::new(format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"));
    let request = request.list(&kube::core::params::ListParams::default()).unwrap();
    let list: Value = server.client().request(request).await.unwrap();
    list["items"].as_array().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn on_a_server_an_event_has_the_fields_client_go_gives_it() {
    let server = ApiServer::new(Options::new());
    let time: Timestamp = "2026-01-02T03:04:05.678901234Z".parse().unwrap();
    let parts = EventParts {
        clock: Clock::starting_at(time),
        random: Random::seeded(1),
        metrics: None,
    };
    let (recorder, writer) = EventRecorder::with("shop", "shop-host", parts);
    let mut settings = ConfigMap::default();
    settings.metadata.name = Some("settings".to_owned());
    settings.metadata.namespace = Some("default".to_owned());
    settings.metadata.uid = Some("1-2-3".to_owned());
    settings.metadata.resource_version = Some("7".to_owned());
    let mut node = Node::default();
    node.metadata.name = Some("node-1".to_owned());
    let said = EventNote::warning("Degraded", "Reconcile", "it is gone")
        .related(&node)
        .annotate("shop/team", "a");
    for _ in 0..3 {
        recorder.record(&settings, said.clone());
    }
    recorder.record(&node, EventNote::normal("Seen", "Look", "there it is"));
    let (stopper, stop) = Stopper::new();
    stopper.stop();
    writer.run_with(server.client(), stop).await;

    let listed = events(&server, "default").await;
    let about = |name: &str| {
        listed
            .iter()
            .find(|event| event["regarding"]["name"] == json!(name))
            .unwrap()
            .clone()
    };
    let event = about("settings");
    let name = format!("settings.{:x}", time.as_nanosecond());
    assert_eq!(event["metadata"]["name"], json!(name));
    assert_eq!(event["metadata"]["annotations"], json!({ "shop/team": "a" }));
    assert_eq!(event["eventTime"], json!("2026-01-02T03:04:05.678901Z"));
    assert_eq!(
        (&event["type"], &event["reason"], &event["action"]),
        (&json!("Warning"), &json!("Degraded"), &json!("Reconcile"))
    );
    assert_eq!(
        (&event["reportingController"], &event["reportingInstance"]),
        (&json!("shop"), &json!("shop-host"))
    );
    assert_eq!(event["note"], json!("it is gone"));
    assert_eq!(
        event["regarding"],
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings", "uid": "1-2-3",
            "resourceVersion": "7",
        })
    );
    assert_eq!(
        event["related"],
        json!({ "apiVersion": "v1", "kind": "Node", "name": "node-1" })
    );
    assert_eq!(event["series"]["count"], json!(3));
    // Events about objects outside namespaces are in `default`.
    assert_eq!(about("node-1")["note"], json!("there it is"));
}
