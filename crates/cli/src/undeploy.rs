//! `kubewright undeploy`: takes the operator out of a cluster. Users' data stays unless asked otherwise.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use kubewright_cluster::bundle::Bundle;
use kubewright_cluster::delete::DeletionTarget;
use kubewright_cluster::inventory::{Inventory, is_member_kind};
use kubewright_cluster::progress::Progress;
use kubewright_cluster::{self as cluster, Cluster, Output, Reference, values};
use serde_json::Value;

use crate::cluster_arguments::{ClusterArguments, InstallationArguments};
use crate::project::Project;
use crate::uninstall;

/// Says that a Secret holds certificates the manager made.
const CERTIFICATES: &str = "kubewright.dev/certificates";

const EXAMPLES: &str = "\
Examples:
  # Remove the operator; its kinds, their objects and the namespace stay
  kubewright undeploy

  # Remove everything, with all objects of the project's kinds
  kubewright undeploy --delete-definitions --delete-namespace --force";

/// Remove the operator from the cluster.
///
/// What a deploy applied is found by its inventory and deleted in reverse order, webhooks first. The definitions of the project's
/// kinds and the namespace hold users' data and stay unless asked for. Definitions, if asked for, go first, while the manager
/// can still finalize their objects.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
// Each is a switch of its own on the command line.
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Arguments {
    #[command(flatten)]
    installation: InstallationArguments,

    /// Delete the definitions of the project's kinds as well, and with them all their objects.
    #[arg(long)]
    delete_definitions: bool,

    /// Delete the namespace as well, with all that is in it.
    #[arg(long)]
    delete_namespace: bool,

    /// Delete definitions even if that deletes objects, without asking for confirmation.
    #[arg(long)]
    force: bool,

    /// Do not wait until everything is gone.
    #[arg(long)]
    no_wait: bool,

    /// How long to wait until everything is gone.
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = values::duration)]
    timeout: Duration,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    cluster::runtime()?.block_on(undeploy(arguments))
}

async fn undeploy(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let progress = Progress::new();
    let project = Project::load()?;
    let cluster = arguments.cluster.connect(&progress).await?;
    let installation = &arguments.installation;
    let namespace = installation.namespace.clone().unwrap_or_else(|| project.namespace());
    let prefix = installation.name_prefix.clone().unwrap_or_else(|| project.prefix());
    let inventory = Inventory::new(&namespace, &prefix);

    let known = inventory
        .read(&cluster)
        .await
        .map_err(|error| format!("{}: {error}", inventory.parent()))?;
    // The inventory lists what a deploy has applied; only for the rest the operator has to be built and asked.
    let rendered = if known.is_none() || arguments.delete_definitions {
        Some(project.render(&installation.overrides(), &progress)?)
    } else {
        None
    };
    let mut deleted = Vec::new();
    if arguments.delete_definitions {
        let definitions = rendered.as_ref().map(|bundle| bundle.definitions.as_slice());
        let definitions = uninstall::in_cluster(&cluster, project.name(), definitions.unwrap_or_default()).await?;
        let definitions = uninstall::delete_definitions(
            &cluster,
            &definitions,
            arguments.force,
            arguments.timeout,
            arguments.cluster.output,
            &progress,
        )
        .await?;
        deleted.extend(definitions.iter().filter_map(DeletionTarget::of));
    }

    let mut targets = match (known, rendered) {
        (Some(contents), _) => inventory.members(&cluster, &contents).await?,
        // It was applied by other means than `deploy`.
        (None, Some(bundle)) => {
            progress.note(format!(
                "there is no inventory in {namespace}: what the project renders is looked for"
            ));
            rendered_members(&cluster, &inventory, &bundle, &progress).await?
        }
        (None, None) => Vec::new(),
    };
    targets.sort_by_key(|target| rank(&target.reference));
    targets.extend(left_by_manager(&cluster, &namespace, &prefix, project.name()).await?);
    targets.extend(in_cluster(&cluster, inventory.parent()).await?);
    if arguments.delete_namespace {
        let reference = Reference::new("v1", "Namespace", None, &namespace);
        targets.extend(in_cluster(&cluster, &reference).await?);
    }
    if targets.is_empty() {
        progress.note(format!("nothing of {} is deployed in {namespace}", project.name()));
        print_deleted(&deleted, arguments.cluster.output, &progress);
        return Ok(ExitCode::SUCCESS);
    }
    for one in &targets {
        if arguments.cluster.output.tries_on_client()
            || cluster.delete(one, arguments.cluster.output.tries_on_server()).await?
        {
            arguments.cluster.output.line(&progress, &one.reference, "deleted");
            deleted.push(one.clone());
        }
    }
    print_deleted(&deleted, arguments.cluster.output, &progress);
    if arguments.cluster.output.dry_run.is_none() && !arguments.no_wait {
        let step = progress.step("Waiting until everything is gone");
        cluster.wait_until_gone(&targets, arguments.timeout, &step).await?;
        step.done();
    }
    if !arguments.delete_namespace {
        progress.note(format!("namespace/{namespace} stays (--delete-namespace)"));
    }
    if arguments.cluster.output.dry_run.is_none() {
        crate::next::suggest(&[("kubewright uninstall", "takes the CRDs out too, with all their objects")]);
    }
    Ok(ExitCode::SUCCESS)
}

