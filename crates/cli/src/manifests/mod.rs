//! `kubewright manifests`: writes the generated parts of `config/`, once an API server has accepted them.

mod plan;
mod verify;

use std::error::Error;
use std::process::ExitCode;

use clap::ValueEnum;
use kubewright_cluster::progress::Progress;
use kubewright_manifests::{definitions, yaml};
use kubewright_scaffold::diff;
use serde_json::json;

use self::plan::Plan;
use crate::next;
use crate::output::{self, OutputError};
use crate::project::{Overrides, Project};

pub(crate) use verify::verify;

/// Write CRDs, roles and webhook configurations from the operator's code into config/.
///
/// The command builds the operator and reads its description. It checks the objects on an API server inside this command, exactly as
/// a cluster would, and writes them into config/: only files that changed, and only those that are marked as generated.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  kubewright manifests                 write config/
  kubewright manifests --check         fail, with the difference, if config/ is not what the code says (for CI)
  kubewright manifests -o yaml         print all objects of an installation instead")]
pub(crate) struct Arguments {
    /// Write nothing; fail and show the difference if something would change
    #[arg(long, conflicts_with = "output")]
    check: bool,

    /// Print the objects of an installation to standard output instead of writing files
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

/// How objects are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A stream of YAML documents
    Yaml,
    /// One JSON list
    Json,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let progress = Progress::new();
    let project = Project::load()?;
    let binary = project.build(&progress)?;
    let description = project.describe(&binary)?;
    let bundle = project.bundle(&description, &Overrides::default())?;
    for complaint in verify(&project, &description, &bundle)? {
        progress.warn(complaint);
    }
    for note in definitions::notes(&bundle.manifests.definitions) {
        progress.note(note.to_string());
    }
    if let Some(format) = arguments.output {
        print(&bundle.all().cloned().collect::<Vec<_>>(), format)?;
        return Ok(ExitCode::SUCCESS);
    }
    let plan = Plan::make(&project, &description, &bundle.manifests)?;
    for note in &plan.notes {
        progress.note(note);
    }
    if arguments.check {
        return Ok(check(&plan, &progress));
    }
    plan.carry_out(project.root())?;
    for change in &plan.changes {
        progress.line(change.summary());
    }
    if plan.changes.is_empty() {
        progress.line("config/ is up to date");
    }
    next::suggest(&[
        ("kubewright install", "brings the CRDs to the cluster"),
        ("kubewright run", "runs the operator from this machine"),
        ("kubewright deploy --image IMAGE", "runs it in the cluster"),
    ]);
    Ok(ExitCode::SUCCESS)
}

/// Shows what would change.
fn check(plan: &Plan, progress: &Progress) -> ExitCode {
    if plan.changes.is_empty() {
        progress.line("config/ is up to date");
        return ExitCode::SUCCESS;
    }
    for change in &plan.changes {
        let diff = diff::unified(&change.path, change.before.as_deref(), change.after.as_deref());
        progress.line(diff.trim_end());
    }
    let files = match plan.changes.len() {
        1 => "a file".to_owned(),
        count => format!("{count} files"),
    };
    output::complain(&format!(
        "error: {files} of config/ are not what the code says: run `kubewright manifests` and commit the result"
    ));
    ExitCode::FAILURE
}

/// Prints objects.
pub(crate) fn print(objects: &[serde_json::Value], format: Format) -> Result<(), OutputError> {
    let text = match format {
        Format::Yaml => yaml::documents(objects),
        Format::Json => {
            let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
            format!("{list:#}\n")
        }
    };
    output::write(&text)
}
