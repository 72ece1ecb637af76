//! `kubewright rbac check`: the operator's rights against what it asked for while it was tested.

mod audit;

use std::error::Error;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::{Subcommand, ValueEnum};
use kubewright_cluster::progress::Progress;
use kubewright_description::Description;
use kubewright_manifests::rules::check::{Origin, Report, check};
use serde_json::{Value, json};

use crate::project::Project;

/// Check the permissions of the operator.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    Check(Check),
}

/// Compare the operator's permissions with the requests of a test run.
///
/// The command runs `cargo test`, in which each `TestEnv` records the operator's requests. It then lists requests that were refused,
/// with the attribute to add, and permissions that were not used, with the place that grants them. It fails if there are any.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  kubewright rbac check                        run the tests and compare
  kubewright rbac check -- --test cart         only these tests
  kubewright rbac check --audit audit.log      compare with the audit log of a cluster instead")]
struct Check {
    /// Compare with this file or folder instead of running tests: audit lines of a `TestEnv`, or the audit log of a kube-apiserver
    #[arg(long, value_name = "PATH")]
    audit: Vec<PathBuf>,

    /// The output format
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,

    /// Arguments for `cargo test`
    #[arg(last = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Json,
    Yaml,
}

/// Why there is nothing to compare.
#[derive(Debug, thiserror::Error)]
enum RbacError {
    #[error("cannot run cargo: is Rust installed? see https://rustup.rs")]
    NoCargo(#[source] std::io::Error),
    #[error("cannot make a folder for the audit")]
    Folder(#[source] std::io::Error),
    #[error(
        "nothing is known of what {0} asks for: no test started it; `TestEnv::start({1}::operator())` in a test of tests/ does"
    )]
    Nothing(String, String),
    #[error("{0} has no request of {1}: is it the audit of a run of this operator?")]
    NothingIn(String, String),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let Task::Check(arguments) = &arguments.command;
    let progress = Progress::new();
    let project = Project::load()?;
    let binary = project.build(&progress)?;
    let description = project.describe(&binary)?;
    let account = format!(
        "system:serviceaccount:{}:{}controller-manager",
        project.namespace(),
        project.prefix()
    );
    let wanted = audit::RequestFilter {
        operator: &description.name,
        account: &account,
    };
    let (requests, tests_passed) = if arguments.audit.is_empty() {
        let folder = tempfile::tempdir().map_err(RbacError::Folder)?;
        let passed = test(&project, folder.path(), &arguments.arguments, &progress)?;
        let requests = audit::read(folder.path(), &wanted)?;
        if requests.is_empty() && passed {
            let crate_name = project.file().crate_name();
            return Err(RbacError::Nothing(description.name.clone(), crate_name).into());
        }
        (requests, passed)
    } else {
        let mut requests = Vec::new();
        for path in &arguments.audit {
            requests.extend(audit::read(path, &wanted)?);
        }
        if requests.is_empty() {
            let paths: Vec<String> = arguments.audit.iter().map(|path| path.display().to_string()).collect();
            return Err(RbacError::NothingIn(paths.join(", "), description.name.clone()).into());
        }
        (requests, true)
    };
    if !tests_passed {
        progress.warn("the tests failed: what they did not come to is not known");
    }
    let report = check(&description, &requests);
    match arguments.output {
        None => tell(&report, &description, requests.len(), &progress),
        Some(Format::Json) => progress.line(format!("{:#}", data(&report))),
        Some(Format::Yaml) => progress.line(kubewright_codec::yaml::encode(&data(&report)).trim_end()),
    }
    Ok(if report.is_clean() && tests_passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs the tests, which write down what was asked for; whether they passed.
fn test(
    project: &Project,
    folder: &std::path::Path,
    arguments: &[String],
    progress: &Progress,
) -> Result<bool, RbacError> {
    let step = progress.noisy_step("Running the tests");
    let status = Command::new("cargo")
        .arg("test")
        .args(arguments)
        .current_dir(project.root())
        .env(audit::VARIABLE, folder)
        // Standard output is for the outcome.
        .stdout(std::io::stderr())
        .status()
        .map_err(RbacError::NoCargo)?;
    if status.success() {
        step.done();
    } else {
        step.failed();
    }
    Ok(status.success())
}

fn tell(report: &Report, operator: &Description, requests: usize, progress: &Progress) {
    for denied in &report.denied {
        progress.line(denied.to_string());
    }
    for unused in report.unused.iter().filter(|unused| unused.origin == Origin::Written) {
        progress.line(unused.to_string());
    }
    // Rules that are derived cannot be removed by hand; they are listed beside the outcome.
    for unused in report.unused.iter().filter(|unused| unused.origin != Origin::Written) {
        progress.note(unused.to_string());
    }
    if report.is_clean() {
        progress.line(format!(
            "{} has the rights it used and was refused nothing ({requests} different requests)",
            operator.name
        ));
    }
}

/// The outcome as data.
fn data(report: &Report) -> Value {
    let denied = report.denied.iter().map(|denied| {
        json!({
            "rule": denied.rule,
            "attribute": denied.attribute,
            "namespaces": denied.namespaces,
            "requests": denied.requests,
            "grantedByNow": denied.granted_by_now,
        })
    });
    let unused = report.unused.iter().map(|unused| {
        let origin = match unused.origin {
            Origin::Declared => "Declared",
            Origin::Toolkit => "Toolkit",
            Origin::Written => "Written",
        };
        json!({ "rule": unused.rule, "origin": origin })
    });
    json!({ "denied": denied.collect::<Vec<_>>(), "unused": unused.collect::<Vec<_>>() })
}
