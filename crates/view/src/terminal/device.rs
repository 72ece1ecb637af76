//! The terminal as a device: taken while the view is shown, and given back whatever happens.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use parking_lot::Mutex;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::cursor::Show;
use ratatui_crossterm::crossterm::execute;
use ratatui_crossterm::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use tokio::sync::Notify;

/// As many lines wait to be shown; the oldest of more are dropped.
const MOST_LINES: usize = 10_000;
/// How long the rest of what was said may take to come out.
const DRAINED_WITHIN: Duration = Duration::from_millis(500);

/// The terminal of this process. While it is held, nobody else writes to it: what this process and its children write to standard output and standard
/// error becomes [`Lines`]. Dropped, it is as before, and what is written later goes to standard error as ever.
pub(super) struct Device {
    pub(super) terminal: Terminal<CrosstermBackend<File>>,
    stdout: OwnedFd,
    stderr: OwnedFd,
    lines: Arc<Lines>,
    drained: mpsc::Receiver<()>,
}

/// What was written instead of to the terminal, line by line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    waiting: Mutex<VecDeque<String>>,
    pub(super) added: Notify,
    /// Whether nobody shows them any more.
    is_over: AtomicBool,
    /// What threads said when they panicked: it is said again once the terminal is given back, because then the view is gone.
    panics: Mutex<Vec<String>>,
}

impl Lines {
    pub(super) fn take(&self) -> VecDeque<String> {
        std::mem::take(&mut self.waiting.lock())
    }

    fn add(&self, line: String) {
        let mut waiting = self.waiting.lock();
        if waiting.len() == MOST_LINES {
            waiting.pop_front();
        }
        waiting.push_back(line);
        drop(waiting);
        self.added.notify_one();
    }
}

impl Device {
    /// Takes the terminal.
    pub(super) fn take() -> io::Result<Self> {
        let (input, output) = (io::stdin(), io::stdout());
        if !input.is_terminal() || !output.is_terminal() {
            return Err(io::Error::other("standard input and output have to be a terminal"));
        }
        let stdout = output.as_fd().try_clone_to_owned()?;
        let stderr = io::stderr().as_fd().try_clone_to_owned()?;
        let backend = CrosstermBackend::new(File::from(stdout.try_clone()?));
        let terminal = Terminal::new(backend)?;
        let lines = Arc::new(Lines::default());
        keep_panics(&lines);
        let (reader, writer) = io::pipe()?;
        let (is_drained, drained) = mpsc::channel();
        let read = Arc::clone(&lines);
        std::thread::Builder::new()
            .name("terminal-lines".to_owned())
            .spawn(move || {
                pass_on(BufReader::new(reader), &read);
                let _ = is_drained.send(());
            })?;
        // From here on everything is undone when it is dropped.
        let mut device = Device {
            terminal,
            stdout,
            stderr,
            lines,
            drained,
        };
        enable_raw_mode()?;
        // Not by the terminal's own way to clear, which asks where the cursor is and waits for the answer.
        execute!(
            device.terminal.backend_mut(),
            EnterAlternateScreen,
            Clear(ClearType::All)
        )?;
        rustix::stdio::dup2_stdout(&writer)?;
        rustix::stdio::dup2_stderr(&writer)?;
        Ok(device)
    }

    /// What is written to standard output and standard error meanwhile.
    pub(super) fn lines(&self) -> Arc<Lines> {
        Arc::clone(&self.lines)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // A terminal that is gone cannot be given back: nothing here can be reported.
        let _ = execute!(self.terminal.backend_mut(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
        let _ = io::stdout().flush();
        let _ = rustix::stdio::dup2_stdout(&self.stdout);
        let _ = rustix::stdio::dup2_stderr(&self.stderr);
        self.lines.is_over.store(true, Ordering::Release);
        // Children may hold their end of the pipe for long; what this process wrote is there by then.
        let _ = self.drained.recv_timeout(DRAINED_WITHIN);
        for panic in self.lines.panics.lock().drain(..) {
            let _ = writeln!(io::stderr().lock(), "{panic}");
        }
    }
}

/// Keeps what panics say, while the terminal is taken. The hook stays: it cannot be taken back by a thread that panics.
fn keep_panics(lines: &Arc<Lines>) {
    let (lines, before) = (Arc::clone(lines), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |panic| {
        if !lines.is_over.load(Ordering::Acquire) {
            lines.panics.lock().push(panic.to_string());
        }
        before(panic);
    }));
}

/// Reads lines until nobody can write any more: for the view while it is shown, then for standard error.
fn pass_on(mut reader: impl io::BufRead, lines: &Lines) {
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        if lines.is_over.load(Ordering::Acquire) {
            let _ = writeln!(io::stderr().lock(), "{text}");
        } else {
            // What is drawn over in a line, as progress bars are, is as it was last.
            lines.add(text.rsplit('\r').next().unwrap_or_default().to_owned());
        }
        line.clear();
    }
}
