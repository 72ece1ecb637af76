//! `kubewright uninstall`: takes the definitions of the project's kinds out of a cluster, and with them all their objects.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use kubewright_cluster::delete::DeletionTarget;
use kubewright_cluster::objects_text;
use kubewright_cluster::progress::Progress;
use kubewright_cluster::{self as cluster, Cluster, Output, Reference, values};
use serde_json::Value;

use crate::cluster_arguments::ClusterArguments;
use crate::project::{Overrides, Project};

const EXAMPLES: &str = "\
Examples:
  # Remove the kinds of this project, if no objects of them are left
  kubewright uninstall

  # Remove them with all their objects, without asking for confirmation
  kubewright uninstall --force";

/// Remove the project's kinds from the cluster: its custom resource definitions, and with them all objects of these kinds.
///
/// If there are such objects, the command says how many and asks for confirmation; without a terminal, --force is needed. Definitions
/// that do not exist are ignored.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Delete the definitions even if that deletes objects, without asking for confirmation.
    #[arg(long)]
    force: bool,

    /// How long to wait until they are gone.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = values::duration)]
    timeout: Duration,

    #[command(flatten)]
    cluster: ClusterArguments,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum UninstallError {
    #[error("{0} would be deleted with their definitions: {1}; --force deletes them")]
    Objects(String, String),
    #[error("nothing was deleted")]
    Declined,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    cluster::runtime()?.block_on(uninstall(arguments))
}

async fn uninstall(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let progress = Progress::new();
    let project = Project::load()?;
    let cluster = arguments.cluster.connect(&progress).await?;
    let bundle = project.render(&Overrides::default(), &progress)?;
    let definitions = in_cluster(&cluster, project.name(), &bundle.definitions).await?;
    if definitions.is_empty() {
        progress.note("none of this project's kinds is in the cluster");
        return Ok(ExitCode::SUCCESS);
    }
    let deleted = delete_definitions(
        &cluster,
        &definitions,
        arguments.force,
        arguments.timeout,
        arguments.cluster.output,
        &progress,
    )
    .await?;
    arguments.cluster.output.objects(&progress, &deleted);
    if arguments.cluster.output.dry_run.is_none() {
        crate::next::suggest(&[("kubewright install", "puts the kinds back, without their objects")]);
    }
    Ok(ExitCode::SUCCESS)
}

/// The definitions of a project that are in the cluster: those rendered, and those installed for it before.
pub(crate) async fn in_cluster(
    cluster: &Cluster,
    project: &str,
    rendered: &[Value],
) -> Result<Vec<Value>, cluster::Error> {
    let mut found = BTreeMap::new();
    for live in cluster.definitions_of(project).await? {
        if let Some(reference) = Reference::of(&live) {
            found.insert(reference, live);
        }
    }
    for reference in rendered.iter().filter_map(Reference::of) {
        if let Some(live) = cluster.get(&reference).await? {
            found.insert(reference, live);
        }
    }
    Ok(found.into_values().collect())
}

/// Deletes definitions and waits until they are gone. If objects would be deleted with them, the user has to agree.
/// Returns those deleted.
pub(crate) async fn delete_definitions(
    cluster: &Cluster,
    definitions: &[Value],
    force: bool,
    timeout: Duration,
    output: Output,
    progress: &Progress,
) -> Result<Vec<Value>, Box<dyn Error>> {
    let mut targets = Vec::new();
    let (mut total, mut counts) = (0, Vec::new());
    for definition in definitions {
        let Some(one) = DeletionTarget::of(definition) else {
            continue;
        };
        let count = cluster.count_objects(definition).await?;
        if count > 0 {
            total += count;
            counts.push(format!("{count} {}", one.reference.name));
        }
        targets.push((one, definition));
    }
    if output.dry_run.is_none() && total > 0 && !force {
        agree(&objects_text(total), &counts.join(", "))?;
    }
    let mut deleted = Vec::new();
    for (one, definition) in &targets {
        if output.tries_on_client() || cluster.delete(one, output.tries_on_server()).await? {
            output.line(progress, &one.reference, "deleted");
            deleted.push((*definition).clone());
        }
    }
    if output.dry_run.is_none() {
        let step = progress.step("Waiting until the definitions and their objects are gone");
        let targets: Vec<DeletionTarget> = targets.into_iter().map(|(one, _)| one).collect();
        cluster.wait_until_gone(&targets, timeout, &step).await?;
        step.done();
    }
    Ok(deleted)
}

/// Asks the user, if there is a terminal.
fn agree(total: &str, counts: &str) -> Result<(), UninstallError> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(UninstallError::Objects(total.to_owned(), counts.to_owned()));
    }
    // Without an answer nothing is deleted.
    let _ = write!(
        io::stderr(),
        "{total} will be deleted with their definitions: {counts}. Delete them? [y/N] "
    );
    let mut answer = String::new();
    let _ = io::stdin().lock().read_line(&mut answer);
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(UninstallError::Declined),
    }
}
