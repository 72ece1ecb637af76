//! `kubewright dev --tui` on a real terminal: what it shows, what keys do, and that the terminal is as before in the end.
#![cfg(unix)]

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use pty_process::blocking::Pty;

use crate::operator_project::TestProject;

/// Nothing here takes longer, on however busy a machine.
const PATIENCE: Duration = Duration::from_mins(1);
const ROWS: usize = 24;
const COLUMNS: usize = 120;

/// A terminal with a program on it.
struct Seat {
    child: Child,
    terminal: Arc<Pty>,
    /// Whether nothing more of it is read, and it is closed.
    is_closing: Arc<AtomicBool>,
    pieces: Receiver<Vec<u8>>,
    /// What came and is not drawn yet: a sequence may come in parts.
    rest: String,
    screen: Screen,
    /// All that came.
    came: String,
}

/// What is on the terminal, of the sequences that a view draws with.
struct Screen {
    cells: Vec<Vec<char>>,
    row: usize,
    column: usize,
    is_other: bool,
    is_cursor_hidden: bool,
}

impl Screen {
    fn new() -> Self {
        Screen {
            cells: vec![vec![' '; COLUMNS]; ROWS],
            row: 0,
            column: 0,
            is_other: false,
            is_cursor_hidden: false,
        }
    }

    /// Draws a text; what of it is the beginning of a sequence.
    fn draw(&mut self, text: &str) -> String {
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            match char {
                '\u{1b}' => {
                    let sequence = chars.as_str();
                    let Some(body) = sequence.strip_prefix('[') else {
                        if sequence.is_empty() {
                            return "\u{1b}".to_owned();
                        }
                        chars.next();
                        continue;
                    };
                    let Some(end) = body.find(|char| ('@'..='~').contains(&char)) else {
                        return format!("\u{1b}{sequence}");
                    };
                    self.control(&body[..=end]);
                    chars = body[end + 1..].chars();
                }
                '\r' => self.column = 0,
                '\n' => self.line_feed(),
                char => {
                    if self.column == COLUMNS {
                        self.column = 0;
                        self.line_feed();
                    }
                    self.cells[self.row][self.column] = char;
                    self.column += 1;
                }
            }
        }
        String::new()
    }

    fn line_feed(&mut self) {
        if self.row + 1 == ROWS {
            self.cells.remove(0);
            self.cells.push(vec![' '; COLUMNS]);
        } else {
            self.row += 1;
        }
    }

    fn control(&mut self, sequence: &str) {
        let (arguments, letter) = sequence.split_at(sequence.len() - 1);
        let numbers: Vec<usize> = arguments.split(';').map(|number| number.parse().unwrap_or(1)).collect();
        match (letter, arguments) {
            ("H", _) => {
                self.row = (numbers[0] - 1).min(ROWS - 1);
                self.column = (numbers.get(1).copied().unwrap_or(1) - 1).min(COLUMNS - 1);
            }
            ("J", _) => self.cells = vec![vec![' '; COLUMNS]; ROWS],
            ("h", "?1049") => self.is_other = true,
            ("l", "?1049") => {
                self.is_other = false;
                self.cells = vec![vec![' '; COLUMNS]; ROWS];
            }
            ("l", "?25") => self.is_cursor_hidden = true,
            ("h", "?25") => self.is_cursor_hidden = false,
            _ => {}
        }
    }

    fn text(&self) -> String {
        let rows = self
            .cells
            .iter()
            .map(|row| row.iter().collect::<String>().trim_end().to_owned());
        rows.collect::<Vec<_>>().join("\n")
    }
}

