//! What a controller did so far, for metrics and diagnostics.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::trace::Outcome;

/// Upper bounds of the histogram of reconcile times, in milliseconds; controller-runtime's own.
const TIME_BOUNDS_MS: [u64; 40] = [
    5, 10, 25, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 600, 700, 800, 900, 1000, 1250, 1500, 1750, 2000, 2500,
    3000, 3500, 4000, 4500, 5000, 6000, 7000, 8000, 9000, 10_000, 15_000, 20_000, 25_000, 30_000, 40_000, 50_000,
    60_000,
];

#[derive(Debug)]
struct Times {
    buckets: [u64; TIME_BOUNDS_MS.len()],
    sum: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Times {
            buckets: [0; TIME_BOUNDS_MS.len()],
            sum: Duration::ZERO,
        }
    }
}

#[derive(Debug, Default)]
struct Counters {
    outcomes: [AtomicU64; 4],
    terminal_errors: AtomicU64,
    panics: AtomicU64,
    timeouts: AtomicU64,
    active: AtomicI64,
    times: Mutex<Times>,
    last_error: Mutex<Option<String>>,
}

/// What a controller did so far. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct ControllerStats(Arc<Counters>);

/// The numbers at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Reconciles that succeeded.
    pub success: u64,
    /// Reconciles that asked for another one after a delay.
    pub requeue_after: u64,
    /// Reconciles that asked for another one soon.
    pub requeue: u64,
    /// Reconciles that failed, for whatever reason.
    pub errors: u64,
    /// Of those: failures that are not tried again.
    pub terminal_errors: u64,
    /// Of those: panics.
    pub panics: u64,
    /// Of those: reconciles that took too long.
    pub timeouts: u64,
    /// Workers that reconcile at this moment.
    pub active: i64,
    /// The sum of all reconcile times.
    pub time: Duration,
    /// How many reconciles took at most so long, by the bounds of controller-runtime's histogram.
    pub buckets: Vec<u64>,
    /// The last failure, with its request.
    pub last_error: Option<String>,
}

impl Snapshot {
    /// All reconciles that ended.
    pub fn total(&self) -> u64 {
        self.success + self.requeue_after + self.requeue + self.errors
    }
}

impl ControllerStats {
    pub(super) fn began(&self) {
        self.0.active.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ended(&self, outcome: Outcome, took: Duration) {
        self.0.active.fetch_sub(1, Ordering::Relaxed);
        self.0.outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
        let mut times = self.0.times.lock();
        times.sum += took;
        for (bound, bucket) in TIME_BOUNDS_MS.iter().zip(&mut times.buckets) {
            if took <= Duration::from_millis(*bound) {
                *bucket += 1;
            }
        }
    }

    pub(super) fn failed(&self, what: String) {
        *self.0.last_error.lock() = Some(what);
    }

    pub(super) fn panicked(&self) {
        self.0.panics.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn timed_out(&self) {
        self.0.timeouts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn failed_for_good(&self) {
        self.0.terminal_errors.fetch_add(1, Ordering::Relaxed);
    }

    /// The numbers now.
    pub fn snapshot(&self) -> Snapshot {
        let count = |outcome: Outcome| self.0.outcomes[outcome as usize].load(Ordering::Relaxed);
        let times = self.0.times.lock();
        Snapshot {
            success: count(Outcome::Success),
            requeue_after: count(Outcome::RequeueAfter),
            requeue: count(Outcome::Requeue),
            errors: count(Outcome::Error),
            terminal_errors: self.0.terminal_errors.load(Ordering::Relaxed),
            panics: self.0.panics.load(Ordering::Relaxed),
            timeouts: self.0.timeouts.load(Ordering::Relaxed),
            active: self.0.active.load(Ordering::Relaxed),
            time: times.sum,
            buckets: times.buckets.to_vec(),
            last_error: self.0.last_error.lock().clone(),
        }
    }
}
