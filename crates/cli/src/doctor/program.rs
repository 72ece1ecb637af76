//! Programs of the machine, asked a question that they must answer soon.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

/// How long a program may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a program answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProgramResult {
    /// What it printed.
    Said(String),
    /// It ended with an error, and said this.
    Failed(String),
    /// It did not answer in time.
    Silent,
    /// The program was not found.
    Missing,
}

/// Runs a program in a folder, without anything to read, and ends it if it does not answer.
pub(super) async fn ask(folder: Option<&Path>, program: &str, arguments: &[&str]) -> ProgramResult {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match tokio::time::timeout(PATIENCE, command.output()).await {
        Err(_) => ProgramResult::Silent,
        Ok(Err(_)) => ProgramResult::Missing,
        Ok(Ok(output)) if output.status.success() => ProgramResult::Said(text(&output.stdout)),
        Ok(Ok(output)) => ProgramResult::Failed(first_line(&text(&output.stderr))),
    }
}

/// The first line of a text.
pub(super) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().to_owned()
}
