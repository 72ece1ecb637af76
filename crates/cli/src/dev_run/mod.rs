//! `kubewright run` and `kubewright dev`: run the operator on this machine, against a cluster or against an embedded API server.
//! Both are one session with different settings. `kubewright demo` shows the same with an operator of its own.

mod any_command;
mod debug_endpoint;
pub(crate) mod dev;
mod extension;
mod process;
mod samples;
mod session;
mod settings;
mod target_cluster;
mod timing;
mod watch;
mod webhook_host;

use std::error::Error;
use std::process::ExitCode;

use settings::{CommonArguments, Samples, Settings};

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

    #[command(flatten)]
    common: CommonArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    session::run_to_end(&Settings {
        common: &arguments.common,
        is_embedded: arguments.embedded,
        watches: arguments.watch,
        samples: if arguments.samples {
            Samples::Required
        } else {
            Samples::Ignored
        },
        installs: !arguments.no_install,
        view: None,
    })
}
