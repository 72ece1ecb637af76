//! `kubewright create webhook`: defaults, validation and conversion of a kind.

use std::error::Error;
use std::process::ExitCode;

use kubewright_scaffold::command::WebhookRequest;

use super::KindArguments;
use crate::prompt::Prompt;
use crate::scaffold::{Opened, Report, Wanted, bring_about, open};

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
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct Arguments {
    #[command(flatten)]
    kind: KindArguments,
    /// Fill in what objects leave open
    #[arg(long)]
    defaulting: bool,
    /// Refuse objects that cannot be right
    #[arg(long)]
    programmatic_validation: bool,
    /// Convert other versions to this one, the hub, and back
    #[arg(long)]
    conversion: bool,
    /// The versions that are converted, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "VERSIONS")]
    spoke: Vec<String>,
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
    let Opened { project, disk } = open()?;
    let mut request = WebhookRequest {
        target: arguments.kind.target(&project)?,
        defaulting: arguments.defaulting,
        validation: arguments.programmatic_validation,
        conversion: arguments.conversion,
        spokes: arguments.spoke.clone(),
        external_path: arguments.external_api_path.clone(),
        external_domain: arguments.external_api_domain.clone(),
    };
    if !request.defaulting && !request.validation && !request.conversion && request.spokes.is_empty() {
        ask(&mut request)?;
    }
    let created = project.create_webhook(&request)?;
    let resource = created.resources.iter().find(|resource| {
        resource.group == request.target.group
            && resource.version == request.target.version
            && resource.kind == request.target.kind
    });
    let mut wanted = Wanted::new(&created);
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
        let places = kubewright_scaffold::webhook_source_files(&created, resource);
        let edit = places.into_iter().map(|place| (format!("edit {place}"), String::new()));
        let commands = [
            ("cargo test", "the API server in it calls the webhooks"),
            ("make manifests", "brings config/ into line"),
        ];
        report.next = edit
            .chain(commands.map(|(command, why)| (command.to_owned(), why.to_owned())))
            .collect();
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
