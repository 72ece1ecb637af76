//! `kubewright install`: brings the definitions of the project's kinds to a cluster.

use std::collections::BTreeSet;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use kubewright_cluster::apply::Applied;
use kubewright_cluster::definitions::labelled;
use kubewright_cluster::delete::{DeletionTarget, wait_for_deletions};
use kubewright_cluster::objects_text;
use kubewright_cluster::progress::Progress;
use kubewright_cluster::{self as cluster, Cluster, Output, Reference, values};
use serde_json::Value;

use crate::cluster_arguments::ClusterArguments;
use crate::next;
use crate::project::{Overrides, Project};

const EXAMPLES: &str = "\
Examples:
  # Install the kinds of this project in the cluster of the current context
  kubewright install

  # See what would change, in another cluster
  kubewright install --context staging --dry-run=server

  # Print the definitions
  kubewright install --dry-run=client -o yaml";

/// Install the project's kinds in the cluster: its custom resource definitions.
///
/// The command renders them from the code, applies them server-side and waits until the cluster serves them. It deletes nothing,
/// and lists definitions in the cluster that are no longer part of the project.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// How long to wait for a definition that is being deleted, before it is created again.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = values::duration)]
    timeout: Duration,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    cluster::runtime()?.block_on(install(arguments))
}

async fn install(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let progress = Progress::new();
    let project = Project::load()?;
    // Before the operator is built, so that a missing cluster is reported at once.
    let cluster = arguments.cluster.connect_unless_on_client(&progress).await?;
    let bundle = project.render(&Overrides::default(), &progress)?;
    let definitions: Vec<Value> = bundle
        .definitions
        .iter()
        .map(|definition| labelled(definition, project.name()))
        .collect();
    if definitions.is_empty() {
        progress.note("this operator brings no kinds of its own; `kubewright create api` adds one");
    }
    let Some(cluster) = cluster else {
        print_untried(&definitions, arguments.cluster.output, &progress);
        return Ok(ExitCode::SUCCESS);
    };
    let applied = apply(
        &cluster,
        &definitions,
        arguments.timeout,
        arguments.cluster.output,
        &progress,
    )
    .await?;
    let objects: Vec<Value> = applied.into_iter().map(|applied| applied.object).collect();
    arguments.cluster.output.objects(&progress, &objects);
    for (stale, count) in stale_definitions(&cluster, project.name(), &definitions).await? {
        progress.warn(format!(
            "{} is no longer part of this project and stays, with {}; `kubewright deploy --prune-definitions` deletes it",
            stale.reference,
            objects_text(count),
        ));
    }
    if arguments.cluster.output.dry_run.is_none() {
        next::suggest(&[
            ("kubewright run", "runs the operator from this machine, until Ctrl-C"),
            ("kubectl apply -k config/samples", "creates an object of each kind"),
        ]);
    }
    Ok(ExitCode::SUCCESS)
}

/// Applies objects, a line for each. Namespaces and definitions that are being deleted are waited for.
pub(crate) async fn apply(
    cluster: &Cluster,
    objects: &[Value],
    timeout: Duration,
    output: Output,
    progress: &Progress,
) -> Result<Vec<Applied>, Box<dyn Error>> {
    let dry_run = output.tries_on_server();
    let going = cluster.being_deleted(objects).await?;
    if dry_run {
        for target in &going {
            progress.warn(format!(
                "{} is being deleted; without --dry-run it is waited for and made anew",
                target.reference
            ));
        }
    } else {
        wait_for_deletions(cluster, &going, timeout, progress).await?;
    }
    let report = cluster
        .apply_all(objects, dry_run, |applied| output.applied(progress, applied))
        .await?;
    Ok(report.whole()?)
}

/// What would be sent.
pub(crate) fn print_untried(objects: &[Value], output: Output, progress: &Progress) {
    for reference in objects.iter().filter_map(Reference::of) {
        output.line(progress, &reference, "would be applied");
    }
    output.objects(progress, objects);
}

/// The definitions that were installed for this project and are no longer rendered, with the number of their objects.
pub(crate) async fn stale_definitions(
    cluster: &Cluster,
    project: &str,
    rendered: &[Value],
) -> Result<Vec<(DeletionTarget, u64)>, cluster::Error> {
    let rendered: BTreeSet<Reference> = rendered.iter().filter_map(Reference::of).collect();
    let mut stale = Vec::new();
    for live in cluster.definitions_of(project).await? {
        if let Some(target) = DeletionTarget::of(&live).filter(|target| !rendered.contains(&target.reference)) {
            stale.push((target, cluster.count_objects(&live).await?));
        }
    }
    Ok(stale)
}
