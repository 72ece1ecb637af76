//! Elections on tokio's paused clock, on a lease in memory and on the embedded server.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kubewright_apiserver::{ApiServer, Options};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::election::{ElectionParts, run};
use super::leadership::{Leadership, Role};
use super::lock::{Lock, Problem};
use super::options::ElectionOptions;
use super::record::Record;
use super::{Election, Lost};
use crate::client::Fence;
use crate::clock::Clock;
use crate::events::EventRecorder;
use crate::metrics::{Registry, RuntimeMetrics};
use crate::random::Random;
use crate::stop::Stopper;

/// A lease in memory, and what is wrong with the way to it.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lease: Option<(Record, u64)>,
    version: u64,
    writes: u64,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Way {
    #[default]
    Open,
    /// Requests hang for ever.
    Cut,
    /// Requests do what they should, but nobody learns of it.
    Deaf,
}

/// One process's way to the lease.
#[derive(Clone)]
struct Wire {
    memory: Memory,
    way: Arc<Mutex<Way>>,
    version: u64,
}

impl Wire {
    async fn through<T>(
        &mut self,
        request: impl FnOnce(&mut State, &mut u64) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        if *self.way.lock() == Way::Cut {
            std::future::pending::<()>().await;
        }
        sleep(Duration::from_millis(1)).await;
        let answer = request(&mut self.memory.0.lock(), &mut self.version);
        if *self.way.lock() == Way::Deaf {
            std::future::pending::<()>().await;
        }
        answer
    }
}

impl State {
    fn write(&mut self, record: &Record) -> u64 {
        self.version += 1;
        self.writes += 1;
        self.lease = Some((record.clone(), self.version));
        self.version
    }
}

impl Lock for Wire {
    async fn read(&mut self) -> Result<Option<Record>, Problem> {
        self.through(|state, known| {
            *known = state.lease.as_ref().map_or(0, |(_, version)| *version);
            Ok(state.lease.as_ref().map(|(record, _)| record.clone()))
        })
        .await
    }

    async fn create(&mut self, record: &Record) -> Result<(), Problem> {
        let record = record.clone();
        self.through(move |state, known| {
            if state.lease.is_some() {
                return Err(Problem("exists".to_owned()));
            }
            *known = state.write(&record);
            Ok(())
        })
        .await
    }

    async fn update(&mut self, record: &Record) -> Result<(), Problem> {
        let record = record.clone();
        self.through(move |state, known| {
            if state.lease.as_ref().is_none_or(|(_, version)| version != known) {
                return Err(Problem("conflict".to_owned()));
            }
            *known = state.write(&record);
            Ok(())
        })
        .await
    }
}

/// A candidate that runs.
struct Candidate {
    leadership: Leadership,
    fence: Fence,
    stopper: Stopper,
    way: Arc<Mutex<Way>>,
    running: JoinHandle<Result<(), Lost>>,
}

impl Candidate {
    fn start(memory: &Memory, name: &str) -> Self {
        Self::start_at(memory, name, Timestamp::UNIX_EPOCH, 7)
    }

    fn start_at(memory: &Memory, name: &str, wall: Timestamp, seed: u64) -> Self {
        let options = ElectionOptions::new("ns", "lease");
        let way = Arc::new(Mutex::new(Way::Open));
        let wire = Wire {
            memory: memory.clone(),
            way: Arc::clone(&way),
            version: 0,
        };
        let mut parts = ElectionParts::new(name, Random::seeded(seed));
        parts.clock = Clock::starting_at(wall);
        let (leadership, fence) = (parts.leadership(&options), parts.fence.clone());
        let (stopper, stop) = Stopper::new();
        let running = tokio::spawn(run(wire, options, name.to_owned(), parts, stop));
        Candidate {
            leadership,
            fence,
            stopper,
            way,
            running,
        }
    }

    fn may_write(&self) -> bool {
        self.fence.check().is_ok()
    }

    fn role(&self) -> Role {
        self.leadership.status().role
    }
}

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

fn record(memory: &Memory) -> Record {
    memory.0.lock().lease.clone().unwrap().0
}

