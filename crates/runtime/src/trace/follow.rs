//! Reading a trace as it grows.

use std::sync::Arc;

use tokio::sync::watch;

use super::Trace;
use super::record::TraceRecord;

/// Reads the records of a trace as they come. See [`Trace::follow`].
#[derive(Debug)]
pub struct Follower {
    trace: Trace,
    grown: Option<watch::Receiver<u64>>,
    /// The sequence number of the next record to read.
    next: u64,
    missed: u64,
}

impl Follower {
    pub(super) fn new(trace: Trace) -> Self {
        let next = trace.count();
        Self::starting_at(trace, next)
    }

    pub(super) fn starting_at(trace: Trace, next: u64) -> Self {
        // Before the first look into the trace, so that what is recorded after it wakes this.
        let grown = trace.grown();
        Follower {
            trace,
            grown,
            next,
            missed: 0,
        }
    }

    /// Waits until there are records that were not read yet, and returns them, at least one. Waits forever if the trace is off.
    pub async fn next(&mut self) -> Vec<Arc<TraceRecord>> {
        self.next_up_to(usize::MAX).await
    }

    /// The same with at most so many records; the others stay where they are until they are read or forgotten.
    pub(crate) async fn next_up_to(&mut self, most: usize) -> Vec<Arc<TraceRecord>> {
        loop {
            let (records, missed) = self.trace.since(self.next, most);
            self.missed += missed;
            self.next += missed;
            if let Some(last) = records.last() {
                self.next = last.sequence + 1;
                return records;
            }
            let next = self.next;
            match &mut self.grown {
                // The trace holds the sender, and this holds the trace.
                Some(grown) => _ = grown.wait_for(|known| *known > next).await,
                None => std::future::pending().await,
            }
        }
    }

    /// How many records were forgotten before they were read.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}
