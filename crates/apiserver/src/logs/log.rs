//! The log of one run of a container: its newest lines, and a notification for those who follow it.

use std::collections::VecDeque;

use bytes::Bytes;
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// How many bytes of a run are kept, including the overhead of each line.
const MOST_BYTES: usize = 4 << 20;
const LINE_BYTES: usize = size_of::<Line>();

/// A line with its end, or a piece of a line that is very long or has no end yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) at: Timestamp,
    pub(crate) text: Bytes,
}

/// The log of one run of a container.
#[derive(Debug, Default)]
pub(crate) struct Log {
    state: Mutex<State>,
    bell: Notify,
}

#[derive(Clone, Debug, Default)]
struct State {
    lines: VecDeque<Line>,
    /// The number of the first line that is kept.
    first: u64,
    bytes: usize,
    has_writer: bool,
    has_ended: bool,
}

impl Log {
    /// The log of a running container.
    pub(super) fn written() -> Self {
        let log = Log::default();
        log.state.lock().has_writer = true;
        log
    }

    /// The log of a run that printed nothing.
    pub(crate) fn silent() -> Self {
        let log = Log::default();
        log.end();
        log
    }

    /// Turns this into the log of a writer, unless something was written to it.
    pub(super) fn take(&self) -> bool {
        let mut state = self.state.lock();
        let is_free = !state.has_writer && !state.has_ended && state.lines.is_empty() && state.first == 0;
        state.has_writer |= is_free;
        is_free
    }

    pub(super) fn copied(&self) -> Self {
        let mut state = self.state.lock().clone();
        state.has_writer = false;
        Log {
            state: Mutex::new(state),
            bell: Notify::new(),
        }
    }

    /// Adds a line, and drops the oldest ones if there is no room for it.
    pub(super) fn push(&self, at: Timestamp, text: Bytes) {
        if text.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        state.bytes += text.len() + LINE_BYTES;
        state.lines.push_back(Line { at, text });
        while state.bytes > MOST_BYTES && state.lines.len() > 1 {
            if let Some(line) = state.lines.pop_front() {
                state.bytes -= line.text.len() + LINE_BYTES;
                state.first += 1;
            }
        }
        drop(state);
        self.bell.notify_waiters();
    }

    /// Drops the lines that were written after a time, which is in microseconds, as the times of revisions are.
    pub(super) fn forget_after(&self, time: Timestamp) {
        let time = time.as_microsecond();
        let mut state = self.state.lock();
        while let Some(line) = state.lines.pop_back_if(|line| line.at.as_microsecond() > time) {
            state.bytes -= line.text.len() + LINE_BYTES;
        }
    }

    /// Marks the log as complete.
    pub(super) fn end(&self) {
        self.state.lock().has_ended = true;
        self.bell.notify_waiters();
    }

    /// Whether the log is complete.
    pub(crate) fn has_ended(&self) -> bool {
        self.state.lock().has_ended
    }

    /// Whether a [`LogWriter`](super::LogWriter) writes it, or did.
    pub(crate) fn has_writer(&self) -> bool {
        self.state.lock().has_writer
    }

    /// The lines from this number on, as far as they are kept, and the number of the next.
    pub(crate) fn read(&self, from: u64) -> (Vec<Line>, u64) {
        let state = self.state.lock();
        let skipped = usize::try_from(from.saturating_sub(state.first)).unwrap_or(usize::MAX);
        let lines = state.lines.iter().skip(skipped).cloned().collect();
        (lines, state.first + state.lines.len() as u64)
    }

    /// Waits until there may be more to read than the lines before this number, or the log has ended.
    pub(crate) async fn more(&self, next: u64) {
        let mut rung = std::pin::pin!(self.bell.notified());
        // Registered before looking, so that nothing is missed in between.
        rung.as_mut().enable();
        if !self.has_more(next) {
            rung.await;
        }
    }
}

impl Log {
    fn has_more(&self, next: u64) -> bool {
        let state = self.state.lock();
        state.has_ended || state.first + state.lines.len() as u64 > next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_keeps_its_newest_lines() {
        let log = Log::default();
        let line = "x".repeat(1 << 20);
        for number in 0..6_u8 {
            log.push(Timestamp::UNIX_EPOCH, format!("{number}{line}").into());
        }
        let (lines, next) = log.read(0);
        assert_eq!(next, 6);
        assert_eq!(lines.iter().map(|line| line.text[0]).collect::<Vec<_>>(), *b"345");
        assert_eq!(log.read(5).0.len(), 1);
        assert_eq!(log.read(6).0, []);
    }

    #[tokio::test]
    async fn whoever_follows_is_woken_by_a_line_and_by_the_end() {
        let log = Log::written();
        let ((), ()) = tokio::join!(log.more(0), async { log.push(Timestamp::UNIX_EPOCH, "a\n".into()) });
        log.more(0).await;
        let ((), ()) = tokio::join!(log.more(1), async { log.end() });
    }
}
