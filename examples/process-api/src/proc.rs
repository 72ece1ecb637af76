//! Processes as the kernel tells of them: a folder with a folder for each, named by its number.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use kubewright::extension::{RowError, Rows};
use kubewright::jiff::Timestamp;
use kubewright::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::api::{Process, ProcessSpec, ProcessStatus};

/// The label with the name of the program: `kubectl get processes -l ps.example.com/command=nginx`.
pub const COMMAND: &str = "ps.example.com/command";

/// How many of its units of time the kernel counts in a second, for programs that read `/proc`.
const TICKS: i64 = 100;

/// A folder like `/proc`.
#[derive(Clone, Debug)]
pub struct ProcessFolder(PathBuf);

impl ProcessFolder {
    /// The processes in this folder.
    pub fn at(folder: impl AsRef<Path>) -> Self {
        ProcessFolder(folder.as_ref().to_owned())
    }

    /// All processes. Those that end meanwhile are left out.
    fn all(&self) -> io::Result<Vec<Process>> {
        let booted = self.booted();
        let mut processes = Vec::new();
        for entry in std::fs::read_dir(&self.0)? {
            let name = entry?.file_name();
            if let Some(number) = name.to_str().and_then(|name| name.parse().ok()) {
                processes.extend(self.one(number, booted));
            }
        }
        Ok(processes)
    }

    /// One process; `None` if there is none, or no longer.
    fn one(&self, number: u32, booted: Option<i64>) -> Option<Process> {
        let read = |file: &str| std::fs::read(self.0.join(number.to_string()).join(file)).ok();
        let text = String::from_utf8_lossy(&read("status")?).into_owned();
        let facts: BTreeMap<&str, &str> = text
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(key, value)| (key, value.trim()))
            .collect();
        let number_of = |key: &str| {
            let first = facts.get(key)?.split_whitespace().next()?;
            first.parse::<u32>().ok()
        };
        let command = (*facts.get("Name")?).to_owned();
        let arguments = read("cmdline").unwrap_or_default();
        let words = arguments.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        let mut process = Process::new(
            &number.to_string(),
            ProcessSpec {
                arguments: words.map(|word| String::from_utf8_lossy(word).into_owned()).collect(),
                parent: number_of("PPid").unwrap_or_default(),
                user: number_of("Uid").unwrap_or_default(),
                command,
            },
        );
        process.status = Some(ProcessStatus {
            state: state(facts.get("State").copied().unwrap_or_default()).to_owned(),
            memory: number_of("VmRSS").map(|kilobytes| format!("{kilobytes}Ki")),
            threads: number_of("Threads").unwrap_or_default(),
        });
        process.metadata.labels = Some(BTreeMap::from([(COMMAND.to_owned(), label(&process.spec.command))]));
        let ticks = read("stat").and_then(|stat| started(&String::from_utf8_lossy(&stat)));
        let seconds = booted.zip(ticks).map(|(booted, ticks)| booted + ticks / TICKS);
        process.metadata.creation_timestamp = seconds.and_then(|time| Timestamp::from_second(time).ok()).map(Time);
        Some(process)
    }

    /// When the machine was started, in seconds.
    fn booted(&self) -> Option<i64> {
        let text = std::fs::read_to_string(self.0.join("stat")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("btime "))?;
        line.trim().parse().ok()
    }
}

impl Rows<Process> for ProcessFolder {
    async fn list(&self, _namespace: Option<&str>) -> Result<Vec<Process>, RowError> {
        let folder = self.clone();
        read(move || folder.all()).await
    }

    async fn get(&self, _namespace: Option<&str>, name: &str) -> Result<Option<Process>, RowError> {
        let folder = self.clone();
        let Ok(number) = name.parse() else { return Ok(None) };
        // `007` is no name of a process.
        if u32::to_string(&number) != name {
            return Ok(None);
        }
        read(move || Ok(folder.one(number, folder.booted()))).await
    }
}

/// Reads files where that holds nobody up.
async fn read<T: Send + 'static>(read: impl FnOnce() -> io::Result<T> + Send + 'static) -> Result<T, RowError> {
    let done = kubewright::tokio::task::spawn_blocking(read).await;
    let unavailable = |why: String| RowError::Unavailable(format!("the processes cannot be read: {why}"));
    done.map_err(|error| unavailable(error.to_string()))?
        .map_err(|error| unavailable(error.to_string()))
}

/// When a process was started, in units of the kernel since the start of the machine: the 22nd field, of which the second may
/// have spaces and parentheses.
fn started(stat: &str) -> Option<i64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

fn state(text: &str) -> &'static str {
    match text.chars().next() {
        Some('R') => "Running",
        Some('S') => "Sleeping",
        Some('D') => "Waiting",
        Some('T' | 't') => "Stopped",
        Some('Z') => "Zombie",
        Some('I') => "Idle",
        _ => "Unknown",
    }
}

/// A command as the value of a label: what a label cannot have becomes a dash.
fn label(command: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let text: String = command
        .chars()
        .map(|c| if is_allowed(c) { c } else { '-' })
        .take(63)
        .collect();
    text.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_behind_a_name_with_spaces_and_parentheses() {
        let stat = "42 (a) b) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 99 7\n";
        assert_eq!(started(stat), Some(12345));
        assert_eq!(started("42 nothing"), None);
    }

    #[test]
    fn a_label_has_only_what_labels_have() {
        for (command, wanted) in [
            ("nginx", "nginx"),
            ("kworker/0:1", "kworker-0-1"),
            ("(sd-pam)", "sd-pam"),
            ("::", ""),
        ] {
            assert_eq!(label(command), wanted);
        }
    }
}