/// No more than which they are: some hold keys.
fn print_deleted(deleted: &[DeletionTarget], output: Output, progress: &Progress) {
    let deleted: Vec<Value> = deleted.iter().map(DeletionTarget::identity).collect();
    output.objects(progress, &deleted);
}

/// What of a project's objects is in the cluster.
/// What another installation has of the same names is not touched.
async fn rendered_members(
    cluster: &Cluster,
    inventory: &Inventory,
    bundle: &Bundle,
    progress: &Progress,
) -> Result<Vec<DeletionTarget>, cluster::Error> {
    let mut found = Vec::new();
    for reference in bundle.objects.iter().filter_map(Reference::of) {
        if !is_member_kind(&reference) {
            continue;
        }
        let Some(live) = live(cluster, &reference).await? else {
            continue;
        };
        if inventory.is_anothers(&live) {
            progress.warn(format!("{reference} belongs to another installation and stays"));
        } else {
            found.extend(DeletionTarget::of(&live));
        }
    }
    Ok(found)
}

/// What the manager made for itself: its certificates and its lease. Other operators of the namespace have theirs.
async fn left_by_manager(
    cluster: &Cluster,
    namespace: &str,
    prefix: &str,
    operator: &str,
) -> Result<Vec<DeletionTarget>, cluster::Error> {
    let secret = format!("{prefix}webhook-service-cert");
    let secret = live(cluster, &Reference::new("v1", "Secret", Some(namespace), &secret)).await?;
    // Without the label it is not from this tool.
    let made = secret.filter(|secret| secret["metadata"]["labels"].get(CERTIFICATES).is_some());
    let mut left: Vec<DeletionTarget> = made.as_ref().and_then(DeletionTarget::of).into_iter().collect();
    let lease = Reference::new("coordination.k8s.io/v1", "Lease", Some(namespace), operator);
    left.extend(in_cluster(cluster, &lease).await?);
    Ok(left)
}

/// The object as it is in the cluster. A kind the cluster does not have has no objects.
async fn in_cluster(cluster: &Cluster, reference: &Reference) -> Result<Option<DeletionTarget>, cluster::Error> {
    Ok(live(cluster, reference).await?.as_ref().and_then(DeletionTarget::of))
}

async fn live(cluster: &Cluster, reference: &Reference) -> Result<Option<Value>, cluster::Error> {
    match cluster.get(reference).await {
        Err(cluster::Error::NoKind { .. }) => Ok(None),
        answer => answer,
    }
}

/// In which order objects go: nothing is to call a manager that is gone, and rights go last.
fn rank(reference: &Reference) -> u8 {
    match reference.kind.as_str() {
        "MutatingWebhookConfiguration"
        | "ValidatingWebhookConfiguration"
        | "MutatingAdmissionPolicyBinding"
        | "ValidatingAdmissionPolicyBinding" => 0,
        "Deployment" => 2,
        "Service" | "NetworkPolicy" => 3,
        "RoleBinding" | "ClusterRoleBinding" => 4,
        "Role" | "ClusterRole" => 5,
        "ServiceAccount" => 6,
        _ => 1,
    }
}
