//! Compares controller-runtime, `kube_runtime` and this toolkit: the same work on one real API server, in one run.
//!
//! `cargo run --profile operator -p kubewright-bench-runtime` needs the real binaries (`conformance/upstream/build`) and Go 1.26 or newer
//! for the peer in `go/`; `--peers` and `--only` leave peers and scenarios out, `--quick` takes a minute and says little.

mod child;
mod cluster;
mod goals;
mod report;
mod scenarios;
mod server;
mod statistics;

use std::process::ExitCode;

use clap::Parser;
use kubewright_bench_runtime::Failure;
use kubewright_system::signals::Signals;

use crate::scenarios::Plan;

/// Measures three controller libraries against one real API server.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    plan: Plan,
}

fn main() -> ExitCode {
    match bench(&Arguments::parse().plan.completed()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(plan: &Plan) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        // A signal drops the future of the run, which ends its servers.
        let mut signals = Signals::listen()?;
        tokio::select! {
            done = scenarios::run(plan) => done,
            received = signals.more_than(0) => Err(if received.is_interrupt { "interrupted" } else { "terminated" }.into()),
        }
    })
}
