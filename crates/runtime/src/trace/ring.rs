//! The newest records that fit into so many bytes.

use std::collections::VecDeque;
use std::time::Duration;

use super::raw::RawEvent;
use super::record::TraceRecord;
use super::scope::ReconcileId;

/// Where something happens.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub(super) reconcile: Option<ReconcileId>,
    /// The newest revision of the server.
    pub(super) server: Option<u64>,
}

/// One event, with when and where it happened.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// In nanoseconds, from the beginning of the trace.
    at: u64,
    place: Place,
    event: RawEvent,
}

impl Entry {
    pub(super) fn new(at: Duration, place: Place, event: RawEvent) -> Self {
        Entry {
            at: u64::try_from(at.as_nanos()).unwrap_or(u64::MAX),
            place,
            event,
        }
    }

    fn bytes(&self) -> usize {
        size_of::<Entry>() + self.event.bytes()
    }

    #[cfg(test)]
    pub(super) fn event(&self) -> &RawEvent {
        &self.event
    }

    /// The record as readers see it.
    pub(super) fn record(&self, sequence: u64) -> TraceRecord {
        TraceRecord {
            sequence,
            at: Duration::from_nanos(self.at),
            reconcile: self.place.reconcile,
            server: self.place.server,
            event: self.event.event(),
        }
    }
}

pub(super) struct Ring {
    entries: VecDeque<Entry>,
    bytes: usize,
    limit: usize,
    /// The sequence number of the next record.
    next: u64,
    /// When the newest record was made. Who read the clock before another may come after it.
    latest: u64,
}

impl Ring {
    pub(super) fn new(limit: usize) -> Self {
        Ring {
            entries: VecDeque::new(),
            bytes: 0,
            limit,
            next: 0,
            latest: 0,
        }
    }

    /// Adds a record and forgets as many old ones as that needs. Returns the sequence number of the next, and the oldest of those that are
    /// forgotten, which the caller drops when nobody waits for it any more.
    pub(super) fn push(&mut self, mut entry: Entry) -> (u64, Option<Entry>) {
        self.latest = self.latest.max(entry.at);
        entry.at = self.latest;
        self.next += 1;
        self.bytes += entry.bytes();
        let mut forgotten = None;
        while self.bytes > self.limit {
            let Some(oldest) = self.entries.pop_front() else {
                // It is larger than all that may be kept.
                self.bytes = 0;
                return (self.next, forgotten);
            };
            self.bytes -= oldest.bytes();
            forgotten.get_or_insert(oldest);
        }
        if self.entries.len() == self.entries.capacity() {
            // Not twice as many: the room that is not used yet is no part of the bytes.
            self.entries.reserve_exact(self.entries.len() / 4 + 16);
        }
        self.entries.push_back(entry);
        (self.next, forgotten)
    }

    /// At most so many entries from a sequence number on, the number of the first, and how many of those that were asked for are forgotten.
    pub(super) fn since(&self, sequence: u64, most: usize) -> (Vec<Entry>, u64, u64) {
        let forgotten = self.forgotten();
        let skipped = usize::try_from(sequence.saturating_sub(forgotten)).unwrap_or(usize::MAX);
        let entries = self.entries.iter().skip(skipped).take(most).cloned().collect();
        (entries, sequence.max(forgotten), forgotten.saturating_sub(sequence))
    }

    /// How many records are not there any more.
    pub(super) fn forgotten(&self) -> u64 {
        self.next - self.entries.len() as u64
    }

    /// How many records there were.
    pub(super) fn count(&self) -> u64 {
        self.next
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::LogLevel;
    use crate::trace::raw::RawLine;

    fn line(text: &str) -> Entry {
        let line = RawLine {
            level: LogLevel::Info,
            target: "test",
            message: text.into(),
        };
        Entry::new(Duration::ZERO, Place::default(), RawEvent::Logged(line))
    }

    /// How many records there are from one on, the first of them, and how many are forgotten.
    fn since(ring: &Ring, sequence: u64, most: usize) -> (usize, u64, u64) {
        let (entries, first, missed) = ring.since(sequence, most);
        (entries.len(), first, missed)
    }

    #[test]
    fn the_oldest_records_go_when_the_bytes_are_used_up() {
        let one = line("0").bytes();
        let mut ring = Ring::new(one * 3);
        for number in 0..10 {
            ring.push(line(&number.to_string()));
            assert!(ring.bytes() <= one * 3);
        }
        assert_eq!((since(&ring, 0, usize::MAX), ring.forgotten()), ((3, 7, 7), 7));
        assert_eq!(since(&ring, 9, usize::MAX), (1, 9, 0));
        assert_eq!(since(&ring, 10, usize::MAX), (0, 10, 0));
        assert_eq!(since(&ring, 0, 2), (2, 7, 7));
    }

    #[test]
    fn a_record_larger_than_all_is_not_kept() {
        let mut ring = Ring::new(600);
        ring.push(line("small"));
        ring.push(line(&"x".repeat(1000)));
        assert_eq!((ring.bytes(), ring.forgotten()), (0, 2));
        ring.push(line("small"));
        assert_eq!(since(&ring, 0, usize::MAX), (1, 2, 2));
    }

    #[test]
    fn the_room_for_records_is_no_larger_than_a_quarter_more_than_they_are() {
        let one = line("0").bytes();
        let mut ring = Ring::new(one * 1000);
        for number in 0..5000 {
            ring.push(line(&(number % 10).to_string()));
        }
        assert_eq!(ring.entries.len(), 1000);
        assert!(ring.entries.capacity() <= 1250 + 16, "{}", ring.entries.capacity());
    }
}
