//! The machine against a pretended cluster that forgets, refuses, cuts and closes, on a paused clock.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::Status;
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::failure::Failure;
use super::health::Health;
use super::machine::Machine;
use super::source::{Frames, ListRequest, Source, WatchRequest};
use super::target::{Target, Transform};
use crate::cache::{Event, Indexes, Query, Store, Subscription};
use crate::object::Kind;
use crate::random::Random;

#[derive(Clone, Debug)]
struct Change {
    revision: u64,
    kind: &'static str,
    object: Value,
}

#[derive(Default)]
struct Cluster {
    revision: u64,
    objects: BTreeMap<String, Value>,
    log: Vec<Change>,
    /// Changes up to here are forgotten.
    compacted: u64,
    /// What the next requests or frames meet, in order.
    faults: VecDeque<Fault>,
    refuses_streaming: bool,
    /// Knows how to stream the state, but not how to say where it ends.
    never_ends_the_state: bool,
    /// What discovery says; `None` if it may not be asked.
    discovery: Option<bool>,
    page: usize,
    requests: Vec<String>,
}

#[derive(Clone, Debug)]
enum Fault {
    None,
    Answer(u16),
    Broken,
    Compact,
    Close,
}

/// A pretended server; cloning shares it.
#[derive(Clone)]
struct Server {
    cluster: Arc<Mutex<Cluster>>,
    changed: Arc<Notify>,
}

impl Server {
    fn new() -> Self {
        let cluster = Cluster {
            revision: 10,
            page: 2,
            discovery: Some(true),
            ..Cluster::default()
        };
        Server {
            cluster: Arc::new(Mutex::new(cluster)),
            changed: Arc::new(Notify::new()),
        }
    }

    fn put(&self, name: &str) {
        let mut cluster = self.cluster.lock();
        cluster.revision += 1;
        let revision = cluster.revision;
        let uid = match cluster.objects.get(name) {
            Some(object) => object["metadata"]["uid"].clone(),
            None => format!("uid-{revision}").into(),
        };
        let object = json!({ "metadata": {
            "name": name, "namespace": "n", "uid": uid, "resourceVersion": revision.to_string(),
        }, "data": { "big": "x" } });
        let kind = if cluster.objects.contains_key(name) {
            "MODIFIED"
        } else {
            "ADDED"
        };
        cluster.objects.insert(name.to_owned(), object.clone());
        cluster.log.push(Change { revision, kind, object });
        self.changed.notify_waiters();
    }

    fn delete(&self, name: &str) {
        let mut cluster = self.cluster.lock();
        if let Some(mut object) = cluster.objects.remove(name) {
            cluster.revision += 1;
            let revision = cluster.revision;
            object["metadata"]["resourceVersion"] = revision.to_string().into();
            cluster.log.push(Change {
                revision,
                kind: "DELETED",
                object,
            });
            self.changed.notify_waiters();
        }
    }

    fn fail(&self, faults: &[Fault]) {
        self.cluster.lock().faults.extend(faults.iter().cloned());
    }

    fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.cluster.lock().requests)
    }

    fn fault(&self) -> Fault {
        let mut cluster = self.cluster.lock();
        match cluster.faults.pop_front() {
            Some(Fault::Compact) => {
                cluster.compacted = cluster.revision;
                Fault::None
            }
            Some(fault) => fault,
            None => Fault::None,
        }
    }

    fn meet(&self) -> Result<(), Failure> {
        match self.fault() {
            Fault::Answer(code) => Err(answer(code)),
            Fault::Broken | Fault::Close => Err(Failure::transport("broken")),
            Fault::None | Fault::Compact => Ok(()),
        }
    }
}

fn answer(code: u16) -> Failure {
    Failure::Status(Status::failure("the server says no", "").with_code(code).boxed())
}

fn line(kind: &str, object: &Value) -> Bytes {
    serde_json::to_vec(&json!({ "type": kind, "object": object }))
        .unwrap()
        .into()
}

impl Source for Server {
    type Frames = ServerFrames;

