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

/// As many pieces make up a ring that is full, and as many entries has a piece at most.
const PIECES: usize = 16;
const MOST_IN_A_PIECE: usize = 256;
/// As many pieces that are used up wait to be used again.
const MOST_SPARE: usize = 2;

/// In pieces, so that nothing that is recorded is copied when there is more of it: while a trace fills, that would cost more than the
/// recording.
pub(super) struct Ring {
    /// All but the first and the last have as many entries as a piece may have.
    pieces: VecDeque<VecDeque<Entry>>,
    spare: Vec<VecDeque<Entry>>,
    /// As many entries a piece may have.
    piece: usize,
    /// How many there are in all pieces.
    len: usize,
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
            pieces: VecDeque::new(),
            spare: Vec::new(),
            piece: (limit / size_of::<Entry>() / PIECES).clamp(1, MOST_IN_A_PIECE),
            len: 0,
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
            let Some(oldest) = self.pop() else {
                // It is larger than all that may be kept.
                self.bytes = 0;
                return (self.next, forgotten);
            };
            self.bytes -= oldest.bytes();
            forgotten.get_or_insert(oldest);
        }
        self.last_piece().push_back(entry);
        self.len += 1;
        (self.next, forgotten)
    }

    /// Takes the oldest entry out.
    fn pop(&mut self) -> Option<Entry> {
        let first = self.pieces.front_mut()?;
        let oldest = first.pop_front()?;
        self.len -= 1;
        if first.is_empty()
            && let Some(empty) = self.pieces.pop_front()
            && self.spare.len() < MOST_SPARE
        {
            self.spare.push(empty);
        }
        Some(oldest)
    }

    /// The piece with room for the next entry.
    fn last_piece(&mut self) -> &mut VecDeque<Entry> {
        if self.pieces.back().is_none_or(|last| last.len() == self.piece) {
            let spare = self.spare.pop();
            let piece = spare.unwrap_or_else(|| VecDeque::with_capacity(self.piece));
            self.pieces.push_back(piece);
        }
        let last = self.pieces.len() - 1;
        &mut self.pieces[last]
    }

    /// At most so many entries from a sequence number on, the number of the first, and how many of those that were asked for are forgotten.
    pub(super) fn since(&self, sequence: u64, most: usize) -> (Vec<Entry>, u64, u64) {
        let forgotten = self.forgotten();
        let skipped = usize::try_from(sequence.saturating_sub(forgotten)).unwrap_or(usize::MAX);
        let in_first = self.pieces.front().map_or(0, VecDeque::len);
        let (pieces, skipped) = match skipped.checked_sub(in_first) {
            Some(behind) => ((behind / self.piece).saturating_add(1), behind % self.piece),
            None => (0, skipped),
        };
        let entries = self.pieces.iter().skip(pieces).flatten();
        let entries = entries.skip(skipped).take(most).cloned().collect();
        (entries, sequence.max(forgotten), forgotten.saturating_sub(sequence))
    }

    /// How many records are not there any more.
    pub(super) fn forgotten(&self) -> u64 {
        self.next - self.len as u64
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
    use proptest::prelude::*;

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
        assert_eq!(ring.len, 1000);
        let rooms = ring.pieces.iter().chain(&ring.spare);
        let room: usize = rooms.map(VecDeque::capacity).sum();
        assert!(room <= 1250, "{room}");
    }

    #[test]
    fn nothing_that_is_recorded_is_copied_while_there_is_more_of_it() {
        let one = line("0");
        let mut ring = Ring::new(one.bytes() * 1000);
        let counted = allocation_counter::measure(|| (0..5000).for_each(|_| _ = ring.push(one.clone())));
        let (allocated, kept) = (counted.bytes_total as usize, 1000 * size_of::<Entry>());
        assert!(allocated < kept + kept / 4, "{allocated} bytes for {kept}");
    }

    proptest! {
        #[test]
        fn it_has_the_newest_records_that_fit_whatever_their_sizes(
            limit in 1_000_usize..60_000,
            sizes in proptest::collection::vec(0_usize..400, 1..600),
            from in 0_u64..700,
            most in 0_usize..700,
        ) {
            let mut ring = Ring::new(limit);
            let texts: Vec<String> = sizes.iter().enumerate().map(|(number, size)| format!("{number} {}", "x".repeat(*size))).collect();
            for text in &texts {
                ring.push(line(text));
            }
            // As many from the end on as fit.
            let mut room = limit;
            let fits = |text: &&String| {
                let bytes = line(text).bytes();
                let fits = bytes <= room;
                room = room.saturating_sub(bytes);
                fits
            };
            let kept = texts.iter().rev().take_while(fits).count();
            prop_assert_eq!((ring.len, ring.forgotten()), (kept, (texts.len() - kept) as u64));
            prop_assert_eq!(ring.bytes(), texts[texts.len() - kept..].iter().map(|text| line(text).bytes()).sum::<usize>());
            let (entries, first, missed) = ring.since(from, most);
            prop_assert_eq!((first, missed), (from.max(ring.forgotten()), ring.forgotten().saturating_sub(from)));
            let read: Vec<String> = entries.iter().map(|entry| match entry.event() {
                RawEvent::Logged(line) => line.message.to_string(),
                other => panic!("{other:?}"),
            }).collect();
            let first = usize::try_from(first).unwrap().min(texts.len());
            let wanted: Vec<String> = texts[first..].iter().take(most).cloned().collect();
            prop_assert_eq!(read, wanted);
        }
    }
}
