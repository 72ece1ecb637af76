//! `kubewright explore`: explores the operator of a project by its own test `tests/explore.rs`, which it builds and runs.

mod outcome;

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use clap::ValueEnum;
use kubewright_cluster::progress::Progress;
use kubewright_system::signals;

use self::outcome::Outcome;
use crate::project::Project;

/// The exit code if there was nothing to explore.
const UNUSABLE: u8 = 2;
/// How a shell reports SIGKILL, which the system sends when memory is short.
const KILLED: i32 = 128 + 9;
/// The test that is run unless another one is named.
const TEST: &str = "explore";

const EXAMPLES: &str = "\
The exit code is 0 if nothing is found, 1 if something is, and 2 if the operator cannot be explored to the end.

Examples:
  kubewright explore                          everything, on all cores
  kubewright explore --time 1m                begin no run after a minute, as in CI
  kubewright explore --class crash,edits      only what crashes and edits do
  kubewright explore --replay \"crash after create services/web-* #1 in step create app\"";

/// Search the operator for mistakes that crashes, lost answers, late events, other people and edits bring to light.
///
/// The objects in config/samples are created and deleted in a cluster in the test's process, again and again, each time with one thing
/// going wrong: the operator crashes at one of its writes, a request fails, watches end, somebody else deletes, edits or owns what it
/// makes, a user edits a field of the sample. In the end the cluster must be as if nothing had happened. Time is virtual, so a run takes
/// milliseconds.
///
/// The command builds and runs tests/explore.rs, and writes that file if the project has none. What it finds comes with the plan that
/// repeats it; target/explore has a page with everything that was tried.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Begin no run after this time, as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = time)]
    time: Option<Duration>,

    /// The seed of uids, generated names, jitter and chosen edits
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// How many runs there are at the same time; by default as many as cores
    #[arg(long, short, value_name = "NUMBER")]
    jobs: Option<usize>,

    /// Only this class: restart, crash, requests, watches, staleness, rights, webhooks, clock, world, edits or pairs
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    class: Vec<String>,

    /// Run one plan alone, as a report has it
    #[arg(long, value_name = "PLAN")]
    replay: Option<String>,

    /// The test that explores, a file of tests/ without .rs
    #[arg(long, value_name = "NAME", default_value = TEST)]
    test: String,

    /// The output format
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Json,
}

