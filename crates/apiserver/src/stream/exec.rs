//! Commands that clients run in containers: what they are, and who answers them.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::object;
use crate::server::ApiServer;

/// A command that a client runs in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecCommand {
    /// The namespace of the Pod.
    pub namespace: String,
    /// The name of the Pod.
    pub pod: String,
    /// The container: the one that was asked for, or the only one.
    pub container: String,
    /// The program and its arguments. No shell is between, unless the program is one.
    pub command: Vec<String>,
    /// Whether the client wants a terminal.
    pub tty: bool,
    /// Whether what the client sends has an end other than that of the connection: it sends nothing, or can close the stream, which
    /// clients can since protocol `v5.channel.k8s.io`. A command that reads to the end waits for ever otherwise.
    pub stdin_ends: bool,
}

/// What a command reads and writes. What is written to a stream that the client did not ask for is thrown away.
pub struct ExecStreams {
    /// What the client sends. It ends at once if the client did not ask to send anything; see [`ExecCommand::stdin_ends`].
    pub stdin: Pin<Box<dyn AsyncRead + Send>>,
    /// The command's output. A client that does not read makes it wait.
    pub stdout: Pin<Box<dyn AsyncWrite + Send>>,
    /// The command's messages.
    pub stderr: Pin<Box<dyn AsyncWrite + Send>>,
}

impl std::fmt::Debug for ExecStreams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecStreams").finish_non_exhaustive()
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecEnd {
    /// The program ended with this code.
    Exited(i32),
    /// There was no program to run, or it could not be run, for this reason.
    Failed(String),
}

type Ending = Pin<Box<dyn Future<Output = ExecEnd> + Send>>;
type Handler = Arc<dyn Fn(ExecCommand, ExecStreams) -> Ending + Send + Sync>;

/// Who answers commands, by Pod.
#[derive(Default)]
pub(crate) struct ExecHandlers(RwLock<HashMap<String, Handler>>);

impl ExecHandlers {
    pub(crate) fn fork(&self) -> Self {
        ExecHandlers(RwLock::new(self.0.read().clone()))
    }

    /// Who answers commands in a Pod.
    pub(crate) fn of(&self, namespace: &str, pod: &str) -> Option<Handler> {
        self.0.read().get(&object::key(namespace, pod)).cloned()
    }
}

impl ApiServer {
    /// Has `run` answer the commands that clients run in the containers of a Pod (`kubectl exec`, `Api::exec`), in place of what
    /// answered them before. The Pod need not exist yet, and is another one once it was deleted and created again: `run` answers for
    /// all Pods of that name.
    ///
    /// ```
    /// use kubewright_apiserver::{ApiServer, ExecEnd, Options};
    /// use tokio::io::AsyncWriteExt as _;
    ///
    /// let server = ApiServer::new(Options::new());
    /// server.on_exec("default", "database-0", |command, mut streams| async move {
    ///     match command.command.iter().map(String::as_str).collect::<Vec<_>>()[..] {
    ///         ["pg_isready"] => {
    ///             let _ = streams.stdout.write_all(b"accepting connections\n").await;
    ///             ExecEnd::Exited(0)
    ///         }
    ///         _ => ExecEnd::Exited(127),
    ///     }
    /// });
    /// ```
    pub fn on_exec<F, Fut>(&self, namespace: &str, pod: &str, run: F)
    where
        F: Fn(ExecCommand, ExecStreams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ExecEnd> + Send + 'static,
    {
        let handler: Handler = Arc::new(move |command, streams| Box::pin(run(command, streams)));
        let handlers = &self.server.exec_handlers;
        handlers.0.write().insert(object::key(namespace, pod), handler);
    }
}
