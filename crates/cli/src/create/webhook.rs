//! `kubewright create webhook`: defaults, validation and conversion of a kind.

use std::error::Error;
use std::process::ExitCode;

use kubewright_scaffold::command::WebhookRequest;

use super::{KindArguments, WebhookArguments, next_steps};
use crate::prompt::Prompt;
use crate::scaffold::{DesiredProject, OpenedProject, Report, bring_about, open};

/// Add webhooks for a kind: defaults, validation, conversion
///
/// The kind is one of the project's own, one of Kubernetes (--group core --kind Pod), or one that another crate has the type
/// of (--external-api-path).
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  # Defaults and validation
  kubewright create webhook --group view --version v1 --kind MarkdownView --defaulting --programmatic-validation

  # v1 is stored, v2 is converted to it and back
  kubewright create webhook --group view --version v1 --kind MarkdownView --conversion --spoke v2")]
pub(super) struct Arguments {
    #[command(flatten)]
    kind: KindArguments,
    #[command(flatten)]
    webhooks: WebhookArguments,
    /// Write the kind's files anew, also those that were edited
    #[arg(long)]
    force: bool,
    /// The Rust module of a foreign kind's type, as `cert_manager::v1`
    #[arg(long, default_value = "", hide_default_value = true)]
    external_api_path: String,
    /// With --external-api-path: what follows the group, as io in cert-manager.io
    #[arg(long, default_value = "", hide_default_value = true, requires = "external_api_path")]
    external_api_domain: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let OpenedProject { project, disk } = open()?;
    let mut request = WebhookRequest {
        external_path: arguments.external_api_path.clone(),
        external_domain: arguments.external_api_domain.clone(),
        ..arguments.webhooks.request(arguments.kind.target(&project)?)
    };
    if !request.defaulting && !request.validation && !request.conversion && request.spokes.is_empty() {
        ask(&mut request)?;
    }
    let created = project.create_webhook(&request)?;
    let resource = super::resource(&created, &request.target);
    let mut wanted = DesiredProject::new(&created);
    wanted.force = arguments.force;
    wanted.anew = resource;
    let mut report = Report {
        unchanged: format!(
            "the webhooks of {} are there already (--force writes its files anew)",
            request.target
        ),
        ..Report::default()
    };
    if let Some(resource) = resource {
        let files = kubewright_scaffold::webhook_source_files(&created, resource);
        report.next = next_steps(files, "the API server in it calls the webhooks");
    }
    bring_about(Some(&project), wanted, &disk, &report)
}

/// On a terminal, which webhooks to write is asked for.
fn ask(request: &mut WebhookRequest) -> std::io::Result<()> {
    let mut prompt = Prompt::system();
    if prompt.is_terminal() {
        request.defaulting = prompt.yes("Set defaults?", None, true)?;
        request.validation = prompt.yes("Validate objects?", None, true)?;
    }
    Ok(())
}
