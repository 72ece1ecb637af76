//! Compares `TestEnv` with Go's envtest: the time to start, to reconcile one object and to stop, in one run.
//!
//! `cargo run --profile dist -p kubewright-bench-testing` needs Go and the real binaries for envtest; `--peers ours,ours-bare` leaves it out.
//! The drop-in is the same Go program on the folder of `kubewright envtest path`.

mod envtest;
mod garden;
mod ours;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::ours::Rounds;
use crate::report::Peer;

/// Any error.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The implementations that can be measured.
const PEERS: [&str; 4] = ["envtest", "drop-in", "ours", "ours-bare"];

/// Measures test environments.
#[derive(Parser)]
struct Arguments {
    /// Which peers to measure: envtest, drop-in (Go's envtest on our programs), ours (with Kubernetes' own controllers, the default of
    /// a test), ours-bare (without).
    #[arg(long, value_delimiter = ',', default_value = "envtest,drop-in,ours,ours-bare")]
    peers: Vec<String>,
    /// Rounds of envtest.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Rounds of ours.
    #[arg(long, default_value_t = 30)]
    own_rounds: usize,
    /// How many of ours are started at once; 0 for none.
    #[arg(long, default_value_t = 100)]
    parallel: usize,
    /// The folder with etcd and kube-apiserver.
    #[arg(long, default_value = "target/upstream")]
    assets: PathBuf,
    /// The command whose `envtest path` is the drop-in's folder.
    #[arg(long, default_value = "target/dist/kubewright")]
    kubewright: PathBuf,
}

fn main() -> ExitCode {
    match bench(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(arguments: &Arguments) -> Result<(), Failure> {
    let wants = |peer: &str| arguments.peers.iter().any(|wanted| wanted == peer);
    let is_known = |peer: &&String| PEERS.contains(&peer.as_str());
    if let Some(unknown) = arguments.peers.iter().find(|peer| !is_known(peer)) {
        return Err(format!("no peer is called {unknown:?}: there are {}", PEERS.join(", ")).into());
    }
    let envtest = if wants("envtest") {
        Some(Peer {
            name: "envtest",
            rounds: envtest::measure(&arguments.assets, arguments.rounds.max(1))?,
            parallel: None,
            goal: 1.0,
        })
    } else {
        None
    };
    let rounds = Rounds {
        single: arguments.own_rounds.max(1),
        parallel: arguments.parallel,
    };
    let mut ours = Vec::new();
    if wants("drop-in") {
        let assets = envtest::drop_in(&arguments.kubewright)?;
        ours.push(Peer {
            name: "drop-in",
            rounds: envtest::measure(&assets, arguments.rounds.max(1) * 3)?,
            parallel: None,
            goal: report::DROP_IN,
        });
    }
    if wants("ours") {
        ours.push(ours::with_controllers(rounds)?);
    }
    if wants("ours-bare") {
        ours.push(ours::without_controllers(rounds)?);
    }
    print!("{}", report::table(envtest.as_ref(), &ours));
    Ok(())
}
