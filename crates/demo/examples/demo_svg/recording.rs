//! Running the demo and noting when each line came.

use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::screen::{Piece, pieces};

/// How wide the terminal is said to be.
pub(super) const COLUMNS: usize = 100;

/// The first line: what somebody types.
const TYPED: &str = "$ cargo run -- demo";

/// A line, and when it was there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) at: Duration,
    pub(super) pieces: Vec<Piece>,
}

/// Runs the demo to its end.
pub(super) fn record(program: &Path) -> io::Result<Vec<Line>> {
    let mut child = Command::new(program)
        .args(["demo", "--color", "always"])
        .env("COLUMNS", COLUMNS.to_string())
        // As those see it who have a clone and nothing else.
        .env("CARGO", "cargo")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let began = Instant::now();
    let mut lines = vec![Line {
        at: Duration::ZERO,
        pieces: pieces(TYPED),
    }];
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            lines.push(Line {
                at: began.elapsed(),
                pieces: pieces(&line?),
            });
        }
    }
    let status = child.wait()?;
    if status.success() {
        Ok(lines)
    } else {
        Err(io::Error::other(format!("it ended with {status}")))
    }
}
