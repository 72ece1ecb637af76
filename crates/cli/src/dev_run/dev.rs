//! `kubewright dev`: the loop of writing a controller. See `run`, with which it shares everything but its settings.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use super::settings::{CommonArguments, Samples, Settings};
use super::{any_command, session};
use crate::shown::ViewArguments;

const EXAMPLES: &str = "\
Examples:
  # A cluster in this process, the operator and its samples; save a file, and the operator is built and started anew
  kubewright dev

  # The same, with its page opened in the browser
  kubewright dev --open

  # The same in a cluster that is there
  kubewright dev --context kind-dev

  # Look at what happens from another terminal: the kubeconfig is always at the same place
  kubewright dev --kubeconfig-out dev.kubeconfig

  # In this terminal, without a browser: what the operator says is shown there, too
  kubewright dev --tui

  # Flags for the operator
  kubewright dev -- --log-level=debug

  # An operator in another language: kubebuilder's, here
  kubewright dev --command \"go run ./cmd\"";

/// Run the operator while you write it: built and started anew at each save.
///
/// Starts a cluster in this process, with the controllers that bring Deployments to life, or takes that of --context. Installs the
/// definitions, roles and webhooks of the project, builds and starts the operator, and applies the objects of config/samples.
///
/// When a file is saved, the operator is built, what changed of its definitions, roles and webhooks is applied, and it is started anew; the
/// cluster and its objects stay. It is said how long that took, and how much of it was cargo. A build that fails shows its errors and leaves the
/// running operator alone.
///
/// Open the link that it prints, or have it opened with --open: the page shows each reconcile with what woke it, what it read, wrote and logged and how it
/// ended, and the objects of the cluster as a tree of owners, now and at every revision since the start. Objects are edited, scaled and deleted there, in
/// the cluster of --context only with --allow-writes; a cluster of this process can be forked at a revision into a second one with a page of its own. The
/// page is for browsers of this machine that have the link. Without a browser, --tui shows the same in the terminal, with the keys of k9s.
///
/// Ctrl-C stops everything in order; a second one at once. Neither the operator nor a build outlives this command, even if it is killed or its
/// terminal is closed. In the cluster of a context, definitions and samples stay; webhook configurations that were not there before go.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Leave config/samples alone.
    #[arg(long)]
    no_samples: bool,

    #[command(flatten)]
    view: ViewArguments,

    /// Serve no page, and have the operator record nothing: for one that is built with a kubewright that has no --debug-trace-bytes.
    #[arg(long, conflicts_with_all = ["port", "open", "tui", "allow_writes"])]
    no_view: bool,

    /// Run this command line instead of building the operator of a project, in any language: `go run ./cmd`. It gets a KUBECONFIG, and is started
    /// anew when a file of this folder is saved; flags after -- are added to it. What the API server sees of it is shown.
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,

    /// File or folder of objects to install before the command, in place of config/crd/bases; may be given several times.
    #[arg(long, value_name = "PATH", requires = "command")]
    install: Vec<PathBuf>,

    #[command(flatten)]
    common: CommonArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let common = &arguments.common;
    let is_chosen = common.choice.kubeconfig.is_some() || common.choice.context.is_some();
    let settings = Settings {
        common,
        // A cluster that somebody else may use is only touched if it is named.
        is_embedded: !is_chosen,
        watches: true,
        samples: if arguments.no_samples {
            Samples::Ignored
        } else {
            Samples::IfAny
        },
        installs: true,
        view: (!arguments.no_view).then_some(arguments.view),
    };
    match &arguments.command {
        Some(command) => any_command::run_to_end(&settings, command, &arguments.install),
        None => session::run_to_end(&settings),
    }
}
