//! `kubewright edit`: the switches of a project.

use std::error::Error;
use std::process::ExitCode;

use kubewright_scaffold::Project;
use kubewright_scaffold::command::EditRequest;
use kubewright_scaffold::diff;
use kubewright_scaffold::plan::{self, Change, Files as _};

use crate::files::{Disk, commit};
use crate::output;
use crate::scaffold::{DesiredProject, OpenedProject, Report, bring_about, open};

/// Change how the project is laid out and installed
///
/// With --multigroup the files of every kind move into a folder of their group, edits and all.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  # Room for a second API group
  kubewright edit --multigroup

  # Certificates from cert-manager, metrics for Prometheus, a dashboard and alerts
  kubewright edit --cert-manager --prometheus --grafana

  # Everything back as it was
  kubewright edit --cert-manager=false --prometheus=false

  # The project to the version of this command: what would change, then the change
  kubewright edit --upgrade --dry-run
  kubewright edit --upgrade")]
pub(crate) struct Arguments {
    /// One folder for each API group
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
    /// A Grafana dashboard in grafana/, and alert rules beside the `ServiceMonitor`
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    grafana: Option<bool>,
    /// Network policies for metrics and webhooks
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    network_policy: Option<bool>,
    /// How long a description in a definition may be; 0 leaves them all out
    #[arg(long, value_name = "LENGTH")]
    max_description_length: Option<u32>,
    /// The license in the head of every file
    #[arg(long, value_parser = ["apache2", "copyright", "none"])]
    license: Option<String>,
    /// The copyright holder that the files name
    #[arg(long)]
    owner: Option<String>,
    /// Write files anew that were edited where they have to change
    #[arg(long)]
    force: bool,
    /// Bring the project to the version of this command: its dependencies, and the files that it was made with
    ///
    /// Files that you did not edit are replaced, the others are merged. Where both changed the same lines, the file has both, between
    /// <<<<<<< and >>>>>>>, the command lists it and ends with 1.
    #[arg(long, conflicts_with_all = ["multigroup", "namespaced", "cert_manager", "prometheus", "grafana", "network_policy", "max_description_length", "license", "owner", "force"])]
    upgrade: bool,
    /// With --upgrade, show what would change, and write nothing
    #[arg(long, requires = "upgrade")]
    dry_run: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let OpenedProject { project, disk } = open()?;
    if arguments.upgrade {
        return upgrade(&project, &disk, arguments.dry_run);
    }
    let edited = project.edit(&EditRequest {
        multigroup: arguments.multigroup,
        namespaced: arguments.namespaced,
        cert_manager: arguments.cert_manager,
        prometheus: arguments.prometheus,
        grafana: arguments.grafana,
        network_policy: arguments.network_policy,
        max_description_length: arguments.max_description_length,
        license: arguments.license.clone(),
        owner: arguments.owner.clone(),
    })?;
    let mut wanted = DesiredProject::new(&edited);
    wanted.force = arguments.force;
    let report = Report {
        unchanged: format!("{} is so already", project.name),
        next: vec![("make manifests".to_owned(), "brings config/ into line".to_owned())],
        ..Report::default()
    };
    bring_about(Some(&project), wanted, &disk, &report)
}

/// Brings the project to the version of this command.
fn upgrade(project: &Project, disk: &Disk, dry_run: bool) -> Result<ExitCode, Box<dyn Error>> {
    let version = env!("CARGO_PKG_VERSION");
    let upgraded = project.upgrade(version)?;
    let plan = plan::upgrade(project, &upgraded, disk)?;
    if dry_run {
        let mut text = String::new();
        for change in &plan.changes {
            let before = disk.read(change.path())?;
            let after = match change {
                Change::Create(file) | Change::Update(file) => Some(file.content.as_str()),
                Change::Remove(_) => None,
            };
            text.push_str(&diff::unified(change.path(), before.as_deref(), after));
        }
        output::write(&text)?;
    } else {
        commit(disk, &plan.changes)?;
    }
    let kept = plan.kept.iter().map(|(path, why)| format!("{path} {why}"));
    let conflicts = plan
        .conflicts
        .iter()
        .map(|path| format!("{path} was edited where it changed: choose between the lines at <<<<<<< and >>>>>>>"));
    let report = Report {
        unchanged: format!("{} is at kubewright {version} already", project.name),
        notes: kept.chain(conflicts).collect(),
        next: vec![
            ("git diff".to_owned(), "what changed".to_owned()),
            ("cargo test".to_owned(), "with the new version".to_owned()),
            ("make manifests".to_owned(), "brings config/ into line".to_owned()),
        ],
        is_planned: dry_run,
    };
    report.print(&plan.changes)?;
    Ok(ExitCode::from(u8::from(!plan.conflicts.is_empty())))
}
