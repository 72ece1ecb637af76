//! What passes between the manager and the server: seen, counted, and disturbed where a test wants it so.
//! [`Traffic`] is the record; [`layer`] is where it is written, on the manager's client.

mod asked;
mod fault;
mod heard;
mod layer;
mod stream;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

pub(crate) use asked::Asked;
pub(crate) use fault::Armed;
pub use fault::{Effect, Fault, Injected, Requests};
pub(crate) use heard::heard;
pub(crate) use layer::client;

/// What passed so far. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Traffic(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    log: Mutex<Log>,
    /// Counts what passed, for those who wait for something to happen.
    beats: watch::Sender<u64>,
    /// What ends the watches that are open, newest last.
    cuts: watch::Sender<Vec<stream::Cut>>,
}

#[derive(Debug, Default)]
struct Log {
    asked: BTreeMap<Asked, Outcomes>,
    refused: Vec<Refusal>,
    /// How often each object was written, since somebody began to count.
    writes: BTreeMap<String, u64>,
    faults: Vec<Armed>,
    recording: Option<Vec<Written>>,
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

/// A write while somebody records: what was there before and what is there now.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) asked: Asked,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
}

impl Traffic {
    pub(crate) fn new() -> Self {
        Traffic(Arc::new(Shared {
            log: Mutex::default(),
            beats: watch::Sender::new(0),
            cuts: watch::Sender::new(Vec::new()),
        }))
    }

    /// Told whenever a request of the manager, or of the cluster's own controllers, was answered.
    pub(crate) fn beats(&self) -> watch::Receiver<u64> {
        self.0.beats.subscribe()
    }

    fn beat(&self) {
        self.0.beats.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// What was refused and nobody took note of yet.
    pub(crate) fn refusals(&self) -> Vec<Refusal> {
        self.0.log.lock().refused.clone()
    }

    pub(crate) fn take_refusals(&self) -> Vec<Refusal> {
        std::mem::take(&mut self.0.log.lock().refused)
    }

    pub(crate) fn asked(&self) -> Vec<(Asked, Outcomes)> {
        let log = self.0.log.lock();
        log.asked
            .iter()
            .map(|(asked, outcomes)| (asked.clone(), *outcomes))
            .collect()
    }

    /// Begins to count writes anew.
    pub(crate) fn count_writes(&self) {
        self.0.log.lock().writes.clear();
    }

    /// The objects that were written, the most often written first.
    pub(crate) fn hottest(&self) -> Vec<(String, u64)> {
        let mut writes: Vec<_> = self.0.log.lock().writes.clone().into_iter().collect();
        writes.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
        writes
    }

    pub(crate) fn writes(&self) -> u64 {
        self.0.log.lock().writes.values().sum()
    }

    /// Begins to keep what writes change.
    pub(crate) fn record(&self) {
        self.0.log.lock().recording = Some(Vec::new());
    }

    pub(crate) fn recorded(&self) -> Vec<Written> {
        self.0.log.lock().recording.take().unwrap_or_default()
    }

    fn is_recording(&self) -> bool {
        self.0.log.lock().recording.is_some()
    }

    pub(crate) fn inject(&self, fault: Fault) -> Injected {
        let (armed, injected) = Armed::new(fault);
        if let Some(cut) = armed.cut() {
            armed.strike();
            self.0.cuts.send_modify(|cuts| cuts.push(cut));
        } else {
            self.0.log.lock().faults.push(armed);
        }
        injected
    }

    pub(crate) fn clear_faults(&self) {
        self.0.log.lock().faults.clear();
    }
}
