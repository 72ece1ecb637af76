//! `kubewright create api`: a kind with its types, its controller and its test.

use std::error::Error;
use std::process::ExitCode;

use kubewright_scaffold::command::{ApiRequest, ImageRequest};
use kubewright_scaffold::{Project, Resource};

use super::{KindArguments, next_steps};
use crate::prompt::Prompt;
use crate::scaffold::{DesiredProject, OpenedProject, Report, bring_about, open};

/// Add a kind: its types, a controller and a test
///
/// With --resource=false only a controller is added, for a kind of Kubernetes (--group apps --kind Deployment) or for one
/// that another crate has the type of (--external-api-path). With --image the controller is complete: it runs that image in
/// a Deployment. With --aggregated the program serves the kind itself, behind the API server of the cluster: rows
/// take the place of the controller.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  # A kind and its controller
  kubewright create api --group view --version v1 --kind MarkdownView

  # A second version of it
  kubewright create api --group view --version v2 --kind MarkdownView

  # A controller for Deployments
  kubewright create api --group apps --version v1 --kind Deployment --resource=false

  # A kind that this program serves itself, from rows that are not in the cluster
  kubewright create api --group stars --version v1 --kind Moon --aggregated

  # A complete operator that runs an image
  kubewright create api --group cache --version v1alpha1 --kind Memcached \\
    --image memcached:1.6.26-alpine3.19 --image-container-port 11211 --run-as-user 1001 \\
    --image-container-command memcached,--memory-limit=64,-o,modern,-v")]
pub(super) struct Arguments {
    #[command(flatten)]
    kind: KindArguments,
    /// Its objects live in namespaces [default: as in its other versions, or else true]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    namespaced: Option<bool>,
    /// The plural of the kind [default: that of its other versions, or else the regular English one]
    #[arg(long, default_value = "", hide_default_value = true)]
    plural: String,
    /// Write the types (without a terminal: yes)
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    resource: Option<bool>,
    /// Write a controller (without a terminal: yes, unless another version of the kind has it)
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    controller: Option<bool>,
    /// Serve the kind from this program, as an aggregated API: its objects come from rows of your own, and no cluster stores them
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    aggregated: Option<bool>,
    /// Write the kind's files anew, also those that were edited
    #[arg(long)]
    force: bool,
    /// The image to run: types and controller come complete
    #[arg(long)]
    image: Option<String>,
    /// The command of the container, words separated by commas
    #[arg(long, value_delimiter = ',', requires = "image", allow_hyphen_values = true)]
    image_container_command: Vec<String>,
    /// The port the container listens on
    #[arg(long, requires = "image")]
    image_container_port: Option<u16>,
    /// The user the container runs as
    #[arg(long, requires = "image")]
    run_as_user: Option<i64>,
    /// With --resource=false: the Rust module of a foreign kind's type, as `cert_manager::v1`
    #[arg(long, default_value = "", hide_default_value = true)]
    external_api_path: String,
    /// With --external-api-path: what follows the group, as io in cert-manager.io
    #[arg(long, default_value = "", hide_default_value = true, requires = "external_api_path")]
    external_api_domain: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let OpenedProject { project, disk } = open()?;
    let target = arguments.kind.target(&project)?;
    let mut request = ApiRequest {
        target,
        resource: arguments.resource,
        controller: arguments.controller,
        namespaced: arguments.namespaced,
        plural: arguments.plural.clone(),
        image: arguments.image.as_ref().map(|image| ImageRequest {
            image: image.clone(),
            command: arguments.image_container_command.clone(),
            port: arguments.image_container_port,
            run_as_user: arguments.run_as_user,
        }),
        external_path: arguments.external_api_path.clone(),
        external_domain: arguments.external_api_domain.clone(),
        aggregated: arguments.aggregated,
        force: arguments.force,
    };
    if request.image.is_none() && request.aggregated != Some(true) {
        ask(&project, &mut request)?;
    }
    let created = project.create_api(&request)?;
    let resource = super::resource(&created, &request.target);
    let mut wanted = DesiredProject::new(&created);
    wanted.force = arguments.force;
    wanted.anew = resource;
    let mut report = Report {
        unchanged: format!("{} is there already (--force writes its files anew)", request.target),
        ..Report::default()
    };
    if let Some(resource) = resource {
        if resource.api.is_some() && !created.is_stored(resource) {
            let note = "an earlier version is the one that is stored; `kubewright create webhook --conversion` converts between them";
            report.notes.push(note.to_owned());
        }
        let files = kubewright_scaffold::source_files(&created, resource);
        report.next = next_steps(files, "on an API server in the test's process");
    }
    bring_about(Some(&project), wanted, &disk, &report)
}

/// On a terminal, what to write is asked for as kubebuilder does.
fn ask(project: &Project, request: &mut ApiRequest) -> std::io::Result<()> {
    let mut prompt = Prompt::system();
    if prompt.is_terminal() {
        request.resource = Some(prompt.yes("Write the types?", request.resource, true)?);
        let target = &request.target;
        let is_other = |other: &&Resource| {
            other.group == target.group && other.kind == target.kind && other.version != target.version
        };
        // One controller serves all versions of a kind.
        let has_one = project.resources.iter().filter(is_other).any(|other| other.controller);
        request.controller = Some(prompt.yes("Write a controller?", request.controller, !has_one)?);
    }
    Ok(())
}
