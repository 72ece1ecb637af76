//! Answers the commands that clients run in containers.

use std::panic::Location;

use k8s_openapi::api::core::v1::Pod;
use kubewright_apiserver::{ExecCommand, ExecEnd};
use kubewright_runtime::object::Kind;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{Name, TestEnv};
use crate::Error;
use crate::fail::or_fail;

/// What a command prints, and how it ends: with code 0 unless said.
///
/// ```
/// use kubewright_testing::ExecReply;
///
/// let fine = ExecReply::new().stdout("accepting connections\n");
/// let not_there = ExecReply::new().stderr("no such table\n").exit_code(1);
/// # assert_ne!(fine, not_there);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecReply {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    exit_code: i32,
}

impl ExecReply {
    /// A command that prints nothing and ends with code 0.
    pub fn new() -> Self {
        ExecReply::default()
    }

    /// What it prints to its output.
    #[must_use]
    pub fn stdout(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdout = text.into();
        self
    }

    /// What it prints to its messages.
    #[must_use]
    pub fn stderr(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stderr = text.into();
        self
    }

    /// The code that it ends with.
    #[must_use]
    pub fn exit_code(mut self, code: i32) -> Self {
        self.exit_code = code;
        self
    }
}

impl From<&str> for ExecReply {
    /// A command that prints this and ends with code 0.
    fn from(text: &str) -> Self {
        ExecReply::new().stdout(text)
    }
}

impl From<String> for ExecReply {
    /// A command that prints this and ends with code 0.
    fn from(text: String) -> Self {
        ExecReply::new().stdout(text)
    }
}

/// A command that a client runs in a container, with all that it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Executed {
    /// The container.
    pub container: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What the client sent before it closed the stream. Clients of older protocols cannot close it: a command is answered at once for
    /// them, with what had come by then left out.
    pub stdin: Vec<u8>,
}

impl TestEnv {
    /// Answers the commands that clients run in the containers of a Pod: the operator under test with `Api::exec`, `kubectl exec`.
    /// Simulated containers have no programs; without an answer a client is told so.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use kubewright_testing::{ExecReply, TestEnv};
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// env.on_exec("database-0", |run| match run.command[0].as_str() {
    ///     "pg_isready" => "accepting connections\n".into(),
    ///     program => ExecReply::new().stderr(format!("{program}: not found\n")).exit_code(127),
    /// })
    /// .await;
    /// # }
    /// ```
    #[track_caller]
    pub fn on_exec<F>(&self, pod: impl Into<Name>, answer: F) -> impl Future<Output = ()>
    where
        F: Fn(&Executed) -> ExecReply + Send + Sync + 'static,
    {
        or_fail(Location::caller(), self.try_on_exec(pod, answer))
    }

    /// As [`on_exec`](Self::on_exec), but returns the error instead of failing the test.
    pub fn try_on_exec<F>(&self, pod: impl Into<Name>, answer: F) -> impl Future<Output = Result<(), Error>>
    where
        F: Fn(&Executed) -> ExecReply + Send + Sync + 'static,
    {
        let name = pod.into();
        async move {
            let Some(server) = self.control_plane()?.server() else {
                return Err(Error::EmbeddedOnly {
                    what: "answering commands",
                    mode: self.mode_name(),
                    remedy: "start the environment with `TestEnv::builder().operator(…).embedded()` to keep this test there",
                });
            };
            let key = name.key(&Kind::of::<Pod>(), self.namespace());
            let answer = std::sync::Arc::new(answer);
            server.on_exec(
                key.namespace().unwrap_or_default(),
                key.name(),
                move |command, mut streams| {
                    let answer = std::sync::Arc::clone(&answer);
                    async move {
                        let mut stdin = Vec::new();
                        if command.stdin_ends {
                            let _ = streams.stdin.read_to_end(&mut stdin).await;
                        }
                        let reply = answer(&executed(command, stdin));
                        // A client that is gone reads nothing; the command ends all the same.
                        let _ = streams.stdout.write_all(&reply.stdout).await;
                        let _ = streams.stderr.write_all(&reply.stderr).await;
                        ExecEnd::Exited(reply.exit_code)
                    }
                },
            );
            Ok(())
        }
    }
}

fn executed(command: ExecCommand, stdin: Vec<u8>) -> Executed {
    Executed {
        container: command.container,
        command: command.command,
        stdin,
    }
}
