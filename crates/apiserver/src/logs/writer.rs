//! Writes the output of a container to its log: takes bytes as they come, and appends lines.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use kubewright_system::clock::Clock;

use super::log::Log;

/// Longer lines are split, at the length at which container runtimes split them.
const LONGEST_LINE: usize = 16 * 1024;

/// Writes the log of one run of a container, made by [`ApiServer::pod_log`](crate::ApiServer::pod_log).
///
/// A clone writes to the same log, line by line, as standard error does beside standard output. The log ends when the last
/// of them is dropped. Writing never fails.
#[derive(Debug)]
pub struct LogWriter {
    open: Arc<EndOnDrop>,
    clock: Clock,
    /// The beginning of a line that has not ended.
    begun: Vec<u8>,
}

/// Marks the log as complete when the last writer is dropped.
#[derive(Debug)]
struct EndOnDrop(Arc<Log>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl LogWriter {
    pub(super) fn new(log: Arc<Log>, clock: Clock) -> Self {
        LogWriter {
            open: Arc::new(EndOnDrop(log)),
            clock,
            begun: Vec::new(),
        }
    }

    fn push(&mut self) {
        if !self.begun.is_empty() {
            let line = Bytes::from(std::mem::take(&mut self.begun));
            self.open.0.push(self.clock.now(), line);
        }
    }
}

impl Clone for LogWriter {
    fn clone(&self) -> Self {
        LogWriter {
            open: Arc::clone(&self.open),
            clock: self.clock,
            begun: Vec::new(),
        }
    }
}

impl io::Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let mut rest = piece;
            while !rest.is_empty() {
                let fits = rest.len().min(LONGEST_LINE - self.begun.len());
                let (now, later) = rest.split_at(fits);
                self.begun.extend_from_slice(now);
                rest = later;
                if self.begun.ends_with(b"\n") || self.begun.len() >= LONGEST_LINE {
                    self.push();
                }
            }
        }
        Ok(bytes.len())
    }

    /// Appends what there is of a line that has not ended.
    fn flush(&mut self) -> io::Result<()> {
        self.push();
        Ok(())
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.push();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn texts(log: &Log) -> Vec<String> {
        let (lines, _) = log.read(0);
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        lines.iter().map(|line| text(&line.text)).collect()
    }

    #[tokio::test]
    async fn lines_of_two_streams_do_not_mix() {
        let log = Arc::new(Log::written());
        let mut out = LogWriter::new(Arc::clone(&log), Clock::system());
        let mut err = out.clone();
        write!(out, "hel").unwrap();
        writeln!(err, "oh").unwrap();
        write!(out, "lo\nbye").unwrap();
        assert_eq!(texts(&log), ["oh\n", "hello\n"]);
        drop(out);
        assert!(!log.has_ended());
        drop(err);
        assert!(log.has_ended());
        assert_eq!(texts(&log), ["oh\n", "hello\n", "bye"]);
    }

    #[tokio::test]
    async fn a_line_without_end_is_cut() {
        let log = Arc::new(Log::written());
        let mut writer = LogWriter::new(Arc::clone(&log), Clock::system());
        writer.write_all(&vec![b'x'; 2 * LONGEST_LINE + 5]).unwrap();
        writer.flush().unwrap();
        let lengths: Vec<_> = log.read(0).0.iter().map(|line| line.text.len()).collect();
        assert_eq!(lengths, [LONGEST_LINE, LONGEST_LINE, 5]);
    }
}
