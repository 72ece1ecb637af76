//! Commands that clients run in containers: what they are, what they read and write, and how they end.

use std::future::Future;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

/// A command that a client runs in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecCommand {
    /// The namespace of the Pod.
    pub namespace: String,
    /// The name of the Pod.
    pub pod: String,
    /// The uid of the Pod.
    pub uid: String,
    /// The container: the one that was asked for, or the only one. It is one of the Pod, also an init or an ephemeral one; whether it
    /// runs is for the answerer to know.
    pub container: String,
    /// The program and its arguments. No shell is between, unless the program is one.
    pub command: Vec<String>,
    /// Whether the client wants a terminal.
    pub tty: bool,
    /// Whether the client sends anything; what it reads is at its end at once otherwise.
    pub stdin: bool,
    /// Whether what the client sends has an end other than that of the connection: it sends nothing, or can close the stream, which
    /// clients can over SPDY and since protocol `v5.channel.k8s.io`. A command that reads to the end waits for ever otherwise.
    pub stdin_ends: bool,
}

/// What a command reads and writes. What is written to a stream that the client did not ask for is thrown away.
#[non_exhaustive]
pub struct ExecStreams {
    /// What the client sends. It ends where the client closes it, which leaves the other streams as they are, and at once if the client
    /// did not ask to send anything; see [`ExecCommand::stdin_ends`]. Dropping it throws away what the client still sends.
    pub stdin: Pin<Box<dyn AsyncRead + Send>>,
    /// The command's output. A client that does not read makes it wait. With a terminal, everything goes here.
    pub stdout: Pin<Box<dyn AsyncWrite + Send>>,
    /// The command's messages.
    pub stderr: Pin<Box<dyn AsyncWrite + Send>>,
    /// The sizes of the client's terminal.
    pub resize: TerminalSizes,
}

impl std::fmt::Debug for ExecStreams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecStreams").finish_non_exhaustive()
    }
}

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// How many columns it has.
    pub width: u16,
    /// How many lines it has.
    pub height: u16,
}

/// The sizes of a client's terminal, as it changes. Sizes that nobody waited for are forgotten, except the newest.
#[derive(Clone, Debug)]
pub struct TerminalSizes(watch::Receiver<Option<TerminalSize>>);

impl TerminalSizes {
    /// Sizes, and who tells them.
    pub(crate) fn channel() -> (watch::Sender<Option<TerminalSize>>, TerminalSizes) {
        let (sender, receiver) = watch::channel(None);
        (sender, TerminalSizes(receiver))
    }

    /// Waits for the next size; the first is that of the beginning. `None` once there will be no more: the client has no terminal, or is
    /// gone. Cancelling it loses nothing.
    pub async fn next(&mut self) -> Option<TerminalSize> {
        loop {
            self.0.changed().await.ok()?;
            if let Some(size) = *self.0.borrow_and_update() {
                return Some(size);
            }
        }
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecEnd {
    /// The program ended with this code.
    Exited(i32),
    /// There was no program to run, or it could not be run, for this reason. Clients read it behind upstream's words: `error executing
    /// command in container`, or `error attaching to container`.
    Failed(String),
}

/// A command on its way to its end. Dropping it ends the command: the client is gone, or the Pod is, or the server stops.
pub type ExecFuture = Pin<Box<dyn Future<Output = ExecEnd> + Send>>;
