//! The requests between the manager and the server: recorded, counted, and made to fail where a test injects faults.
//! [`Traffic`] is the record; [`layer`] writes it, on the manager's client.

mod fault;
mod journal;
mod lag;
mod layer;
mod observe;
mod request;
mod retry;
mod rewrite;
mod stream;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

pub(crate) use fault::ActiveFault;
pub use fault::{Effect, Fault, Injected, Requests};
pub(crate) use journal::{Journal, JournaledWrite, ReadAddress, ReadStrike, Right, Signal, Strike, WriteAddress};
pub(crate) use lag::{Lag, Lags, Lateness};
pub(crate) use layer::client;
pub(crate) use observe::observed_client;
pub(crate) use request::ApiRequest;
pub(crate) use rewrite::{Rewrite, rewriting_client};
pub(crate) use webhooks::{TROUBLE, WebhookCall, WebhookGate, WebhookTrouble};

/// The requests so far. Clones share the record.
#[derive(Clone, Debug)]
pub(crate) struct Traffic(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    log: Mutex<Log>,
    /// Counts answers, for waits until something happens.
    activity: watch::Sender<u64>,
    /// What a fault can interrupt.
    watches: stream::OpenWatches,
    /// Counts the managers that were started.
    lives: AtomicU64,
    /// Those that crashed.
    dead: Mutex<BTreeSet<u64>>,
    webhooks: WebhookGate,
    journal: Option<Journal>,
    lags: Lags,
}

#[derive(Debug, Default)]
struct Log {
    requests: BTreeMap<ApiRequest, Outcomes>,
    refused: Vec<Refusal>,
    /// How often each object was written since [`Traffic::count_writes`].
    writes: BTreeMap<String, u64>,
    /// How often all together.
    all_writes: u64,
    faults: Vec<ActiveFault>,
    recording: Option<Vec<RecordedWrite>>,
}

/// How often something was allowed and refused.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcomes {
    pub(crate) allowed: u64,
    pub(crate) refused: u64,
}

/// A request that the manager's role does not allow.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use kubewright_testing::TestEnv;
///
/// let env = TestEnv::builder().embedded().start().await;
/// assert!(env.take_refusals().is_empty());
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What the server said.
    pub message: String,
    /// The attribute that would allow it.
    pub rbac: String,
}

/// A write between [`Traffic::record`] and [`Traffic::recorded`]: the object before and after.
#[derive(Clone, Debug)]
pub(crate) struct RecordedWrite {
    pub(crate) api_request: ApiRequest,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
}

impl Traffic {
    pub(crate) fn new() -> Self {
        Self::with(None)
    }

    /// A record that also keeps the writes in order, and can strike one of them.
    pub(crate) fn journaled(journal: Journal) -> Self {
        Self::with(Some(journal))
    }

    fn with(journal: Option<Journal>) -> Self {
        Traffic(Arc::new(Shared {
            log: Mutex::default(),
            activity: watch::Sender::new(0),
            watches: stream::OpenWatches::default(),
            lives: AtomicU64::new(0),
            dead: Mutex::default(),
            webhooks: WebhookGate::default(),
            journal,
            lags: Lags::default(),
        }))
    }

    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.0.journal.as_ref()
    }

    /// The events that come late.
    pub(crate) fn lags(&self) -> &Lags {
        &self.0.lags
    }

    /// The resources that the manager watches, with their groups: `deployments.apps`.
    pub(crate) fn watched(&self) -> BTreeSet<String> {
        let log = self.0.log.lock();
        let watches = log.requests.keys().filter(|api_request| api_request.is_watch());
        watches.map(ApiRequest::resource_with_group).collect()
    }

    /// A number for a manager that starts.
    fn begin_life(&self) -> u64 {
        self.0.lives.fetch_add(1, Ordering::Relaxed)
    }

    /// From now on nothing is answered that this manager asks.
    fn end_life(&self, life: u64) {
        self.0.dead.lock().insert(life);
    }

    /// From now on nothing is answered that any manager asks that was started so far.
    pub(crate) fn end_lives(&self) {
        let started = self.0.lives.load(Ordering::Relaxed);
        self.0.dead.lock().extend(0..started);
    }

    fn is_dead(&self, life: u64) -> bool {
        self.0.dead.lock().contains(&life)
    }

    /// What stands before the operator's webhooks.
    pub(crate) fn webhooks(&self) -> &WebhookGate {
        &self.0.webhooks
    }

    /// Changes whenever a request of the manager or of the cluster's own controllers is answered.
    pub(crate) fn activity(&self) -> watch::Receiver<u64> {
        self.0.activity.subscribe()
    }

    fn note_activity(&self) {
        self.0.activity.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Refusals that no test has taken yet.
    pub(crate) fn refusals(&self) -> Vec<Refusal> {
        self.0.log.lock().refused.clone()
    }

    pub(crate) fn take_refusals(&self) -> Vec<Refusal> {
        std::mem::take(&mut self.0.log.lock().refused)
    }

    pub(crate) fn requests(&self) -> Vec<(ApiRequest, Outcomes)> {
        let log = self.0.log.lock();
        log.requests
            .iter()
            .map(|(api_request, outcomes)| (api_request.clone(), *outcomes))
            .collect()
    }

    /// Begins to count writes anew.
    pub(crate) fn count_writes(&self) {
        let mut log = self.0.log.lock();
        log.writes.clear();
        log.all_writes = 0;
    }

    /// The objects that were written, the most often written first.
    pub(crate) fn most_written(&self) -> Vec<(String, u64)> {
        let mut writes: Vec<_> = self.0.log.lock().writes.clone().into_iter().collect();
        writes.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
        writes
    }

    pub(crate) fn writes(&self) -> u64 {
        self.0.log.lock().all_writes
    }

    /// Begins to record writes.
    pub(crate) fn record(&self) {
        self.0.log.lock().recording = Some(Vec::new());
    }

    pub(crate) fn recorded(&self) -> Vec<RecordedWrite> {
        self.0.log.lock().recording.take().unwrap_or_default()
    }

    fn is_recording(&self) -> bool {
        self.0.log.lock().recording.is_some()
    }

    pub(crate) fn inject(&self, fault: Fault) -> Injected {
        let (active, injected) = ActiveFault::new(fault);
        if let Some(interruption) = active.interruption() {
            active.count_hit();
            self.0.watches.interrupt(&interruption);
        } else {
            self.0.log.lock().faults.push(active);
        }
        injected
    }

    pub(crate) fn clear_faults(&self) {
        self.0.log.lock().faults.clear();
    }
}
