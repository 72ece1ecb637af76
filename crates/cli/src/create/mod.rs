//! `kubewright create`: adds kinds and webhooks to a project.

mod api;
mod webhook;

use std::error::Error;
use std::process::ExitCode;

use kubewright_scaffold::command::{Target, WebhookRequest};
use kubewright_scaffold::{Project, Resource, names};

use crate::prompt::Prompt;

/// Add a kind or a webhook to the project
#[derive(clap::Args)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Api(api::Arguments),
    Webhook(webhook::Arguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    match &arguments.command {
        Command::Api(arguments) => api::run(arguments),
        Command::Webhook(arguments) => webhook::run(arguments),
    }
}

/// Which kind a command is about.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct KindArguments {
    /// The API group, without the project's domain
    #[arg(long)]
    group: Option<String>,
    /// The version, as v1 or v1alpha1
    #[arg(long)]
    version: Option<String>,
    /// The kind, as `MarkdownView`
    #[arg(long)]
    kind: Option<String>,
}

/// Which webhooks of a kind a command is about.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WebhookArguments {
    /// Defaulting: sets fields that objects leave out
    #[arg(long)]
    defaulting: bool,
    /// Validation: refuses invalid objects
    #[arg(long)]
    programmatic_validation: bool,
    /// Conversion: of other versions to this one, the hub, and back
    #[arg(long)]
    conversion: bool,
    /// The versions that are converted, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "VERSIONS")]
    spoke: Vec<String>,
}

impl WebhookArguments {
    /// The webhooks of a kind of the project.
    pub(crate) fn request(&self, target: Target) -> WebhookRequest {
        WebhookRequest {
            target,
            defaulting: self.defaulting,
            validation: self.programmatic_validation,
            conversion: self.conversion,
            spokes: self.spoke.clone(),
            ..WebhookRequest::default()
        }
    }
}

/// The resource of a project with these names.
fn resource<'p>(project: &'p Project, target: &Target) -> Option<&'p Resource> {
    project.resources.iter().find(|resource| {
        resource.group == target.group && resource.version == target.version && resource.kind == target.kind
    })
}

/// What to do once files were written: commands, and what each of them does.
fn next_steps(files: Vec<String>, tests: &str) -> Vec<(String, String)> {
    let edit = files.into_iter().map(|file| (format!("edit {file}"), String::new()));
    let commands = [("cargo test", tests), ("make manifests", "brings config/ into line")];
    let commands = commands.map(|(command, why)| (command.to_owned(), why.to_owned()));
    edit.chain(commands).collect()
}

impl KindArguments {
    /// The kind, with what is missing asked for on a terminal.
    pub(crate) fn target(&self, project: &Project) -> Result<Target, Box<dyn Error>> {
        let mut prompt = Prompt::system();
        // With one group so far, that is the likely one; and an empty one is fine where there is a domain.
        let own = project.kinds().next().map(|kind| kind.group.as_str());
        let default = own.filter(|_| prompt.is_terminal() && !project.multigroup);
        let group = prompt.text("group", self.group.as_deref(), default, |group| {
            names::check_group(group, &project.domain)
        })?;
        let version = prompt.text("version", self.version.as_deref(), None, names::check_version)?;
        let kind = prompt.text("kind", self.kind.as_deref(), None, names::check_kind)?;
        Ok(Target { group, version, kind })
    }
}
