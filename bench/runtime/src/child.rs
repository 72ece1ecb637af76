//! Runs the peers as child processes and exchanges lines with them.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use clap::ValueEnum;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use kubewright_bench_runtime::Failure;
use kubewright_bench_runtime::protocol::{Report, now};

/// How long a child may take to answer a question that needs no work.
const ANSWER: Duration = Duration::from_secs(20);

/// A library that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Peer {
    ControllerRuntime,
    Kube,
    Ours,
    /// Ours with its trace on.
    OursTraced,
}

impl Peer {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Peer::ControllerRuntime => "controller-runtime",
            Peer::Kube => "kube_runtime",
            Peer::Ours => "ours",
            Peer::OursTraced => "ours, traced",
        }
    }

    /// The path of its program, in the folder of the benchmark's own.
    fn program(self) -> Result<PathBuf, Failure> {
        Ok(std::env::current_exe()?.with_file_name(match self {
            Peer::ControllerRuntime => "peer-controller-runtime",
            Peer::Kube => "peer-kube",
            Peer::Ours | Peer::OursTraced => "peer-ours",
        }))
    }

    /// Builds its program.
    pub(crate) async fn build(self) -> Result<(), Failure> {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = match self {
            Peer::ControllerRuntime => {
                let mut command = Command::new("go");
                command
                    .args(["build", "-buildvcs=false", "-o"])
                    .arg(self.program()?)
                    .arg(".");
                command.env("GOFLAGS", "-mod=mod").current_dir(package.join("go"));
                command
            }
            Peer::Kube | Peer::Ours | Peer::OursTraced => {
                let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
                command.args(["build", "--quiet", "--package", env!("CARGO_PKG_NAME"), "--bin"]);
                command.arg(if self == Peer::Kube { "peer-kube" } else { "peer-ours" });
                // The profile of the benchmark itself, so that Cargo puts the program into the same folder.
                let profile = self.program()?;
                let profile = profile
                    .parent()
                    .and_then(Path::file_name)
                    .and_then(|name| name.to_str());
                if let Some(profile) = profile.filter(|profile| *profile != "debug") {
                    command.args(["--profile", profile]);
                }
                command.current_dir(package);
                command
            }
        };
        let built = command.kill_on_drop(true).status().await;
        match built {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(format!("{} does not build", self.name()).into()),
            Err(error) => Err(format!(
                "{} cannot be built (--peers leaves it out; controller-runtime needs Go 1.26): {error}",
                self.name()
            )
            .into()),
        }
    }
}

/// A running peer. Dropping this kills it.
pub(crate) struct Child {
    name: String,
    process: tokio::process::Child,
    questions: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    errors: PathBuf,
    /// When it was started, as a time of day in nanoseconds.
    pub(crate) started: i64,
}

/// The arguments of a child.
pub(crate) struct Start<'a> {
    pub(crate) peer: Peer,
    pub(crate) scenario: &'a str,
    pub(crate) count: usize,
    pub(crate) namespace: &'a str,
    pub(crate) heap: bool,
    pub(crate) kubeconfig: &'a Path,
    pub(crate) folder: &'a Path,
}

impl Child {
    pub(crate) fn start(start: &Start<'_>) -> Result<Child, Failure> {
        let errors = start.folder.join("stderr");
        let mut command = Command::new(start.peer.program()?);
        command
            .args(["--scenario", start.scenario])
            .arg(format!("--count={}", start.count))
            .arg(format!("--namespace={}", start.namespace))
            .env("KUBECONFIG", start.kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&errors)?)
            .process_group(0)
            .kill_on_drop(true);
        if start.heap {
            command.arg("--heap");
        }
        if start.peer == Peer::OursTraced {
            command.arg("--traced");
        }
        let name = format!("{} ({})", start.peer.name(), start.scenario);
        let started = now();
        let mut process = command
            .spawn()
            .map_err(|error| format!("{name} does not start: {error}"))?;
        let (Some(questions), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(format!("{name} has no pipes").into());
        };
        Ok(Child {
            name,
            process,
            questions,
            lines: BufReader::new(answers).lines(),
            errors,
            started,
        })
    }

    /// Waits for the next report of an event and ignores reports of others.
    pub(crate) async fn wait_for(&mut self, event: &str, patience: Duration) -> Result<Report, Failure> {
        let found = timeout(patience, async {
            while let Some(line) = self.lines.next_line().await? {
                let report: Report = serde_json::from_str(&line)
                    .map_err(|error| format!("{} said what nobody understands: {error}: {line}", self.name))?;
                if report.event == event {
                    return Ok::<_, Failure>(Some(report));
                }
            }
            Ok(None)
        })
        .await;
        match found {
            Ok(Ok(Some(report))) => Ok(report),
            Ok(Ok(None)) => Err(self.explain(&format!("ended before it was {event}"))),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(self.explain(&format!("was not {event} within {patience:?}"))),
        }
    }

    /// Asks a question that needs no work.
    pub(crate) async fn ask(&mut self, question: &str) -> Result<Report, Failure> {
        self.questions.write_all(format!("{question}\n").as_bytes()).await?;
        self.wait_for(question, ANSWER).await
    }

    /// Ends the process.
    pub(crate) async fn end(mut self) -> Result<(), Failure> {
        self.process.kill().await?;
        Ok(())
    }

    fn explain(&mut self, what: &str) -> Failure {
        let errors = std::fs::read_to_string(&self.errors).unwrap_or_default();
        let lines: Vec<&str> = errors.lines().collect();
        let last = lines[lines.len().saturating_sub(8)..].join("\n  ");
        let status = match self.process.try_wait() {
            Ok(Some(status)) => format!(" ({status})"),
            _ => String::new(),
        };
        format!("{} {what}{status}; its last words:\n  {last}", self.name).into()
    }
}
