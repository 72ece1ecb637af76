//! Answers the commands that clients run in containers.

use std::panic::Location;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use k8s_openapi::api::core::v1::Pod;
use kubewright_apimachinery::labels::Selector;
use kubewright_apiserver::{ApiServer, ExecCommand, ExecEnd, ExecStreams};
use kubewright_runtime::object::Kind;
use serde_json::{Map, Value};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{Name, TestEnv};
use crate::Error;
use crate::fail::or_fail;

/// How a command ends.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ReplyEnd {
    Exited(i32),
    Failed(String),
    Never,
}

impl Default for ReplyEnd {
    fn default() -> Self {
        ReplyEnd::Exited(0)
    }
}

/// What a command prints, and how it ends: with code 0 unless said.
///
/// ```
/// use kubewright_testing::ExecReply;
///
/// let fine = ExecReply::new().stdout("accepting connections\n");
/// let not_there = ExecReply::new().stderr("no such table\n").exit_code(1);
/// let no_program = ExecReply::failed("exec: \"pg_isready\": executable file not found in $PATH");
/// let hanging = ExecReply::never().stdout("waiting for server to shut down...");
/// # assert!(fine != not_there && no_program != hanging);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecReply {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    end: ReplyEnd,
}

impl ExecReply {
    /// A command that prints nothing and ends with code 0.
    pub fn new() -> Self {
        ExecReply::default()
    }

    /// A command that cannot be run, for this reason: clients read it behind `error executing command in container: `.
    pub fn failed(why: impl Into<String>) -> Self {
        ExecReply {
            end: ReplyEnd::Failed(why.into()),
            ..ExecReply::default()
        }
    }

    /// A command that prints nothing and does not end before its client, its Pod or the server does.
    pub fn never() -> Self {
        ExecReply {
            end: ReplyEnd::Never,
            ..ExecReply::default()
        }
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
        self.end = ReplyEnd::Exited(code);
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
    /// The name of the Pod.
    pub pod: String,
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
            let key = name.key(&Kind::of::<Pod>(), self.namespace());
            let namespace = key.namespace().unwrap_or_default();
            self.answers_commands()?
                .on_exec(namespace, key.name(), answering(answer));
            Ok(())
        }
    }

    /// As [`on_exec`](Self::on_exec), for all Pods of the test's namespace that a label selector selects, also those that come
    /// later: the Pods of a Deployment have names that nobody knows before. What is answered for the name of a Pod comes first.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use kubewright_testing::{ExecReply, TestEnv};
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// env.on_exec_selected("app=web,tier!=cache", |run| format!("I am {}\n", run.pod).into()).await;
    /// # }
    /// ```
    #[track_caller]
    pub fn on_exec_selected<F>(&self, selector: &str, answer: F) -> impl Future<Output = ()>
    where
        F: Fn(&Executed) -> ExecReply + Send + Sync + 'static,
    {
        or_fail(Location::caller(), self.try_on_exec_selected(selector, answer))
    }

    /// As [`on_exec_selected`](Self::on_exec_selected), but returns the error instead of failing the test.
    pub fn try_on_exec_selected<F>(&self, selector: &str, answer: F) -> impl Future<Output = Result<(), Error>>
    where
        F: Fn(&Executed) -> ExecReply + Send + Sync + 'static,
    {
        let selector = selector.parse::<Selector>().map_err(|error| Error::Manifest {
            place: format!("the label selector {selector:?}"),
            problem: error.to_string(),
        });
        async move {
            let (selector, namespace) = (selector?, self.namespace().to_owned());
            let is_meant = move |pod: &Value| {
                let metadata = &pod["metadata"];
                metadata["namespace"] == *namespace
                    && selector.matches(metadata["labels"].as_object().unwrap_or(&Map::new()))
            };
            self.answers_commands()?.on_exec_where(is_meant, answering(answer));
            Ok(())
        }
    }

    /// The server, if it is one whose containers a test can answer for.
    fn answers_commands(&self) -> Result<&ApiServer, Error> {
        self.control_plane()?.server().ok_or_else(|| Error::EmbeddedOnly {
            what: "answering commands",
            mode: self.mode_name(),
            remedy: "start the environment with `TestEnv::builder().operator(…).embedded()` to keep this test there",
        })
    }
}

/// Runs commands whose reply is known.
fn answering<F>(answer: F) -> impl Fn(ExecCommand, ExecStreams) -> BoxFuture<'static, ExecEnd> + Send + Sync + 'static
where
    F: Fn(&Executed) -> ExecReply + Send + Sync + 'static,
{
    let answer = Arc::new(answer);
    move |command, mut streams| {
        let answer = Arc::clone(&answer);
        Box::pin(async move {
            let mut stdin = Vec::new();
            if command.stdin_ends {
                let _ = streams.stdin.read_to_end(&mut stdin).await;
            }
            let reply = answer(&executed(command, stdin));
            // A client that is gone reads nothing; the command ends all the same.
            let _ = streams.stdout.write_all(&reply.stdout).await;
            let _ = streams.stderr.write_all(&reply.stderr).await;
            match reply.end {
                ReplyEnd::Exited(code) => ExecEnd::Exited(code),
                ReplyEnd::Failed(why) => ExecEnd::Failed(why),
                ReplyEnd::Never => std::future::pending().await,
            }
        })
    }
}

fn executed(command: ExecCommand, stdin: Vec<u8>) -> Executed {
    Executed {
        pod: command.pod,
        container: command.container,
        command: command.command,
        stdin,
    }
}
