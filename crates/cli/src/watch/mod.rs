//! `kubewright watch`: the view of `dev`, of an operator that runs in a cluster. It is reached by a forwarded port, under the rights of whoever looks.

mod forward;
mod rights;
mod workload;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use kubewright_cluster::progress::Progress;
use kubewright_cluster::{ClusterFlags, with_sources};
use kubewright_system::signals::Signals;
use kubewright_view::{LiveCluster, LiveOperator, LiveSettings, OperatorKinds};

use crate::cluster_arguments::connect;
use crate::history_arguments::HISTORY_BYTES;
use crate::shown::{Shown, ViewArguments};
use forward::ForwardedPort;
use workload::{Target, Workload};

const EXAMPLES: &str = "\
Examples:
  # The operator of a Deployment
  kubewright watch deploy/shop-controller-manager -n shop-system

  # In this terminal, without a browser
  kubewright watch deploy/shop-controller-manager -n shop-system --tui

  # One of its Pods, in another cluster
  kubewright watch pod/shop-controller-manager-6d8f-x2x4k -n shop-system --context production";

/// See inside an operator that runs in a cluster.
///
/// Shows what `kubewright dev` shows: the operator's reconciles with what woke them, what they read and wrote, its queues and caches, and the objects that
/// it is about. A port of its Pod is forwarded for that, which needs the right to create pods/portforward; objects are read with the rights of the
/// kubeconfig. Nothing is changed in the cluster, unless --allow-writes lets the page do so.
///
/// The operator records what happens only if it is told to: --debug-trace-bytes=8388608 among the arguments of its container keeps the last 8 MiB.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The operator: deploy/NAME or pod/NAME.
    #[arg(value_name = "OPERATOR")]
    operator: Target,

    /// Its namespace.
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default")]
    namespace: String,

    #[command(flatten)]
    view: ViewArguments,

    /// About how many bytes are kept of what objects were: as far back as they reach, the cluster is shown as it was.
    #[arg(long, value_name = "BYTES", default_value_t = HISTORY_BYTES)]
    history_bytes: usize,

    #[command(flatten)]
    cluster: ClusterFlags,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    kubewright_cluster::runtime()?.block_on(watch(arguments))
}

async fn watch(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let progress = Progress::new();
    let mut signals = Signals::listen_with_hangup()?;
    let begin = async {
        let cluster = connect(&arguments.cluster, &progress).await?;
        let workload = Workload::find(&cluster, &arguments.operator, &arguments.namespace).await?;
        if !workload.has_trace {
            progress.warn(
                "the operator records nothing, so that no reconciles are shown: add --debug-trace-bytes=8388608 to the arguments of its container",
            );
        }
        let rules = match rights::rules(&cluster, &arguments.namespace, &workload.account).await {
            Ok(rules) => Some(rules),
            Err(error) => {
                progress.warn(format!(
                    "what the operator may read is not known: {}",
                    with_sources(&error)
                ));
                None
            }
        };
        let known = rules.as_deref().unwrap_or_default();
        let kinds = OperatorKinds::new(rights::own_kinds(known), known);
        let client = cluster.client().clone();
        let operator = ForwardedPort::new(
            client.clone(),
            &arguments.namespace,
            arguments.operator.clone(),
            workload.port,
        );
        let settings = LiveSettings {
            title: format!("kubewright watch {}", arguments.operator),
            port: arguments.view.port,
            operator: LiveOperator::At(Arc::new(operator)),
            cluster: LiveCluster::Elsewhere {
                client: client.clone(),
                allow_writes: arguments.view.allow_writes,
            },
            explorations: None,
        };
        let mut shown = Shown::start(settings, arguments.history_bytes, &progress).await?;
        if let Some(rules) = &rules {
            let name = arguments.operator.to_string();
            shown.model().traced_rights(rights::described(&name, rules));
        }
        shown.follow_cluster(&client, kinds);
        Ok::<_, Box<dyn Error>>(shown)
    };
    let mut shown = tokio::select! {
        biased;
        _ = signals.more_than(0) => return Ok(ExitCode::SUCCESS),
        shown = begin => shown?,
    };
    shown.announce(arguments.view, &progress);
    progress.note("Ctrl-C ends this; the operator goes on");
    if arguments.view.tui {
        shown.show_in_terminal(signals.clone(), &progress)?;
    }
    signals.more_than(0).await;
    let times = signals.count();
    tokio::select! {
        biased;
        () = shown.stop() => {}
        _ = signals.more_than(times) => {}
    }
    Ok(ExitCode::SUCCESS)
}
