//! How the calls of a path ended so far, for the debug page.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::response::AdmissionResponse;

/// How a call of a path ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallVerdict {
    /// The request may go on. Of an endpoint that judges nothing: it was answered.
    Allowed,
    /// The request may not go on.
    Denied,
    /// The request could not be judged.
    Errored,
}

impl CallVerdict {
    pub(super) fn of(response: &AdmissionResponse) -> Self {
        match response.status.code {
            _ if response.allowed => CallVerdict::Allowed,
            400 | 413 | 500.. => CallVerdict::Errored,
            _ => CallVerdict::Denied,
        }
    }
}

/// The calls of one path.
#[derive(Debug, Default)]
pub(super) struct CallCounts {
    in_flight: AtomicU64,
    ended: [AtomicU64; 3],
    microseconds: AtomicU64,
}

/// The calls of one path at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    /// Those that are not answered yet.
    pub(crate) in_flight: u64,
    /// Those after which the request could go on.
    pub(crate) allowed: u64,
    /// Those that refused the request.
    pub(crate) denied: u64,
    /// Those that could not judge the request.
    pub(crate) errored: u64,
    /// How long those that were answered took, together.
    pub(crate) took: Duration,
}

impl CallCounts {
    pub(super) fn begin(&self) -> CountedCall<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        CountedCall {
            counts: self,
            began: Instant::now(),
        }
    }

    pub(super) fn now(&self) -> Calls {
        let [allowed, denied, errored] = [CallVerdict::Allowed, CallVerdict::Denied, CallVerdict::Errored]
            .map(|verdict| self.ended[verdict as usize].load(Ordering::Relaxed));
        Calls {
            in_flight: self.in_flight.load(Ordering::Relaxed),
            allowed,
            denied,
            errored,
            took: Duration::from_micros(self.microseconds.load(Ordering::Relaxed)),
        }
    }
}

/// A call in flight until it is dropped. One whose caller is gone before the answer ends without a verdict.
pub(super) struct CountedCall<'a> {
    counts: &'a CallCounts,
    began: Instant,
}

impl CountedCall<'_> {
    /// It is answered; returns how long that took.
    pub(super) fn end(self, verdict: CallVerdict) -> Duration {
        let took = self.began.elapsed();
        self.counts.ended[verdict as usize].fetch_add(1, Ordering::Relaxed);
        let microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.counts.microseconds.fetch_add(microseconds, Ordering::Relaxed);
        took
    }
}

impl Drop for CountedCall<'_> {
    fn drop(&mut self) {
        self.counts.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
