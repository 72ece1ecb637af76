//! kubectl against a server of a test.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use kubewright_apiserver::{ApiServer, ListenOptions, Listener};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

/// Longer than any command takes on the slowest machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// kubectl, with the credentials of the administrator.
pub(crate) struct Kubectl {
    program: PathBuf,
    environment: Vec<(&'static str, &'static str)>,
    /// The listener ends with the last of those that use it.
    served: Arc<(Listener, TempDir)>,
}

impl Kubectl {
    /// The kubectl of the tests; `None`, and a line that says so, if there is none.
    pub(crate) async fn of(server: &ApiServer) -> Option<Kubectl> {
        Some(Kubectl::named(kubewright_test_support::kubectl()?, server).await)
    }

    pub(crate) async fn named(program: PathBuf, server: &ApiServer) -> Kubectl {
        let listener = server.listen(ListenOptions::default()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config"), listener.kubeconfig()).unwrap();
        Kubectl {
            program,
            environment: Vec::new(),
            served: Arc::new((listener, folder)),
        }
    }

    /// The same with other variables of its environment.
    pub(crate) fn with(&self, environment: &[(&'static str, &'static str)]) -> Kubectl {
        Kubectl {
            program: self.program.clone(),
            environment: environment.to_vec(),
            served: Arc::clone(&self.served),
        }
    }

    /// The same, as versions before 1.31 connect to Pods.
    pub(crate) fn over_spdy(&self) -> Kubectl {
        self.with(&[
            ("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "false"),
            ("KUBECTL_PORT_FORWARD_WEBSOCKETS", "false"),
        ])
    }

    fn kubeconfig(&self) -> PathBuf {
        self.served.1.path().join("config")
    }

    /// The command with these arguments; it ends with what holds it.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.prepared(&self.program);
        command.arg("--kubeconfig").arg(self.kubeconfig()).args(arguments);
        command
    }

    fn prepared(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .envs(self.environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Its exit code, what it prints and what it complains of.
    pub(crate) async fn run(&self, arguments: &[&str], stdin: &str) -> (Option<i32>, String, String) {
        finish(self.command(arguments), stdin).await
    }

    /// The same in a terminal of this size, whose output is all that is seen.
    pub(crate) async fn run_in_terminal(
        &self,
        arguments: &str,
        width: u16,
        height: u16,
    ) -> (Option<i32>, String, String) {
        let (program, config) = (self.program.display(), self.kubeconfig());
        let line = format!(
            "stty cols {width} rows {height}; {program} --kubeconfig {} {arguments}",
            config.display()
        );
        let mut command = self.prepared(Path::new("script"));
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        finish(command, "").await
    }
}

async fn finish(mut command: Command, stdin: &str) -> (Option<i32>, String, String) {
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(stdin.as_bytes()).await.unwrap();
    drop(input);
    let output = timeout(PATIENCE, child.wait_with_output()).await;
    let output = output.expect("kubectl ends").unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}
