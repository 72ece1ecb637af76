//! Reads a log: the lines that were asked for and then, if it is followed, those that are written later.

use std::sync::Arc;

use bytes::Bytes;

use super::options::LogOptions;
use super::{Line, Log};

/// A position in a log, and how much of it may still be returned.
#[derive(Debug)]
pub(crate) struct LogCursor {
    log: Arc<Log>,
    options: LogOptions,
    /// The number of the next line.
    next: u64,
    /// How many bytes may still be returned.
    left: usize,
    has_begun: bool,
}

impl LogCursor {
    pub(crate) fn new(log: Arc<Log>, options: LogOptions) -> Self {
        LogCursor {
            log,
            options,
            next: 0,
            left: options.limit.unwrap_or(usize::MAX),
            has_begun: false,
        }
    }

    /// What can be returned now.
    pub(crate) fn now(&mut self) -> Bytes {
        let (lines, next) = self.log.read(self.next);
        self.next = next;
        // As the kubelet does: `tailLines` is applied first, and `sinceSeconds` or `sinceTime` to the lines that are
        // left.
        let tail = self.options.tail.filter(|_| !self.has_begun);
        self.has_begun = true;
        let skipped = tail.map_or(0, |tail| lines.len().saturating_sub(tail));
        let mut text = Vec::new();
        for line in &lines[skipped..] {
            self.show(line, &mut text);
        }
        text.into()
    }

    fn show(&mut self, line: &Line, text: &mut Vec<u8>) {
        if self.options.since.is_some_and(|since| line.at < since) {
            return;
        }
        let before = text.len();
        if self.options.timestamps {
            let time = line.at.strftime("%Y-%m-%dT%H:%M:%S.%9fZ ");
            text.extend_from_slice(time.to_string().as_bytes());
        }
        text.extend_from_slice(&line.text);
        let added = (text.len() - before).min(self.left);
        text.truncate(before + added);
        self.left -= added;
    }

    /// Whether nothing more will be returned.
    pub(crate) fn is_over(&self) -> bool {
        self.left == 0 || self.log.has_ended()
    }

    /// Whether a writer ends the log when the container ends.
    pub(crate) fn has_writer(&self) -> bool {
        self.log.has_writer()
    }

    /// Waits until more was written, or the log is complete.
    pub(crate) async fn more(&self) {
        self.log.more(self.next).await;
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn log() -> Arc<Log> {
        let log = Log::default();
        for second in 1..=5 {
            let at = Timestamp::from_second(second).unwrap();
            log.push(at, format!("line {second}\n").into());
        }
        Arc::new(log)
    }

    fn read(options: LogOptions) -> String {
        String::from_utf8(LogCursor::new(log(), options).now().to_vec()).unwrap()
    }

    #[test]
    fn the_last_lines_are_chosen_before_those_since_a_time() {
        let tail = LogOptions {
            tail: Some(2),
            ..LogOptions::default()
        };
        assert_eq!(read(tail), "line 4\nline 5\n");
        let since = Timestamp::from_second(5).ok();
        assert_eq!(read(LogOptions { since, ..tail }), "line 5\n");
        let since = Timestamp::from_second(2).ok();
        assert_eq!(read(LogOptions { since, ..tail }), "line 4\nline 5\n");
        let none = LogOptions { tail: Some(0), ..tail };
        assert_eq!(read(none), "");
    }

    #[test]
    fn times_are_shown_to_the_nanosecond_and_bytes_are_counted_with_them() {
        let options = LogOptions {
            timestamps: true,
            limit: Some(35),
            ..LogOptions::default()
        };
        assert_eq!(read(options), "1970-01-01T00:00:01.000000000Z line");
    }

    #[test]
    fn a_tail_is_of_what_is_there_not_of_what_comes() {
        let log = log();
        let options = LogOptions {
            tail: Some(1),
            ..LogOptions::default()
        };
        let mut cursor = LogCursor::new(Arc::clone(&log), options);
        assert_eq!(cursor.now(), "line 5\n");
        log.push(Timestamp::UNIX_EPOCH, "a\n".into());
        log.push(Timestamp::UNIX_EPOCH, "b\n".into());
        assert_eq!(cursor.now(), "a\nb\n");
    }
}
