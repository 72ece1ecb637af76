//! `kubewright deploy`: brings the operator to a cluster and waits until it runs there.

mod available;
mod restart;
mod rollout;

use std::collections::BTreeSet;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use kubewright_cluster::apply::Applied;
use kubewright_cluster::bundle::Bundle;
use kubewright_cluster::definitions::labelled;
use kubewright_cluster::inventory::{Contents, Inventory, is_member_kind};
use kubewright_cluster::objects_text;
use kubewright_cluster::progress::Progress;
use kubewright_cluster::{self as cluster, Cluster, Output, Reference, is_redirected, values};
use serde_json::Value;

use crate::cluster_arguments::{ClusterArguments, InstallationArguments};
use crate::install::{apply, print_untried, stale_definitions};
use crate::project::{Overrides, Project};
use crate::uninstall::delete_definitions;

const EXAMPLES: &str = "\
Examples:
  # Deploy an image that the cluster can pull, and wait until it runs
  kubewright deploy --image registry.example.com/shop:v1

  # After a new build under the same name: the manager is rolled all the same
  kubewright deploy --image shop:dev

  # See what would change
  kubewright deploy --image shop:dev --dry-run=server

  # Print everything that would be applied
  kubewright deploy --dry-run=client -o yaml";

/// Deploy the operator to the cluster.
///
/// Everything it needs is rendered from the code and from config/, and applied server-side: the namespace, the definitions of the
/// project's kinds, the operator's rights, its services and webhooks, and the manager. What an earlier deploy applied and is no
/// longer rendered is deleted, except definitions and namespaces. Then it waits until the manager runs.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
// Each is a switch of its own on the command line.
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Arguments {
    /// The image of the manager. Default: that of config/manager.
    #[arg(long, value_name = "IMAGE", value_parser = values::image)]
    image: Option<String>,

    #[command(flatten)]
    installation: InstallationArguments,

    /// How many managers run; one of them leads.
    #[arg(long, value_name = "NUMBER")]
    replicas: Option<u32>,

    /// Delete the definitions of kinds that are no longer part of the project, and with them all their objects.
    #[arg(long)]
    prune_definitions: bool,

    /// With --prune-definitions: delete definitions even if that deletes objects, without asking for confirmation.
    #[arg(long, requires = "prune_definitions")]
    force: bool,

    /// Delete nothing of what an earlier deploy applied.
    #[arg(long, conflicts_with = "prune_definitions")]
    no_prune: bool,

    /// Leave the manager running where nothing about it changed. Without it the manager is rolled, since its image may have been
    /// built anew under the same name.
    #[arg(long)]
    no_restart: bool,

    /// Do not wait until the manager runs.
    #[arg(long)]
    no_wait: bool,

    /// How long to wait until the manager runs.
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = values::duration)]
    timeout: Duration,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    cluster::runtime()?.block_on(deploy(arguments))
}

async fn deploy(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let progress = Progress::new();
    let project = Project::load()?;
    // Before the operator is built, so that a missing cluster is reported at once.
    let cluster = arguments.cluster.connect_unless_on_client(&progress).await?;
    let bundle = project.render(&arguments.overrides(), &progress)?;
    let inventory = Inventory::new(&bundle.namespace, &bundle.prefix);
    let parts = InstallationObjects::of(&project, &bundle, &inventory);
    match cluster {
        Some(cluster) => {
            let deploying = DeployRun {
                arguments,
                cluster: &cluster,
                inventory: &inventory,
                progress: &progress,
            };
            deploying.run(&project, &bundle, &parts).await?;
            if arguments.cluster.output.dry_run.is_none() {
                crate::next::suggest(&[
                    ("kubectl apply -k config/samples", "creates an object of each kind"),
                    (
                        "kubewright undeploy",
                        "takes the operator out again; CRDs and namespace stay",
                    ),
                ]);
            }
        }
        None => print_untried(&parts.all(), arguments.cluster.output, &progress),
    }
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    fn overrides(&self) -> Overrides {
        Overrides {
            image: self.image.clone(),
            replicas: self.replicas,
            ..self.installation.overrides()
        }
    }
}

/// The objects of an installation by what becomes of them when they are no longer rendered.
struct InstallationObjects {
    /// Namespaces and definitions: they stay.
    lasting: Vec<Value>,
    /// Everything else: members of the inventory.
    members: Vec<Value>,
}

impl InstallationObjects {
    fn of(project: &Project, bundle: &Bundle, inventory: &Inventory) -> Self {
        let is_member = |object: &&Value| Reference::of(object).is_none_or(|reference| is_member_kind(&reference));
        let (members, mut lasting): (Vec<&Value>, Vec<&Value>) = bundle.objects.iter().partition(is_member);
        lasting.retain(|object| Reference::of(object).is_some_and(|reference| reference.is_namespace()));
        let definitions = bundle
            .definitions
            .iter()
            .map(|definition| labelled(definition, project.name()));
        let mut members: Vec<Value> = members.into_iter().map(|object| inventory.labelled(object)).collect();
        // Webhooks last: the manager does not answer them yet, and they would reject the other objects.
        members.sort_by_key(|object| Reference::of(object).is_some_and(|reference| reference.is_webhooks()));
        InstallationObjects {
            lasting: lasting.into_iter().cloned().chain(definitions).collect(),
            members,
        }
    }

    fn all(&self) -> Vec<Value> {
        self.lasting.iter().chain(&self.members).cloned().collect()
    }
}

/// A deploy under way.
struct DeployRun<'a> {
    arguments: &'a Arguments,
    cluster: &'a Cluster,
    inventory: &'a Inventory,
    progress: &'a Progress,
}