#[tokio::test(start_paused = true)]
async fn the_first_candidate_leads_and_renews_every_two_seconds() {
    let memory = Memory::default();
    let leader = Candidate::start(&memory, "a");
    assert!(leader.leadership.elected().await);
    assert!(leader.may_write());
    sleep(seconds(60)).await;
    assert!(leader.may_write());
    let writes = memory.0.lock().writes;
    assert!((29..=31).contains(&writes), "{writes}");
    let record = record(&memory);
    assert_eq!(
        (record.holder.as_str(), record.lease_seconds, record.transitions),
        ("a", 15, 0)
    );
    assert!(record.renewed > record.acquired);
}

#[tokio::test(start_paused = true)]
async fn of_two_candidates_that_race_one_leads() {
    for seed in 0..20 {
        let memory = Memory::default();
        let one = Candidate::start_at(&memory, "a", Timestamp::UNIX_EPOCH, seed);
        let other = Candidate::start_at(&memory, "b", Timestamp::UNIX_EPOCH, seed + 100);
        sleep(seconds(30)).await;
        assert!(one.may_write() != other.may_write());
        let holder = record(&memory).holder;
        for candidate in [&one, &other] {
            assert_eq!(candidate.leadership.leader().as_deref(), Some(holder.as_str()));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_taken_within_a_retry_and_not_after_its_duration() {
    let memory = Memory::default();
    let first = Candidate::start(&memory, "a");
    assert!(first.leadership.elected().await);
    let second = Candidate::start(&memory, "b");
    sleep(seconds(5)).await;
    first.stopper.stop();
    assert_eq!(first.running.await.unwrap(), Ok(()));
    assert!(first.fence.check().is_err());
    let released = record(&memory);
    assert_eq!(
        (released.holder.as_str(), released.lease_seconds, released.transitions),
        ("", 1, 0)
    );

    let start = Instant::now();
    assert!(second.leadership.elected().await);
    // Two seconds and at most 1.2 times as much of chance.
    assert!(start.elapsed() <= Duration::from_millis(4500), "{:?}", start.elapsed());
    assert_eq!(record(&memory).transitions, 1);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_stops_writing_before_anybody_else_starts() {
    let memory = Memory::default();
    let leader = Candidate::start(&memory, "a");
    assert!(leader.leadership.elected().await);
    let standby = Candidate::start(&memory, "b");
    sleep(seconds(5)).await;
    *leader.way.lock() = Way::Cut;
    let start = Instant::now();
    while !standby.may_write() {
        assert!(start.elapsed() < seconds(30));
        // It may start a write for ten seconds after its last renewal at the most.
        assert!(!leader.may_write() || start.elapsed() <= seconds(10));
        sleep(Duration::from_millis(10)).await;
    }
    assert!(!leader.may_write());
    assert!(start.elapsed() >= seconds(12), "{:?}", start.elapsed());
    assert_eq!(leader.role(), Role::Ended);
    assert_eq!(leader.running.await.unwrap(), Err(Lost));
    assert_eq!(record(&memory).transitions, 1);
}

#[tokio::test(start_paused = true)]
async fn a_short_cut_costs_nothing() {
    let memory = Memory::default();
    let leader = Candidate::start(&memory, "a");
    assert!(leader.leadership.elected().await);
    sleep(seconds(3)).await;
    *leader.way.lock() = Way::Cut;
    sleep(seconds(5)).await;
    assert!(leader.may_write());
    *leader.way.lock() = Way::Open;
    sleep(seconds(60)).await;
    assert!(leader.may_write());
    assert_eq!((leader.role(), record(&memory).transitions), (Role::Leading, 0));
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_answer_is_lost_is_found_by_reading() {
    let memory = Memory::default();
    let candidate = Candidate::start(&memory, "a");
    *candidate.way.lock() = Way::Deaf;
    sleep(seconds(4)).await;
    assert!(!candidate.may_write());
    *candidate.way.lock() = Way::Open;
    assert!(candidate.leadership.elected().await);
    // It was ours already: nothing changed hands.
    assert_eq!(record(&memory).transitions, 0);
}

#[tokio::test(start_paused = true)]
async fn wall_clocks_may_be_wrong_by_years() {
    let memory = Memory::default();
    let past = "1999-01-01T00:00:00Z".parse().unwrap();
    let future = "2099-01-01T00:00:00Z".parse().unwrap();
    let leader = Candidate::start_at(&memory, "a", past, 1);
    assert!(leader.leadership.elected().await);
    let standby = Candidate::start_at(&memory, "b", future, 2);
    // For its clock the lease ended a hundred years ago.
    sleep(seconds(300)).await;
    assert!(leader.may_write() && !standby.may_write());
    leader.running.abort();
    let _ = leader.running.await;
    let start = Instant::now();
    assert!(standby.leadership.elected().await);
    assert!(start.elapsed() >= seconds(12), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_frozen_leader_finds_its_fence_closed_and_gives_up_when_it_wakes() {
    let memory = Memory::default();
    let leader = Candidate::start(&memory, "a");
    assert!(leader.leadership.elected().await);
    let standby = Candidate::start(&memory, "b");
    sleep(seconds(5)).await;
    // All tasks of a frozen process stand still; that only its requests do is the same for everybody else.
    *leader.way.lock() = Way::Cut;
    assert!(standby.leadership.elected().await);
    *leader.way.lock() = Way::Open;
    assert!(!leader.may_write() && standby.may_write());
    leader.leadership.ended().await;
    assert_eq!(leader.running.await.unwrap(), Err(Lost));
    sleep(seconds(60)).await;
    assert!(standby.may_write());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_sees_another_holder_gives_up_at_once() {
    let memory = Memory::default();
    let leader = Candidate::start(&memory, "a");
    assert!(leader.leadership.elected().await);
    let thief = Record {
        holder: "thief".to_owned(),
        lease_seconds: 15,
        ..record(&memory)
    };
    memory.0.lock().write(&thief);
    let start = Instant::now();
    assert_eq!(leader.running.await.unwrap(), Err(Lost));
    assert!(start.elapsed() <= seconds(3));
    // What belongs to somebody else is not released.
    assert_eq!(record(&memory).holder, "thief");
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_stops_leaves_the_lease_alone() {
    let memory = Memory::default();
    let leader = Candidate::start(&memory, "a");
    assert!(leader.leadership.elected().await);
    let standby = Candidate::start(&memory, "b");
    sleep(seconds(3)).await;
    standby.stopper.stop();
    assert_eq!(standby.running.await.unwrap(), Ok(()));
    assert_eq!(record(&memory).holder, "a");
    assert!(!standby.leadership.elected().await);
}

#[tokio::test(start_paused = true)]
async fn health_fails_only_for_a_leader_that_hangs() {
    let memory = Memory::default();
    let leader = Candidate::start(&memory, "a");
    assert!(leader.leadership.check(seconds(20)).is_ok());
    assert!(leader.leadership.elected().await);
    sleep(seconds(100)).await;
    assert!(leader.leadership.check(seconds(20)).is_ok());
    leader.running.abort();
    let _ = leader.running.await;
    sleep(seconds(32)).await;
    assert!(leader.leadership.check(seconds(20)).is_ok());
    sleep(seconds(4)).await;
    let reason = leader.leadership.check(seconds(20)).unwrap_err();
    assert_eq!(reason, "failed election to renew leadership on lease lease");
}

async fn lease(client: &kube::Client, name: &str) -> Value {
    let request = kube::core::request::Request::new("/apis/coordination.k8s.io/v1/namespaces/default/leases");
    let request = request.get(name, &kube::core::params::GetParams::default()).unwrap();
    client.request(request).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn on_a_server_the_lease_looks_as_client_go_writes_it() {
    let server = ApiServer::new(Options::new());
    let registry = Registry::new();
    let metrics = RuntimeMetrics::register(&registry).unwrap();
    let mut options = ElectionOptions::new("default", "shop-leader");
    options.identity = Some("replica-1".to_owned());
    options.labels.insert("app".to_owned(), "shop".to_owned());
    let clock = Clock::starting_at("2026-01-02T03:04:05.678901Z".parse().unwrap());
    let (events, writer) = EventRecorder::new("replica-1", "replica-1");
    let (stopper, stop) = Stopper::new();
    let election = Election::new(server.client(), options)
        .unwrap()
        .with_clock(clock)
        .with_metrics(metrics.leader.clone())
        .with_events(events);
    assert!(
        registry
            .render()
            .contains("leader_election_master_status{name=\"shop-leader\"} 0\n")
    );
    let (leadership, fence) = (election.leadership(), election.fence());
    let running = tokio::spawn(election.run(stop));
    let (end, ending) = Stopper::new();
    let writing = tokio::spawn(writer.run_with(server.client(), ending));
    assert!(leadership.elected().await && fence.check().is_ok());
    assert!(
        registry
            .render()
            .contains("leader_election_master_status{name=\"shop-leader\"} 1\n")
    );

    let taken = lease(&server.client(), "shop-leader").await;
    assert_eq!(
        taken["spec"],
        json!({
            "holderIdentity": "replica-1", "leaseDurationSeconds": 15, "leaseTransitions": 0,
            "acquireTime": "2026-01-02T03:04:05.678901Z", "renewTime": "2026-01-02T03:04:05.678901Z",
        })
    );
    assert_eq!(taken["metadata"]["labels"], json!({ "app": "shop" }));
    sleep(seconds(5)).await;
    let renewed = lease(&server.client(), "shop-leader").await;
    assert_eq!(renewed["spec"]["acquireTime"], taken["spec"]["acquireTime"]);
    assert_ne!(renewed["spec"]["renewTime"], taken["spec"]["renewTime"]);

    stopper.stop();
    running.await.unwrap().unwrap();
    let released = lease(&server.client(), "shop-leader").await;
    assert_eq!(released["spec"]["holderIdentity"], json!(""));
    assert_eq!(released["spec"]["leaseDurationSeconds"], json!(1));
    assert!(
        registry
            .render()
            .contains("leader_election_master_status{name=\"shop-leader\"} 0\n")
    );

    end.stop();
    writing.await.unwrap();
    let request = kube::core::request::Request::new("/apis/events.k8s.io/v1/namespaces/default/events");
    let request = request.list(&kube::core::params::ListParams::default()).unwrap();
    let events: Value = server.client().request(request).await.unwrap();
    let events = events["items"].as_array().unwrap();
    let notes: Vec<&Value> = events.iter().map(|event| &event["note"]).collect();
    assert!(notes.contains(&&json!("replica-1 became leader")), "{notes:?}");
}

#[tokio::test(start_paused = true)]
async fn what_others_wrote_into_a_lease_stays() {
    let server = ApiServer::new(Options::new());
    let request = kube::core::request::Request::new("/apis/coordination.k8s.io/v1/namespaces/default/leases");
    let body = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": "old", "annotations": { "note": "keep" }, "labels": { "a": "b" } },
        "spec": { "holderIdentity": "gone", "leaseDurationSeconds": 3, "leaseTransitions": 4 },
    });
    let request = request
        .create(
            &kube::core::params::PostParams::default(),
            body.to_string().into_bytes(),
        )
        .unwrap();
    server.client().request::<Value>(request).await.unwrap();
    let election = Election::new(server.client(), ElectionOptions::new("default", "old")).unwrap();
    let leadership = election.leadership();
    let (_stopper, stop) = Stopper::new();
    let start = Instant::now();
    let running = tokio::spawn(election.run(stop));
    assert!(leadership.elected().await);
    // Its holder said three seconds; they count from when we saw it.
    assert!(start.elapsed() >= seconds(3), "{:?}", start.elapsed());
    let lease = lease(&server.client(), "old").await;
    assert_eq!(lease["spec"]["leaseTransitions"], json!(5));
    assert_eq!(lease["metadata"]["annotations"], json!({ "note": "keep" }));
    assert_eq!(lease["metadata"]["labels"], json!({ "a": "b" }));
    running.abort();
}
