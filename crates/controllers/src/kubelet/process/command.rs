//! Commands that clients run in containers that are processes: programs of the image, or one that is built in.

use std::pin::{Pin, pin};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use futures_util::{Stream, StreamExt as _};
use kubewright_apimachinery::go::quote;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::process::Child;
use tokio::time::timeout;

use super::action::Launch;
use super::expansion;
use super::run::Run;
use super::runner::Runner;
use super::spawn::{self, Input, Spawned, TerminalSize, Wiring};

/// How long output is waited for when a command has ended: children that it left may hold on to it.
const FINAL_OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);
/// The code of a command that was killed, as of one whose container ends.
const KILLED: i32 = 137;

/// A command that a client runs in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerCommand {
    /// The container.
    pub container: String,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Whether it gets a terminal.
    pub terminal: bool,
}

/// What a command, or a client that is attached to a process, reads and writes.
pub struct CommandStreams {
    /// What the client sends; it ends at once if that is nothing.
    pub stdin: Pin<Box<dyn AsyncRead + Send>>,
    /// Where output goes, and with a terminal all that is written.
    pub stdout: Pin<Box<dyn AsyncWrite + Send>>,
    /// Where messages go.
    pub stderr: Pin<Box<dyn AsyncWrite + Send>>,
    /// The sizes of the client's terminal.
    pub sizes: Pin<Box<dyn Stream<Item = TerminalSize> + Send>>,
}

impl fmt::Debug for CommandStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandStreams").finish_non_exhaustive()
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// With this code.
    Exited(i32),
    /// It was not run, or not to its end, for this reason, in the words of a node.
    Failed(String),
}

/// Runs a command in a container, until it ends or the container does. What it started ends with it, also if this is dropped.
pub(super) async fn run(
    runner: Arc<Runner>,
    run: Arc<Run>,
    command: ContainerCommand,
    streams: CommandStreams,
) -> CommandEnd {
    let mut ended = run.ended();
    tokio::select! {
        end = perform(&runner, &run, command, streams) => end,
        _ = ended.wait_for(|ended| *ended) => CommandEnd::Exited(KILLED),
    }
}

async fn perform(runner: &Runner, run: &Run, command: ContainerCommand, streams: CommandStreams) -> CommandEnd {
    let Some((program, arguments)) = command.words.split_first() else {
        return failed("a command is empty");
    };
    let file = match run.image.program(program) {
        Ok(file) => file,
        Err(instead) => {
            #[cfg(unix)]
            if let Some(built_in) = super::tar::BuiltIn::of(&command.words) {
                return run_built_in(run, built_in, streams).await;
            }
            return not_found(program, run, &instead);
        }
    };
    let mounts = || run.mount_paths.iter().map(String::as_str);
    let launch = Launch {
        program: file,
        name: program.clone(),
        arguments: arguments
            .iter()
            .map(|word| expansion::rooted(word, mounts(), &run.root))
            .collect(),
        ..run.launch.clone()
    };
    let wiring = if command.terminal {
        Wiring::Terminal
    } else {
        Wiring::Pipes
    };
    match run_process(runner, run, &launch, wiring, streams).await {
        Ok(status) => CommandEnd::Exited(kubewright_system::signals::exit_code(status)),
        Err(error) => failed(&format!("exec: {}: {error}", quote(program))),
    }
}

/// The refusal of a runtime to start something.
fn failed(why: &str) -> CommandEnd {
    CommandEnd::Failed(format!(
        "failed to exec in container: OCI runtime exec failed: exec failed: unable to start \
         container process: {why}"
    ))
}

/// A program that the image does not have.
fn not_found(program: &str, run: &Run, instead: &str) -> CommandEnd {
    let why = if program.contains('/') {
        format!("stat {program}: no such file or directory in")
    } else {
        "executable file not found in $PATH of".to_owned()
    };
    let image = quote(&run.image.name);
    failed(&format!("exec: {}: {why} image {image}, {instead}", quote(program)))
}

#[cfg(unix)]
async fn run_built_in(run: &Run, built_in: super::tar::BuiltIn, streams: CommandStreams) -> CommandEnd {
    let CommandStreams {
        stdin, stdout, stderr, ..
    } = streams;
    match super::tar::run(built_in, &run.files, stdin, stdout, stderr).await {
        Ok(code) => CommandEnd::Exited(code),
        // Nobody is there to be told.
        Err(error) => CommandEnd::Failed(error.to_string()),
    }
}

async fn run_process(
    runner: &Runner,
    run: &Run,
    launch: &Launch,
    wiring: Wiring,
    streams: CommandStreams,
) -> io::Result<ExitStatus> {
    let spawned = spawn::spawn(launch, wiring)?;
    let Spawned {
        mut child,
        input,
        output,
        messages,
    } = spawned;
    // From here on, all that it starts ends when this is dropped.
    let group = child.id();
    let _held = group.map(|group| match wiring {
        Wiring::Terminal => runner.guard.hold_session(group),
        _ => runner.guard.hold(group),
    });
    let _listed = group.map(|group| run.list(group));
    let CommandStreams {
        stdin,
        stdout,
        stderr,
        sizes,
    } = streams;
    let copying = async {
        let messages = async {
            if let Some(messages) = messages {
                copy(messages, stderr).await;
            }
        };
        tokio::join!(copy(output, stdout), messages);
    };
    tokio::select! {
        status = wait(&mut child, copying) => status,
        never = feed(input, stdin, sizes) => match never {},
    }
}

/// Waits for the end of a process and of what it writes.
async fn wait(child: &mut Child, copying: impl Future<Output = ()>) -> io::Result<ExitStatus> {
    let mut copying = pin!(copying);
    let mut is_copied = false;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            () = &mut copying, if !is_copied => is_copied = true,
        }
    };
    if !is_copied {
        let _ = timeout(FINAL_OUTPUT_TIMEOUT, copying).await;
    }
    Ok(status)
}

/// Copies what a process writes, until it closes the stream or the client does. A terminal whose processes are gone is an error.
async fn copy(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    let _ = tokio::io::copy(&mut from, &mut to).await;
}

/// Gives a process what its client sends, and its terminal the size of the client's. Where the client's input ends, the process's does.
async fn feed(
    mut input: Option<Input>,
    mut from: impl AsyncRead + Unpin,
    mut sizes: impl Stream<Item = TerminalSize> + Unpin,
) -> std::convert::Infallible {
    let mut buffer = vec![0; 8 * 1024];
    let (mut has_sizes, mut has_input) = (true, true);
    while has_sizes || has_input {
        tokio::select! {
            size = sizes.next(), if has_sizes => match (size, &input) {
                (Some(size), Some(input)) => input.resize(size),
                _ => has_sizes = false,
            },
            read = from.read(&mut buffer), if has_input => {
                let is_written = match (read, &mut input) {
                    (Ok(read @ 1..), Some(input)) => input.write(&buffer[..read]).await.is_ok(),
                    _ => false,
                };
                if !is_written {
                    has_input = false;
                    input = input.filter(|input| !input.can_end());
                }
            }
        }
    }
    std::future::pending().await
}