    async fn list(&self, request: &ListRequest) -> Result<Bytes, Failure> {
        let limited = request.limit.is_some();
        let name = if limited { "list" } else { "list all" };
        self.cluster
            .lock()
            .requests
            .push(format!("{name} {}", request.continue_token).trim_end().to_owned());
        self.meet()?;
        let cluster = self.cluster.lock();
        // A token is the revision of the first page and the last name of the page before.
        let (revision, last) = match request.continue_token.split_once(':') {
            None => (cluster.revision, ""),
            Some((revision, last)) => (revision.parse().unwrap(), last),
        };
        if revision < cluster.compacted {
            return Err(answer(410));
        }
        // Pages are of one revision: changes after it are undone.
        let mut objects = BTreeMap::new();
        for change in cluster.log.iter().filter(|change| change.revision <= revision) {
            let name = change.object["metadata"]["name"].as_str().unwrap().to_owned();
            match change.kind {
                "DELETED" => _ = objects.remove(&name),
                _ => _ = objects.insert(name, change.object.clone()),
            }
        }
        let rest: Vec<_> = objects.into_iter().filter(|(name, _)| name.as_str() > last).collect();
        let page: Vec<_> = rest
            .iter()
            .take(if limited { cluster.page } else { usize::MAX })
            .collect();
        let token = match page.last() {
            Some((name, _)) if page.len() < rest.len() => format!("{revision}:{name}"),
            _ => String::new(),
        };
        let items: Vec<_> = page.iter().map(|(_, object)| object).collect();
        let body =
            json!({ "metadata": { "resourceVersion": revision.to_string(), "continue": token }, "items": items });
        Ok(serde_json::to_vec(&body).unwrap().into())
    }

    async fn is_served(&self) -> Result<bool, Failure> {
        let mut cluster = self.cluster.lock();
        cluster.requests.push("discovery".to_owned());
        cluster.discovery.ok_or_else(|| answer(403))
    }

    async fn watch(&self, request: &WatchRequest) -> Result<ServerFrames, Failure> {
        let said = match request {
            WatchRequest::State => "stream".to_owned(),
            WatchRequest::After(revision) => format!("watch {revision}"),
        };
        self.cluster.lock().requests.push(said);
        self.meet()?;
        let cluster = self.cluster.lock();
        let (next, pending) = match request {
            WatchRequest::State => {
                if cluster.refuses_streaming {
                    return Err(answer(422));
                }
                let mut pending: VecDeque<_> = cluster.objects.values().map(|object| line("ADDED", object)).collect();
                if !cluster.never_ends_the_state {
                    pending.push_back(line(
                        "BOOKMARK",
                        &json!({ "metadata": {
                            "resourceVersion": cluster.revision.to_string(),
                            "annotations": { "k8s.io/initial-events-end": "true" },
                        } }),
                    ));
                }
                (cluster.revision, pending)
            }
            WatchRequest::After(revision) => (revision.parse().unwrap(), VecDeque::new()),
        };
        drop(cluster);
        Ok(ServerFrames {
            server: self.clone(),
            next,
            pending,
        })
    }
}

struct ServerFrames {
    server: Server,
    next: u64,
    pending: VecDeque<Bytes>,
}

impl Frames for ServerFrames {
    async fn next(&mut self) -> Option<Result<Bytes, Failure>> {
        loop {
            let changed = self.server.changed.notified();
            let ready = if let Some(line) = self.pending.pop_front() {
                Some(line)
            } else {
                let cluster = self.server.cluster.lock();
                if self.next < cluster.compacted {
                    let expired = Status::failure("too old resource version", "Expired").with_code(410);
                    return Some(Ok(line("ERROR", &serde_json::to_value(expired).unwrap())));
                }
                let change = cluster.log.iter().find(|change| change.revision > self.next);
                change.map(|change| {
                    self.next = change.revision;
                    line(change.kind, &change.object)
                })
            };
            match ready {
                Some(ready) => {
                    return match self.server.fault() {
                        Fault::None | Fault::Compact => Some(Ok(ready)),
                        Fault::Close => None,
                        Fault::Broken => Some(Err(Failure::transport("cut"))),
                        Fault::Answer(code) => {
                            let status = Status::failure("broken in the middle", "").with_code(code);
                            Some(Ok(line("ERROR", &serde_json::to_value(status).unwrap())))
                        }
                    };
                }
                None => changed.await,
            }
        }
    }
}

