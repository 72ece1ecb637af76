//! `kubewright delete`: takes kinds and webhooks out of a project, exactly as they were put in.

use std::error::Error;
use std::process::ExitCode;

use kubewright_scaffold::Project;

use crate::create::{KindArguments, WebhookArguments};
use crate::scaffold::{DesiredProject, OpenedProject, Report, bring_about, open};

/// Remove a kind or a webhook from the project
///
/// Files that were edited since they were created stay, and nothing is done, unless --force is given.
#[derive(clap::Args)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Remove a kind: its types, its controller and its tests
    #[command(after_help = "\
Examples:
  kubewright delete api --group view --version v1 --kind MarkdownView")]
    Api {
        #[command(flatten)]
        kind: KindArguments,
        /// Remove files that were edited, too
        #[arg(long)]
        force: bool,
    },
    /// Remove webhooks of a kind: those that are named, or all; with --conversion, the versions in --spoke or all
    #[command(after_help = "\
Examples:
  # All webhooks of the kind
  kubewright delete webhook --group view --version v1 --kind MarkdownView

  # The validation only
  kubewright delete webhook --group view --version v1 --kind MarkdownView --programmatic-validation")]
    Webhook {
        #[command(flatten)]
        kind: KindArguments,
        #[command(flatten)]
        webhooks: WebhookArguments,
        /// Remove files that were edited, too
        #[arg(long)]
        force: bool,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let OpenedProject { project, disk } = open()?;
    let next = ("make manifests".to_owned(), "brings config/ into line".to_owned());
    let mut report = Report {
        next: vec![next],
        ..Report::default()
    };
    let (after, force) = match &arguments.command {
        Command::Api { kind, force } => {
            let target = kind.target(&project)?;
            let after = project.delete_api(&target)?;
            if after
                .kinds()
                .any(|left| left.group == target.group && left.kind == target.kind)
            {
                let note = format!(
                    "objects that are stored in version {} have to be written anew before a cluster drops it",
                    target.version
                );
                report.notes.push(note);
                let has_controller = |project: &Project| {
                    let mut versions = project.resources.iter();
                    versions.any(|left| left.group == target.group && left.kind == target.kind && left.controller)
                };
                if has_controller(&project) && !has_controller(&after) {
                    report.notes.push(format!(
                        "the controller of {} was written for version {} and goes with it; `kubewright create api` with \
                         --resource=false writes one for another version",
                        target.kind, target.version
                    ));
                }
            }
            (after, *force)
        }
        Command::Webhook { kind, webhooks, force } => {
            let request = webhooks.request(kind.target(&project)?);
            (project.delete_webhook(&request)?, *force)
        }
    };
    let mut wanted = DesiredProject::new(&after);
    wanted.force = force;
    bring_about(Some(&project), wanted, &disk, &report)
}
