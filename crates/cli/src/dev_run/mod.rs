//! `kubewright run`: runs the operator on this machine, against a cluster or against an embedded API server.
//! `kubewright demo` shows the same with an operator of its own.

mod extension;
mod process;
mod samples;
mod session;
mod target_cluster;
mod watch;
mod webhook_host;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use kubewright_cluster::progress::Progress;
use kubewright_cluster::{self as cluster, ClusterFlags};
use kubewright_controllers::Controllers;

use crate::admission_arguments::AdmissionArguments;
use crate::project::Project;

const EXAMPLES: &str = "\
Examples:
  # Run the operator against the cluster of the current context, webhooks included
  kubewright run

  # Run it without a cluster, with its sample objects
  kubewright run --embedded --samples

  # Build and start it anew whenever a file is saved
  kubewright run --embedded --watch

  # The cluster reaches this machine under another name than is found; pass flags on to the operator
  kubewright run --webhook-host host.docker.internal -- --log-level=debug";

/// Run the operator on this machine.
///
/// It is built with cargo and runs against the cluster of the current kubeconfig, or, with --embedded and where no cluster is
/// configured at all, against an API server in this process. The definitions of its kinds and its webhook configurations are
/// installed first. For as long as it runs the cluster calls its webhooks on this machine, with certificates made on the fly;
/// webhook configurations that were not in the cluster before are removed in the end.
///
/// Against the embedded API server it runs as its own service account with its own role: requests that the role does not allow are
/// refused as in a cluster, and reported at once.
///
/// Ctrl-C stops it gracefully; a second one ends it at once.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
// Each is a switch of its own on the command line.
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Arguments {
    /// Run against an API server in this process, which starts empty and ends with this command.
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"])]
    embedded: bool,

    /// Build and start the operator anew when a source file changes, and apply what changed of its definitions, roles and webhooks.
    /// A build that fails leaves the running operator alone.
    #[arg(long)]
    watch: bool,

    /// Apply the objects of config/samples once the operator runs.
    #[arg(long)]
    samples: bool,

    /// Install nothing in the cluster.
    #[arg(long, conflicts_with = "embedded")]
    no_install: bool,

    /// Port of the embedded API server; 0 picks a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    secure_port: u16,

    /// The cluster's own controllers beside the embedded API server, which bring Deployments to life and clean up: all, none, or
    /// names as in gc,deployment or *,-job.
    #[arg(long, value_name = "LIST", default_value = "all", value_parser = Controllers::parse)]
    controllers: Controllers,

    /// File to write the embedded API server's kubeconfig to; an existing one is replaced. Without it, the kubeconfig is in a
    /// temporary folder that is removed in the end.
    #[arg(long, value_name = "FILE")]
    kubeconfig_out: Option<PathBuf>,

    /// Name or address at which the cluster reaches this machine, for its webhooks. Default: the address of this machine on the way to
    /// the API server; for clusters in containers and virtual machines of this machine the gateway of their network or the name that
    /// they know it by, as host.minikube.internal; else 127.0.0.1.
    #[arg(long, value_name = "HOST", value_parser = host)]
    webhook_host: Option<String>,

    #[command(flatten)]
    admission: AdmissionArguments,

    #[command(flatten)]
    choice: ClusterFlags,

    /// Flags for the operator, after --.
    #[arg(last = true, value_name = "FLAGS")]
    flags: Vec<String>,
}

fn host(text: &str) -> Result<String, String> {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':');
    if text.is_empty() || !text.chars().all(is_fit) {
        return Err("write a host name or an address, without scheme and port".to_owned());
    }
    Ok(text.to_owned())
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let runtime = cluster::runtime()?;
    let done = runtime.block_on(session::run(arguments, Project::load()?, Progress::new()));
    // The result of a build that is still running is not needed any more.
    runtime.shutdown_background();
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address() {
        assert!(host("host.docker.internal").is_ok() && host("::1").is_ok() && host("10.0.0.1").is_ok());
        assert!(host("").is_err() && host("https://me").is_err() && host("a b").is_err());
    }
}
