//! The program: flags, logs, signals and the way to the cluster, by hand.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use kubewright::flags::{Environment, Flags};
use kubewright::stop::{Stop, Stopper};
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
    sample_controller::run(kube, arguments.status_by, until_a_signal()?).await?;
    Ok(())
}

/// Asks for the end on SIGINT or SIGTERM; the second signal is the end.
fn until_a_signal() -> Result<Stop, std::io::Error> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (stopper, stop) = Stopper::new();
    tokio::spawn(async move {
        let stopper = stopper;
        for is_first in [true, false] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if is_first {
                stopper.stop();
            }
        }
        std::process::exit(1);
    });
    Ok(stop)
}
