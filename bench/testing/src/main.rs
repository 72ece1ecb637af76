//! `TestEnv` beside Go's envtest: the time to start, to reconcile one object and to stop, one run, as a table.
//!
//! `cargo run --release -p kubewright-bench-testing` needs Go and the real binaries for envtest; `--peers ours` leaves it out.

mod envtest;
mod garden;
mod ours;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

/// Why a bench ended early.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Measures test environments.
#[derive(Parser)]
struct Arguments {
    /// Which peers to measure: envtest, ours.
    #[arg(long, value_delimiter = ',', default_value = "envtest,ours")]
    peers: Vec<String>,
    /// Rounds of envtest.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Rounds of ours.
    #[arg(long, default_value_t = 30)]
    own_rounds: usize,
    /// How many of ours are started at once.
    #[arg(long, default_value_t = 100)]
    parallel: usize,
    /// The folder with etcd and kube-apiserver.
    #[arg(long, default_value = "target/upstream")]
    assets: PathBuf,
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
    if let Some(unknown) = arguments
        .peers
        .iter()
        .find(|peer| !matches!(peer.as_str(), "envtest" | "ours"))
    {
        return Err(format!("no peer is called {unknown:?}: there are envtest and ours").into());
    }
    let envtest = if wants("envtest") {
        Some(envtest::measure(&arguments.assets, arguments.rounds.max(1))?)
    } else {
        None
    };
    let ours = if wants("ours") {
        Some(ours::measure(arguments.own_rounds.max(1))?)
    } else {
        None
    };
    let parallel = if wants("ours") && arguments.parallel > 0 {
        Some((arguments.parallel, ours::measure_parallel(arguments.parallel)?))
    } else {
        None
    };
    print!("{}", report::table(envtest.as_deref(), ours.as_deref(), parallel));
    Ok(())
}
