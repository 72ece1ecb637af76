//! The newest records that fit into so many bytes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::record::{TraceEvent, TraceRecord};
use super::scope::ReconcileId;

/// Where something happens.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) reconcile: Option<ReconcileId>,
    /// The newest revision of the server.
    pub(super) server: Option<u64>,
}

pub(super) struct Ring {
    records: VecDeque<Arc<TraceRecord>>,
    bytes: usize,
    limit: usize,
    /// The sequence number of the next record.
    next: u64,
    reconciles: u64,
}

impl Ring {
    pub(super) fn new(limit: usize) -> Self {
        Ring {
            records: VecDeque::new(),
            bytes: 0,
            limit,
            next: 0,
            reconciles: 0,
        }
    }

    /// Adds a record, forgets as many old ones as that needs, and returns the sequence number of the next.
    pub(super) fn push(&mut self, at: Duration, scope: Place, event: TraceEvent) -> u64 {
        let record = TraceRecord {
            sequence: self.next,
            at,
            reconcile: scope.reconcile,
            server: scope.server,
            event,
        };
        self.next += 1;
        self.bytes += record.bytes();
        self.records.push_back(Arc::new(record));
        while self.bytes > self.limit {
            let Some(oldest) = self.records.pop_front() else {
                break;
            };
            self.bytes -= oldest.bytes();
        }
        self.next
    }

    /// At most so many records from a sequence number on, and how many of those that were asked for are forgotten.
    pub(super) fn since(&self, sequence: u64, most: usize) -> (Vec<Arc<TraceRecord>>, u64) {
        let first = self.forgotten();
        let skipped = usize::try_from(sequence.saturating_sub(first)).unwrap_or(usize::MAX);
        let records = self.records.iter().skip(skipped).take(most).cloned().collect();
        (records, first.saturating_sub(sequence))
    }

    /// Sequence numbers have no gaps, so the first that is there says how many are not.
    pub(super) fn forgotten(&self) -> u64 {
        self.records.front().map_or(self.next, |first| first.sequence)
    }

    /// How many records there were.
    pub(super) fn count(&self) -> u64 {
        self.next
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn next_reconcile(&mut self) -> ReconcileId {
        self.reconciles += 1;
        ReconcileId(self.reconciles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{LogLevel, LogLine};

    fn line(text: &str) -> TraceEvent {
        TraceEvent::Logged(LogLine {
            level: LogLevel::Info,
            target: "test".into(),
            message: text.to_owned(),
        })
    }

    #[test]
    fn the_oldest_records_go_when_the_bytes_are_used_up() {
        let one = {
            let mut ring = Ring::new(usize::MAX);
            ring.push(Duration::ZERO, Place::default(), line("0"));
            ring.bytes()
        };
        let mut ring = Ring::new(one * 3);
        for number in 0..10 {
            ring.push(Duration::ZERO, Place::default(), line(&number.to_string()));
            assert!(ring.bytes() <= one * 3);
        }
        let (records, missed) = ring.since(0, usize::MAX);
        assert_eq!((records.len(), missed, ring.forgotten()), (3, 7, 7));
        assert_eq!(records[0].sequence, 7);
        let (records, missed) = ring.since(9, usize::MAX);
        assert_eq!((records.len(), missed), (1, 0));
        assert_eq!(ring.since(10, usize::MAX), (Vec::new(), 0));
        let (records, missed) = ring.since(0, 2);
        assert_eq!((records.len(), records[0].sequence, missed), (2, 7, 7));
    }

    #[test]
    fn a_record_larger_than_all_is_not_kept() {
        let mut ring = Ring::new(600);
        ring.push(Duration::ZERO, Place::default(), line("small"));
        ring.push(Duration::ZERO, Place::default(), line(&"x".repeat(1000)));
        assert_eq!((ring.bytes(), ring.forgotten()), (0, 2));
        ring.push(Duration::ZERO, Place::default(), line("small"));
        assert_eq!(ring.since(0, usize::MAX).0[0].sequence, 2);
    }
}