impl Seat {
    /// Starts a command on a terminal.
    fn start(command: &Command) -> Self {
        let (terminal, end_of_command) = pty_process::blocking::open().unwrap();
        let size = pty_process::Size::new(ROWS.try_into().unwrap(), COLUMNS.try_into().unwrap());
        terminal.resize(size).unwrap();
        let mut on_terminal = pty_process::blocking::Command::new(command.get_program())
            .args(command.get_args())
            .current_dir(command.get_current_dir().unwrap())
            .env("TERM", "xterm-256color");
        for (name, value) in command.get_envs() {
            on_terminal = match value {
                Some(value) => on_terminal.env(name, value),
                None => on_terminal.env_remove(name),
            };
        }
        let child = on_terminal.spawn(end_of_command).unwrap();
        let terminal = Arc::new(terminal);
        let (sender, pieces) = channel();
        let is_closing = Arc::new(AtomicBool::default());
        let (from, is_over) = (Arc::clone(&terminal), Arc::clone(&is_closing));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = (&*from).read(&mut buffer) {
                if is_over.load(Ordering::Acquire) {
                    return;
                }
                let _ = sender.send(buffer[..read].to_vec());
            }
        });
        Seat {
            child,
            terminal,
            is_closing,
            pieces,
            rest: String::new(),
            screen: Screen::new(),
            came: String::new(),
        }
    }

    fn press(&self, keys: &str) {
        (&*self.terminal).write_all(keys.as_bytes()).unwrap();
    }

    fn draw(&mut self, piece: &[u8]) {
        // A character in two pieces is not looked for here.
        let piece = String::from_utf8_lossy(piece);
        self.came.push_str(&piece);
        let text = format!("{}{piece}", self.rest);
        self.rest = self.screen.draw(&text);
    }

    /// Waits until the screen has a text.
    #[track_caller]
    fn sees(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen.text();
            if screen.contains(text) {
                return;
            }
            match self
                .pieces
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(piece) => self.draw(&piece),
                Err(RecvTimeoutError::Timeout) => panic!("{text:?} is not on the screen:\n{screen}"),
                Err(RecvTimeoutError::Disconnected) => panic!("it ended without {text:?}:\n{screen}"),
            }
        }
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", signal, &pid])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Closes the terminal, as somebody does who closes its window; how the command ended.
    fn closes(self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        let wait = |for_what: &str| {
            assert!(Instant::now() < deadline, "{for_what}");
            std::thread::sleep(Duration::from_millis(20));
        };
        self.is_closing.store(true, Ordering::Release);
        // Who reads holds the terminal, too, until there is something more to read.
        while Arc::strong_count(&self.terminal) > 1 {
            self.press("?");
            wait("nothing is drawn");
        }
        let Seat {
            mut child, terminal, ..
        } = self;
        drop(terminal);
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status;
            }
            wait("it does not end with its terminal");
        }
    }

    /// How it ended; the terminal has to be as it was before.
    #[track_caller]
    fn ends(mut self) -> (ExitStatus, String) {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            while let Ok(piece) = self.pieces.try_recv() {
                self.draw(&piece);
            }
            assert!(Instant::now() < deadline, "it does not end:\n{}", self.screen.text());
            std::thread::sleep(Duration::from_millis(20));
        };
        while let Ok(piece) = self.pieces.recv_timeout(Duration::from_millis(200)) {
            self.draw(&piece);
        }
        assert!(!self.screen.is_other, "the other screen is still shown");
        assert!(!self.screen.is_cursor_hidden, "the cursor is hidden");
        assert!(is_cooked(&self.terminal), "keys are not lines");
        (status, self.screen.text())
    }
}

/// Whether the terminal makes lines of keys and signals of Ctrl-C, as shells leave it.
fn is_cooked(terminal: &Pty) -> bool {
    use rustix::termios::{LocalModes, tcgetattr};
    let modes = tcgetattr(terminal).unwrap().local_modes;
    modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
}