/// Why nothing was explored.
#[derive(Debug, thiserror::Error)]
enum ExploreError {
    #[error("tests/{0}.rs was ended before it was through ({1}): what it would have found is not known{hint}", hint = hint(*.1))]
    Ended(String, ExitStatus),
    #[error("tests/{0}.rs fails, and not because of what was explored: `cargo test --test {0}` shows why")]
    Failed(String),
    #[error("cannot make a folder for the outcome")]
    Folder(#[source] io::Error),
    #[error("cannot read the outcome of {0}")]
    Outcome(String, #[source] Box<dyn Error>),
    #[error("cannot run {}", .0.display())]
    Run(PathBuf, #[source] io::Error),
    #[error("cannot write {}", .0.display())]
    Write(PathBuf, #[source] io::Error),
    #[error(
        "tests/{0}.rs explored nothing: it has to be a test that calls `explore({1}::operator).samples(\"config/samples\").run().await`"
    )]
    Nothing(String, String),
}

/// What a test program has told, and what kept it from telling all.
struct Explored {
    outcomes: Vec<Outcome>,
    cut_short: Option<ExploreError>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let progress = Progress::new();
    let explored = match explore(arguments, &progress) {
        Ok(explored) => explored,
        Err(error) => return unusable(&*error),
    };
    let outcomes = explored.outcomes;
    if arguments.output == Some(Format::Json) {
        progress.line(outcome::data(&outcomes));
    } else {
        for outcome in &outcomes {
            outcome.tell(&progress);
        }
    }
    match explored.cut_short {
        Some(error) => unusable(&error),
        None => exit_code(&outcomes),
    }
}

fn unusable(error: &dyn Error) -> ExitCode {
    crate::output::complain(&format!("error: {}", kubewright_cluster::with_sources(error)));
    ExitCode::from(UNUSABLE)
}

fn exit_code(outcomes: &[Outcome]) -> ExitCode {
    if outcomes.iter().any(|outcome| outcome.error().is_some()) {
        ExitCode::from(UNUSABLE)
    } else if outcomes.iter().any(|outcome| outcome.report().is_some()) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// What may have ended a program by this status.
fn hint(status: ExitStatus) -> &'static str {
    if signals::exit_code(status) == KILLED {
        ". If nobody ended it, it ran out of memory: try fewer `--jobs`"
    } else {
        ""
    }
}

fn explore(arguments: &Arguments, progress: &Progress) -> Result<Explored, Box<dyn Error>> {
    let project = Project::load()?;
    if arguments.test == TEST {
        write_if_missing(&project, progress)?;
    }
    let program = project.build_test(&arguments.test, progress)?;
    let folder = tempfile::tempdir().map_err(ExploreError::Folder)?;
    let mut command = command(arguments, &project, &program, folder.path());
    let step = progress.noisy_step("Exploring");
    let status = command.status().map_err(|source| ExploreError::Run(program, source))?;
    let outcomes = outcome::read(folder.path())?;
    if status.success() {
        step.done();
    } else {
        step.failed();
    }
    let is_explained = |outcome: &Outcome| outcome.error().or(outcome.report()).is_some();
    let test = || arguments.test.clone();
    let cut_short = if status.code().is_none() {
        Some(ExploreError::Ended(test(), status))
    } else if outcomes.is_empty() {
        Some(ExploreError::Nothing(test(), project.file().crate_name()))
    } else if !status.success() && !outcomes.iter().any(is_explained) {
        Some(ExploreError::Failed(test()))
    } else {
        None
    };
    Ok(Explored { outcomes, cut_short })
}

/// The test's program, asked for what the arguments say, that writes its outcome into a folder.
fn command(arguments: &Arguments, project: &Project, program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        // One after another: each exploration uses all cores.
        .args(["--nocapture", "--test-threads=1"])
        .current_dir(project.root())
        // As cargo runs tests; paths of samples are relative to it.
        .env(
            "CARGO_MANIFEST_DIR",
            std::path::absolute(project.root()).unwrap_or_else(|_| project.root().to_owned()),
        )
        .env("KUBEWRIGHT_EXPLORE_REPORT", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let variables = [
        (
            "KUBEWRIGHT_EXPLORE_TIME",
            arguments.time.map(|time| time.as_secs().to_string()),
        ),
        ("KUBEWRIGHT_EXPLORE_SEED", arguments.seed.map(|seed| seed.to_string())),
        ("KUBEWRIGHT_EXPLORE_JOBS", arguments.jobs.map(|jobs| jobs.to_string())),
        (
            "KUBEWRIGHT_EXPLORE_CLASSES",
            Some(arguments.class.join(",")).filter(|classes| !classes.is_empty()),
        ),
        ("KUBEWRIGHT_EXPLORE_REPLAY", arguments.replay.clone()),
    ];
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// Writes the test as `kubewright create api` does, into a project that was made before that.
fn write_if_missing(project: &Project, progress: &Progress) -> Result<(), ExploreError> {
    let file = kubewright_scaffold::explore_test(project.file());
    let path = project.root().join(&file.path);
    if path.exists() {
        return Ok(());
    }
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    written
        .and_then(|()| std::fs::write(&path, &file.content))
        .map_err(|source| ExploreError::Write(path, source))?;
    progress.note(format!(
        "{} was missing and is written: it is yours from now on",
        file.path
    ));
    Ok(())
}

/// `90`, `30s`, `5m`, `1h`
fn time(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(number) => (number, &text[number.len()..]),
        None => (text, "s"),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| "a time is written as 30s, 5m or 1h".to_owned())?;
    Ok(match unit {
        "h" => Duration::from_hours(number),
        "m" => Duration::from_mins(number),
        _ => Duration::from_secs(number),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("90").unwrap(), Duration::from_secs(90));
        assert_eq!(time("30s").unwrap(), Duration::from_secs(30));
        assert_eq!(time("5m").unwrap(), Duration::from_mins(5));
        assert_eq!(time("1h").unwrap(), Duration::from_hours(1));
        assert!(time("soon").is_err());
        assert!(time("m").is_err());
    }
}