struct Running {
    store: Store,
    health: watch::Receiver<Health>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn run(server: &Server) -> Running {
    run_target(server, Target::new(Kind::of::<ConfigMap>()))
}

fn run_target(server: &Server, target: Target) -> Running {
    let store = Store::new(Kind::of::<ConfigMap>(), Indexes::default());
    let (sender, health) = watch::channel(Health::Starting);
    let mut machine = Machine::new(server.clone(), target, store.writer(None), Random::seeded(1), sender);
    Running {
        store,
        health,
        task: tokio::spawn(async move { machine.run().await }),
    }
}

/// Nothing is runnable any more, and no back-off has passed.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

fn names(store: &Store) -> Vec<String> {
    let records = store.list(&Query::all()).unwrap();
    records.iter().map(|record| record.key().name().to_owned()).collect()
}

fn heard(events: &mut Subscription) -> Vec<String> {
    std::iter::from_fn(|| events.try_next())
        .map(|event| match event {
            Event::Added { object, .. } => format!("+{}", object.key().name()),
            Event::Updated { new, .. } => format!("~{}", new.key().name()),
            Event::Deleted { last, known } => format!("-{}{}", last.key().name(), if known { "" } else { "?" }),
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_begins_with_the_state_needs_one_request() {
    let server = Server::new();
    server.put("a");
    server.put("b");
    let running = run(&server);
    running.store.synced().await;
    assert_eq!(names(&running.store), ["a", "b"]);
    server.put("c");
    server.delete("a");
    settle().await;
    assert_eq!(names(&running.store), ["b", "c"]);
    assert_eq!(server.requests(), ["stream"]);
    assert_eq!(*running.health.borrow(), Health::Watching);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_stream_the_state_is_listed_in_pages() {
    let server = Server::new();
    server.cluster.lock().refuses_streaming = true;
    for name in ["a", "b", "c", "d", "e"] {
        server.put(name);
    }
    let running = run(&server);
    running.store.synced().await;
    settle().await;
    assert_eq!(names(&running.store), ["a", "b", "c", "d", "e"]);
    assert_eq!(
        server.requests(),
        ["stream", "list", "list 15:b", "list 15:d", "watch 15"]
    );
}

#[tokio::test(start_paused = true)]
async fn pages_that_expire_on_the_way_are_asked_for_at_once() {
    let server = Server::new();
    server.cluster.lock().refuses_streaming = true;
    for name in ["a", "b", "c"] {
        server.put(name);
    }
    server.fail(&[Fault::None, Fault::None, Fault::Answer(410)]);
    let running = run(&server);
    running.store.synced().await;
    settle().await;
    assert_eq!(
        server.requests(),
        ["stream", "list", "list 13:b", "list all", "watch 13"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_relist_after_410_reports_what_was_missed() {
    let server = Server::new();
    for name in ["a", "b"] {
        server.put(name);
    }
    let running = run(&server);
    running.store.synced().await;
    let mut events = running.store.subscribe();
    assert_eq!(heard(&mut events), ["+a", "+b"]);
    // The watch breaks; while it is down one object goes, one changes, one comes, and history is forgotten.
    server.fail(&[Fault::None, Fault::Broken]);
    server.put("a");
    server.put("a");
    settle().await;
    server.delete("b");
    server.put("c");
    {
        let mut cluster = server.cluster.lock();
        cluster.compacted = cluster.revision;
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(heard(&mut events), ["~a", "~a", "+c", "-b?"]);
}

#[tokio::test(start_paused = true)]
async fn a_broken_watch_resumes_where_it_was() {
    let server = Server::new();
    let running = run(&server);
    running.store.synced().await;
    server.put("a");
    settle().await;
    server.fail(&[Fault::Close]);
    server.put("b");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(names(&running.store), ["a", "b"]);
    assert_eq!(server.requests(), ["stream", "watch 11"]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_watch_is_reported_by_name_and_retried() {
    let server = Server::new();
    server.fail(&vec![Fault::Answer(403); 4]);
    let running = run_target(&server, Target::new(Kind::of::<ConfigMap>()).namespace("n"));
    settle().await;
    let trouble = running.health.borrow().trouble().cloned().unwrap();
    assert_eq!(
        trouble.to_string(),
        "watching ConfigMap in namespace n is refused: the server says no (403)"
    );
    running.store.synced().await;
    assert_eq!(*running.health.borrow(), Health::Watching);
}

#[tokio::test(start_paused = true)]
async fn failures_in_a_row_back_off_and_a_good_watch_ends_that() {
    let server = Server::new();
    server.fail(&vec![Fault::Answer(500); 12]);
    let start = Instant::now();
    let running = run(&server);
    running.store.synced().await;
    // 0.2 + 0.4 + … + 25.6 + 4 × 30 s, each up to twice as long.
    let took = start.elapsed().as_secs_f64();
    assert!((171.0..343.0).contains(&took), "{took}");
    assert_eq!(running.health.borrow().trouble(), None);
    server.put("a");
    settle().await;
    server.fail(&[Fault::Broken]);
    server.put("b");
    tokio::time::sleep(Duration::from_millis(401)).await;
    assert_eq!(names(&running.store), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_closes_at_once_again_and_again_is_not_a_busy_loop() {
    let server = Server::new();
    server.put("a");
    let running = run(&server);
    running.store.synced().await;
    settle().await;
    server.requests();
    server.put("b");
    settle().await;
    server.fail(&vec![Fault::Close; 50]);
    server.put("c");
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(server.requests().len() < 12);
}

/// Takes the kind away, or brings it back.
fn serve(server: &Server, is_there: bool) {
    let mut cluster = server.cluster.lock();
    cluster.discovery = Some(is_there);
    cluster.faults.clear();
    if !is_there {
        cluster.faults.extend([Fault::Broken, Fault::Answer(404)]);
    }
    drop(cluster);
    if !is_there {
        server.changed.notify_waiters();
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_yet_is_waited_for_by_asking_discovery() {
    let server = Server::new();
    server.put("a");
    server.cluster.lock().discovery = Some(false);
    server.fail(&[Fault::Answer(404)]);
    let running = run(&server);
    tokio::time::sleep(Duration::from_mins(10)).await;
    let health = running.health.borrow().clone();
    assert!(health.is_missing());
    assert_eq!(
        health.trouble().unwrap().to_string(),
        "ConfigMap is not served; waiting for its CustomResourceDefinition"
    );
    // One question for the objects, and then a cheap one every ten seconds.
    let requests = server.requests();
    assert_eq!(requests.iter().filter(|request| *request != "discovery").count(), 1);
    assert!((55..70).contains(&requests.len()), "{}", requests.len());
    serve(&server, true);
    // A kind that appears is found within the longest wait.
    tokio::time::timeout(Duration::from_secs(12), running.store.synced())
        .await
        .unwrap();
    assert_eq!(*running.health.borrow(), Health::Watching);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_vanishes_takes_its_objects_along_and_comes_back_by_itself() {
    let server = Server::new();
    server.put("a");
    let running = run(&server);
    running.store.synced().await;
    let mut events = running.store.subscribe();
    heard(&mut events);
    serve(&server, false);
    server.put("a");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(heard(&mut events), ["-a?"]);
    assert!(!running.store.is_synced());
    assert!(running.health.borrow().is_missing());
    server.requests();
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert!(server.requests().iter().all(|request| request == "discovery"));
    assert_eq!(heard(&mut events), [] as [&str; 0]);

    serve(&server, true);
    running.store.synced().await;
    assert_eq!(heard(&mut events), ["+a"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_behind_the_others_makes_nobody_forget_anything() {
    let server = Server::new();
    server.put("a");
    let running = run(&server);
    running.store.synced().await;
    let mut events = running.store.subscribe();
    heard(&mut events);
    // Discovery still knows the kind, so the answers are not believed.
    server.fail(&[
        Fault::Broken,
        Fault::Answer(404),
        Fault::Answer(404),
        Fault::Answer(404),
        Fault::Answer(404),
    ]);
    server.put("b");
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(heard(&mut events), ["+b"]);
    assert_eq!(*running.health.borrow(), Health::Watching);
}

#[tokio::test(start_paused = true)]
async fn who_may_not_ask_discovery_believes_the_second_answer() {
    let server = Server::new();
    server.put("a");
    server.cluster.lock().discovery = None;
    let running = run(&server);
    running.store.synced().await;
    let mut events = running.store.subscribe();
    heard(&mut events);
    server.fail(&[Fault::Broken, Fault::Answer(404), Fault::Answer(404)]);
    server.put("a");
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(heard(&mut events), ["-a?", "+a"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_say_where_the_state_ends_is_listed() {
    let server = Server::new();
    server.cluster.lock().never_ends_the_state = true;
    server.put("a");
    let running = run(&server);
    tokio::time::timeout(Duration::from_secs(11), running.store.synced())
        .await
        .unwrap();
    assert_eq!(names(&running.store), ["a"]);
    assert_eq!(server.requests(), ["stream", "list", "watch 11"]);
    server.put("b");
    settle().await;
    assert_eq!(names(&running.store), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_dead_connection_is_noticed() {
    let server = Server::new();
    let running = run(&server);
    running.store.synced().await;
    server.requests();
    tokio::time::sleep(Duration::from_secs(307)).await;
    assert_eq!(server.requests(), ["watch 10"]);
}

#[tokio::test(start_paused = true)]
async fn a_transform_saves_memory_and_cannot_do_harm() {
    let server = Server::new();
    server.put("a");
    server.put("rename");
    server.put("panic");
    let transform = Transform::new(|object| {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        assert_ne!(name, "panic");
        if name == "rename" {
            object["metadata"]["name"] = "other".into();
        }
        object.as_object_mut().unwrap().remove("data");
    });
    let running = run_target(&server, Target::new(Kind::of::<ConfigMap>()).transform(transform));
    running.store.synced().await;
    let data = |name: &str| {
        running
            .store
            .get(&format!("n/{name}"))
            .unwrap()
            .decode::<ConfigMap>()
            .unwrap()
            .data
    };
    assert_eq!(data("a"), None);
    assert!(data("rename").is_some());
    assert!(data("panic").is_some());
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8),
    Delete(u8),
    Fault(Fault),
    Sleep(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let fault = prop_oneof![
        Just(Fault::None),
        Just(Fault::Broken),
        Just(Fault::Close),
        Just(Fault::Compact),
        prop::sample::select(vec![403, 404, 409, 410, 422, 429, 500, 504]).prop_map(Fault::Answer),
    ];
    prop_oneof![
        4 => (0_u8..8).prop_map(Step::Put),
        2 => (0_u8..8).prop_map(Step::Delete),
        4 => fault.prop_map(Step::Fault),
        2 => (0_u16..3000).prop_map(Step::Sleep),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_the_server_does_the_store_ends_up_equal_to_it(
        steps in prop::collection::vec(step(), 0..60),
        refuses_streaming in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let server = Server::new();
            server.cluster.lock().refuses_streaming = refuses_streaming;
            let running = run(&server);
            let mut events = running.store.subscribe();
            for step in steps {
                match step {
                    Step::Put(name) => server.put(&name.to_string()),
                    Step::Delete(name) => server.delete(&name.to_string()),
                    Step::Fault(fault) => server.fail(&[fault]),
                    Step::Sleep(millis) => tokio::time::sleep(Duration::from_millis(millis.into())).await,
                }
            }
            server.cluster.lock().faults.clear();
            tokio::time::sleep(Duration::from_mins(2)).await;

            let held = running.store.list(&Query::all()).unwrap();
            let revisions: BTreeMap<_, _> = held
                .iter()
                .map(|record| (record.key().name().to_owned(), record.resource_version().into_owned()))
                .collect();
            let wanted: BTreeMap<_, _> = server
                .cluster
                .lock()
                .objects
                .iter()
                .map(|(name, object)| (name.clone(), object["metadata"]["resourceVersion"].as_str().unwrap().to_owned()))
                .collect();
            assert_eq!(revisions, wanted);
            // And whoever only listened knows the same.
            let mut believed = BTreeMap::new();
            while let Some(event) = events.try_next() {
                let name = event.key().name().to_owned();
                match event {
                    Event::Deleted { .. } => assert!(believed.remove(&name).is_some()),
                    other => _ = believed.insert(name, other.object().resource_version().into_owned()),
                }
            }
            assert_eq!(believed, wanted);
        });
    }
}