#[test]
fn the_view_is_in_the_terminal_and_leaves_it_as_it_was() {
    let project = TestProject::real();
    // Ports of its own: tests beside this one start operators, too, which look for free ones at the same time.
    let webhooks = format!("--webhook-port={}", kubewright_test_support::free_port());
    let probes = format!("--health-probe-bind-address=:{}", kubewright_test_support::free_port());
    let arguments = ["dev", "--tui", "--", &probes, &webhooks];
    let mut seat = Seat::start(&project.command(None, &arguments));
    // The tree, while the operator is built and once it runs.
    seat.sees("kubewright dev · the operator runs since ");
    seat.sees("ConfigMap default/sample");
    assert!(seat.screen.is_other && !is_cooked(&seat.terminal));
    // The object by its name, its reconciles, and one of them.
    seat.press("/default/sample\r");
    seat.sees("<objects> [1] /default/sample");
    seat.press("r");
    seat.sees("<reconciles of default/sample>");
    seat.sees("configmap default/sample · ConfigMap default/sample ");
    seat.press("\r");
    // A screen comes in pieces: one part of it may be there before another.
    seat.sees("Woken by");
    seat.sees("What it did");
    // Its YAML.
    seat.press("\u{1b}");
    seat.sees("<reconciles of default/sample> [");
    seat.press("y");
    seat.sees("kind: ConfigMap");
    // What the command says is in the log, not across the screen.
    seat.press(":logs\r");
    seat.sees("sample configmap/sample created");
    // Deleted, once that is confirmed.
    seat.press(":cm\r");
    seat.sees("<ConfigMap>");
    seat.press("/default/sample\r");
    seat.sees("[1] /default/sample");
    seat.press("\u{4}");
    seat.sees("delete ConfigMap default/sample? y deletes");
    seat.press("y");
    seat.sees("nothing has this text; esc shows all");
    seat.press("q");
    let (status, screen) = seat.ends();
    assert_eq!(status.code(), Some(0), "{screen}");
}

/// Whether these tests ignore SIGHUP, as `nohup` has them do, and so what they start.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 == 1))
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let project = TestProject::new();
    project.write("src/operator.sh", "MISTAKE");
    for signal in ["TERM", "HUP"] {
        if signal == "HUP" && ignores_hangup() {
            eprintln!("SIGHUP is ignored here: the command would not end");
            continue;
        }
        let mut seat = Seat::start(&project.command(None, &["dev", "--tui"]));
        seat.sees("the operator does not build: e shows why");
        seat.press("e");
        seat.sees("error[E0425]: cannot find value");
        seat.signal(signal);
        let (status, screen) = seat.ends();
        assert_eq!(status.code(), Some(130), "{signal}: {screen}");
    }
    // Where there is no terminal, that is said.
    let mut dev = project.start(None, &["dev", "--tui"]);
    dev.until("without --tui it is a page: standard input and output have to be a terminal");
}

#[test]
fn a_terminal_that_is_closed_leaves_nothing_behind() {
    let (temporary, project) = (tempfile::tempdir().unwrap(), TestProject::new());
    project.write("src/operator.sh", "MISTAKE");
    let mut command = project.command(None, &["dev", "--tui"]);
    command.env("TMPDIR", temporary.path());
    let mut seat = Seat::start(&command);
    seat.sees("the operator does not build: e shows why");
    assert_eq!(
        std::fs::read_dir(temporary.path()).unwrap().count(),
        1,
        "its kubeconfig"
    );
    let status = seat.closes();
    assert_eq!(status.code(), Some(130));
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
}

#[test]
fn a_panic_gives_the_terminal_back_and_is_told_there() {
    let program = kubewright_test_support::example_program(
        env!("CARGO_MANIFEST_DIR"),
        "panicking_view",
        "tests/it/panicking_view.rs",
    );
    let start = |thread: &str| {
        let mut command = Command::new(&program);
        command.arg(thread).current_dir(std::env::temp_dir());
        let mut seat = Seat::start(&command);
        seat.sees("a view that panics");
        assert!(seat.screen.is_other && !is_cooked(&seat.terminal));
        seat.signal("TERM");
        seat
    };
    let (status, screen) = start("main").ends();
    assert_eq!(status.code(), Some(101), "{screen}");
    assert!(screen.contains("something unforeseen"), "{screen}");

    // A program whose view panicked goes on, and the terminal is a shell's again.
    let mut seat = start("drawing");
    seat.sees("something unforeseen while drawing");
    seat.signal("TERM");
    let (status, screen) = seat.ends();
    assert_eq!(status.code(), Some(0), "{screen}");
}
