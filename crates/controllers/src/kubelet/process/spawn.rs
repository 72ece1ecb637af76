//! Starts processes, with pipes or with a terminal.

use std::io;
use std::process::Stdio;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin};

use super::action::Launch;

/// Held while a process is started, and while a terminal is made, whose descriptor would be every process's that is started meanwhile.
static STARTING: Mutex<()> = Mutex::new(());

/// Starts a process while no other is started. It has the three standard streams and no other file of this program.
pub(super) fn undisturbed<T>(start: impl FnOnce() -> T) -> T {
    let _starting = STARTING.lock();
    keep_files();
    start()
}

/// Has all files but the standard streams stay with this program. Rust opens files so; what this program was started with, or what a library
/// opened otherwise, is not.
fn keep_files() {
    #[cfg(unix)]
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
}

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// How many columns it has.
    pub columns: u16,
    /// How many lines it has.
    pub rows: u16,
}

/// What a process is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wiring {
    /// Pipes for its output and its messages, and nothing to read.
    Output,
    /// Pipes for everything.
    Pipes,
    /// A terminal, in a session of its own.
    Terminal,
}

/// A process that was started.
pub(super) struct Spawned {
    pub(super) child: Child,
    pub(super) input: Option<Input>,
    pub(super) output: Box<dyn AsyncRead + Send + Unpin>,
    /// What it writes to its standard error. A terminal has one stream for both.
    pub(super) messages: Option<Box<dyn AsyncRead + Send + Unpin>>,
}

/// What a process reads from.
pub(super) enum Input {
    Pipe(ChildStdin),
    #[cfg(unix)]
    Terminal(pty_process::OwnedWritePty),
}

impl Input {
    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Input::Pipe(pipe) => {
                pipe.write_all(bytes).await?;
                pipe.flush().await
            }
            #[cfg(unix)]
            Input::Terminal(terminal) => terminal.write_all(bytes).await,
        }
    }

    /// Changes the size of the terminal, if it is one.
    pub(super) fn resize(&self, size: TerminalSize) {
        #[cfg(unix)]
        if let Input::Terminal(terminal) = self {
            // The process may just have ended.
            let _ = terminal.resize(pty_process::Size::new(size.rows, size.columns));
        }
        #[cfg(not(unix))]
        let _ = size;
    }

    /// Whether closing it is the end of what the process reads.
    pub(super) fn can_end(&self) -> bool {
        matches!(self, Input::Pipe(_))
    }
}

/// Starts a process in a group of its own.
pub(super) fn spawn(launch: &Launch, wiring: Wiring) -> io::Result<Spawned> {
    if wiring == Wiring::Terminal {
        return spawn_with_terminal(launch);
    }
    let mut command = launch.command();
    if wiring == Wiring::Pipes {
        command.stdin(Stdio::piped());
    }
    let mut child = undisturbed(|| command.spawn())?;
    let (output, messages) = (child.stdout.take(), child.stderr.take());
    Ok(Spawned {
        input: child.stdin.take().map(Input::Pipe),
        output: Box::new(output.ok_or(io::ErrorKind::BrokenPipe)?),
        messages: messages.map(|messages| -> Box<dyn AsyncRead + Send + Unpin> { Box::new(messages) }),
        child,
    })
}

#[cfg(unix)]
fn spawn_with_terminal(launch: &Launch) -> io::Result<Spawned> {
    let failed = |error: pty_process::Error| match error {
        pty_process::Error::Io(error) => error,
        error => io::Error::other(error),
    };
    let mut command = launch.bare_command();
    if !launch.variables.contains_key("TERM") {
        command.env("TERM", "xterm");
    }
    let _starting = STARTING.lock();
    let (terminal, end_of_process) = pty_process::open().map_err(failed)?;
    keep_files();
    // The leader of a session leads a group, too.
    let child = pty_process::Command::from(command)
        .spawn(end_of_process)
        .map_err(failed)?;
    let (output, input) = terminal.into_split();
    Ok(Spawned {
        child,
        input: Some(Input::Terminal(input)),
        output: Box::new(output),
        messages: None,
    })
}

#[cfg(not(unix))]
fn spawn_with_terminal(_: &Launch) -> io::Result<Spawned> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "containers have no terminals on this system",
    ))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::collections::BTreeMap;
    use std::os::fd::AsRawFd as _;

    use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn a_process_has_no_file_that_this_program_was_started_with() {
        let file = std::fs::File::open("/proc/self/stat").unwrap();
        let inherited = fcntl_dupfd_cloexec(&file, 200).unwrap();
        for wiring in [Wiring::Pipes, Wiring::Terminal] {
            fcntl_setfd(&inherited, FdFlags::empty()).unwrap();
            let launch = Launch {
                program: "/bin/ls".into(),
                name: "ls".to_owned(),
                arguments: vec!["/proc/self/fd".to_owned()],
                variables: BTreeMap::new(),
                folder: std::env::temp_dir(),
            };
            let mut spawned = spawn(&launch, wiring).unwrap();
            let mut listed = Vec::new();
            // A terminal that nobody holds any more ends with an error.
            let _ = spawned.output.read_to_end(&mut listed).await;
            let listed = String::from_utf8(listed).unwrap();
            let number = inherited.as_raw_fd().to_string();
            assert!(listed.contains('1'), "{listed}");
            assert!(!listed.split_whitespace().any(|name| name == number), "{listed}");
        }
    }
}
