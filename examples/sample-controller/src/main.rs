//! The program: flags, logs, signals and the way to the cluster, by hand.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use kubewright::flags::{Environment, Flags};
use kubewright::stop::stop_on_signals;
use sample_controller::Sources;
use sample_controller::controller::StatusBy;

/// Keeps the Deployments of Foos as they should be.
#[derive(Parser)]
struct Arguments {
    /// Path to a kubeconfig. Only required out of a cluster.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// The address of the API server. Overrides any value in the kubeconfig. Only required out of a cluster.
    #[arg(long)]
    master: Option<String>,
    /// How the status is written: a definition without a status subresource needs `update`.
    #[arg(long, value_enum, default_value_t)]
    status_by: StatusBy,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let flags = Flags {
        kubeconfig: arguments.kubeconfig,
        ..Flags::default()
    };
    flags.init_logs()?;
    let mut config = flags.config(&Environment::system()).await?;
    if let Some(master) = arguments.master {
        config.cluster_url = master
            .parse()
            .map_err(|error| format!("--master {master:?}: {error}"))?;
    }
    let kube = kube::Client::try_from(config)?;
    sample_controller::run(kube, arguments.status_by, Sources::system(), stop_on_signals()?).await?;
    Ok(())
}
