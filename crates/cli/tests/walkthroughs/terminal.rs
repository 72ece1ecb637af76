//! A command that does not end by itself, and what its terminal shows.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use kubewright_test_support::book;

/// How long it may say nothing: it may have to be compiled first.
const SILENCE: Duration = Duration::from_mins(5);

/// A running command. Dropped, it is stopped as Ctrl-C does it.
pub(crate) struct Terminal {
    child: Child,
    lines: Receiver<String>,
    printed: String,
    /// From where on one looks.
    from: usize,
}

impl Terminal {
    /// Starts a command that prints to its output alone.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.process_group(0).stdout(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            output
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        Terminal {
            child,
            lines,
            printed: String::new(),
            from: 0,
        }
    }

    /// What it printed up to now.
    pub(crate) fn printed(&self) -> &str {
        &self.printed
    }

    /// What it printed up to now was seen.
    pub(crate) fn look_from_here(&mut self) {
        while let Ok(line) = self.lines.try_recv() {
            self.take(&line);
        }
        self.from = self.printed.len();
    }

    /// Waits until it has printed what is shown; returns how it differs if that does not come about.
    pub(crate) fn shows(&mut self, shown: &[&str]) -> Option<String> {
        loop {
            let difference = book::difference(shown, &self.printed[self.from..])?;
            match self.lines.recv_timeout(SILENCE) {
                Ok(line) => self.take(&line),
                Err(_) => return Some(difference),
            }
        }
    }

    /// Waits until it has printed a text; returns what it printed if that does not come about.
    pub(crate) fn says(&mut self, text: &str) -> Option<String> {
        while !self.printed[self.from..].contains(text) {
            match self.lines.recv_timeout(SILENCE) {
                Ok(line) => self.take(&line),
                Err(_) => return Some(format!("it did not say {text:?}, but:\n{}", self.printed)),
            }
        }
        None
    }

    fn take(&mut self, line: &str) {
        self.printed.push_str(line);
        self.printed.push('\n');
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-s", "INT", "--", &group]).status();
        let _ = self.child.wait();
    }
}
