//! `kubewright edit`: the switches of a project.

use std::error::Error;
use std::process::ExitCode;

use kubewright_scaffold::command::EditRequest;

use crate::scaffold::{Opened, Report, Wanted, bring_about, open};

/// Change how the project is laid out and installed
///
/// With --multigroup the files of every kind move into a folder of their group, edits and all.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  # Room for a second API group
  kubewright edit --multigroup

  # Certificates from cert-manager, metrics for Prometheus
  kubewright edit --cert-manager --prometheus

  # Everything back as it was
  kubewright edit --cert-manager=false --prometheus=false")]
pub(crate) struct Arguments {
    /// Folders per API group
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    multigroup: Option<bool>,
    /// The operator watches its own namespace only
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    namespaced: Option<bool>,
    /// Certificates of webhooks and metrics come from cert-manager
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    cert_manager: Option<bool>,
    /// A `ServiceMonitor` for the Prometheus operator
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    prometheus: Option<bool>,
    /// Network policies for metrics and webhooks
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    network_policy: Option<bool>,
    /// How long a description in a definition may be; 0 leaves them all out
    #[arg(long, value_name = "LENGTH")]
    max_description_length: Option<u32>,
    /// The license in the head of every file
    #[arg(long, value_parser = ["apache2", "copyright", "none"])]
    license: Option<String>,
    /// Whose copyright the files are
    #[arg(long)]
    owner: Option<String>,
    /// Write files anew that were edited where they have to change
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let Opened { project, disk } = open()?;
    let edited = project.edit(&EditRequest {
        multigroup: arguments.multigroup,
        namespaced: arguments.namespaced,
        cert_manager: arguments.cert_manager,
        prometheus: arguments.prometheus,
        network_policy: arguments.network_policy,
        max_description_length: arguments.max_description_length,
        license: arguments.license.clone(),
        owner: arguments.owner.clone(),
    })?;
    let mut wanted = Wanted::new(&edited);
    wanted.force = arguments.force;
    let report = Report {
        unchanged: format!("{} is so already", project.name),
        next: vec![("make manifests".to_owned(), "brings config/ into line".to_owned())],
        ..Report::default()
    };
    bring_about(Some(&project), wanted, &disk, &report)
}