impl DeployRun<'_> {
    async fn run(&self, project: &Project, bundle: &Bundle, parts: &InstallationObjects) -> Result<(), Box<dyn Error>> {
        let output = self.arguments.cluster.output;
        if output.tries_on_server() {
            let applied = self.apply(&parts.all()).await?;
            if !self.arguments.no_prune {
                let before = self.named(self.inventory.read(self.cluster).await)?;
                self.prune(&applied, &before.unwrap_or_default()).await?;
                self.prune_definitions(project, bundle).await?;
            }
            print_objects(output, self.progress, applied);
            return Ok(());
        }
        let mut applied = self.apply(&parts.lasting).await?;
        let wanted: Vec<Reference> = parts.members.iter().filter_map(Reference::of).collect();
        let contents = Contents::of(&wanted);
        let known = self.named(self.inventory.read(self.cluster).await)?;
        let before = known.clone().unwrap_or_default();
        // First where anything may be, so that a deploy that is broken off leaves nothing that is not found again.
        let everywhere = contents.with(&before);
        if known.as_ref() != Some(&everywhere) {
            self.named(self.inventory.write(self.cluster, &everywhere).await)?;
        }
        applied.extend(self.apply(&parts.members).await?);
        self.tell_of_others(&applied);
        if !self.arguments.no_prune {
            self.prune(&applied, &everywhere).await?;
            if everywhere != contents {
                self.named(self.inventory.write(self.cluster, &contents).await)?;
            }
            self.prune_definitions(project, bundle).await?;
        }
        let deployments: Vec<Applied> = applied
            .iter()
            .filter(|applied| applied.reference.is("apps", "Deployment"))
            .cloned()
            .collect();
        let references = applied.iter().map(|applied| &applied.reference);
        let api_services: Vec<_> = references.filter(|it| it.is_api_service()).cloned().collect();
        print_objects(output, self.progress, applied);
        for deployment in &deployments {
            if !self.arguments.no_restart && restart::is_needed(deployment) {
                restart::restart(self.cluster, &deployment.reference).await?;
                output.line(self.progress, &deployment.reference, "restarted");
            }
        }
        if !self.arguments.no_wait {
            for deployment in &deployments {
                rollout::wait(self.cluster, deployment, bundle, self.arguments.timeout, self.progress).await?;
            }
            for api_service in &api_services {
                available::wait(self.cluster, api_service, self.arguments.timeout, self.progress).await?;
            }
        }
        for deployment in &deployments {
            self.progress.note(format!(
                "see what it does: kubectl -n {} logs deployment/{} -f",
                bundle.namespace, deployment.reference.name
            ));
        }
        Ok(())
    }

    async fn apply(&self, objects: &[Value]) -> Result<Vec<Applied>, Box<dyn Error>> {
        let output = self.arguments.cluster.output;
        apply(self.cluster, objects, self.arguments.timeout, output, self.progress).await
    }

    /// Deletes what an earlier deploy applied and is no longer rendered.
    async fn prune(&self, applied: &[Applied], contents: &Contents) -> Result<(), Box<dyn Error>> {
        let kept: BTreeSet<&str> = applied
            .iter()
            // What is only tried may have one from before alone.
            .flat_map(|applied| [Some(&applied.object), applied.before.as_ref()])
            .filter_map(|object| object?["metadata"]["uid"].as_str())
            .collect();
        let output = self.arguments.cluster.output;
        for member in self.inventory.members(self.cluster, contents).await? {
            if !kept.contains(member.uid.as_str()) && self.cluster.delete(&member, output.tries_on_server()).await? {
                output.line(self.progress, &member.reference, "pruned");
            }
        }
        Ok(())
    }

    /// Definitions that are no longer rendered stay unless asked otherwise, since users' objects would go with them.
    async fn prune_definitions(&self, project: &Project, bundle: &Bundle) -> Result<(), Box<dyn Error>> {
        let stale = stale_definitions(self.cluster, project.name(), &bundle.definitions).await?;
        if !self.arguments.prune_definitions {
            for (target, count) in stale {
                self.progress.warn(format!(
                    "{} is no longer part of this project and stays, with {}; --prune-definitions deletes it",
                    target.reference,
                    objects_text(count)
                ));
            }
            return Ok(());
        }
        let mut definitions = Vec::new();
        for (target, _) in stale {
            definitions.extend(self.cluster.get(&target.reference).await?);
        }
        if definitions.is_empty() {
            return Ok(());
        }
        let Arguments {
            force,
            timeout,
            cluster: ClusterArguments { output, .. },
            ..
        } = self.arguments;
        delete_definitions(self.cluster, &definitions, *force, *timeout, *output, self.progress).await?;
        Ok(())
    }

    /// Tells of what belonged to others before.
    fn tell_of_others(&self, applied: &[Applied]) {
        for applied in applied {
            let Some(before) = &applied.before else {
                continue;
            };
            if self.inventory.is_anothers(before) {
                self.progress.warn(format!(
                    "{} belonged to another installation, which loses it to this one",
                    applied.reference
                ));
            }
            if is_redirected(before) {
                self.progress.warn(format!(
                    "the webhooks of {} were called on somebody's machine by `kubewright run`, which takes them again while it lasts",
                    applied.reference
                ));
            }
        }
    }

    /// An error of the inventory, with its name.
    fn named<T>(&self, done: Result<T, cluster::Error>) -> Result<T, Box<dyn Error>> {
        done.map_err(|error| format!("{}: {error}", self.inventory.parent()).into())
    }
}

fn print_objects(output: Output, progress: &Progress, applied: Vec<Applied>) {
    let objects: Vec<Value> = applied.into_iter().map(|applied| applied.object).collect();
    output.objects(progress, &objects);
}
