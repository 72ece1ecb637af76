//! Measures explorations of markdown-view: whole scenarios a second with and without Kubernetes' own controllers, disturbed runs a
//! second, what one scenario costs on a real etcd and kube-apiserver, and the memory of many runs.
//!
//! `cargo run --profile dist -p kubewright-bench-explore`

mod memory;
mod real;
mod scenario;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use kubewright::testing::explore::Class;

use crate::scenario::{Cluster, scenario};

/// Any error.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Measures explorations.
#[derive(Parser)]
struct Arguments {
    /// Whole scenarios for each figure.
    #[arg(long, default_value_t = 200)]
    scenarios: usize,
    /// How many at the same time.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// The folder with etcd and kube-apiserver; without it, real binaries are left out.
    #[arg(long)]
    assets: Option<PathBuf>,
    /// Scenarios on real binaries.
    #[arg(long, default_value_t = 3)]
    real: usize,
    /// The numbers of runs whose memory is compared; 0 for none.
    #[arg(long, value_delimiter = ',', default_value = "100,10000")]
    memory: Vec<usize>,
    /// Make so many runs and print the memory: what the program asks of itself.
    #[arg(long, hide = true)]
    runs_in_this_process: Option<usize>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.runs_in_this_process {
        Some(runs) => memory::child(runs, arguments.jobs),
        None => bench(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(arguments: &Arguments) -> Result<(), Failure> {
    for cluster in [Cluster::Whole, Cluster::Bare] {
        let took = whole(cluster, arguments.scenarios, arguments.jobs)?;
        println!(
            "{cluster}: {:.1} whole scenarios a second ({} in {:.1} s, {} at the same time)",
            rate(arguments.scenarios, took),
            arguments.scenarios,
            took.as_secs_f64(),
            arguments.jobs
        );
        let began = Instant::now();
        let explored = runtime()?.block_on(scenario(cluster).classes(Class::ALL).jobs(arguments.jobs).try_run());
        let summary = explored.map_err(|error| error.to_string())?;
        println!(
            "{cluster}: {:.1} disturbed runs a second: {summary}",
            rate(summary.runs(), began.elapsed())
        );
    }
    if let Some(assets) = &arguments.assets {
        let took = real::measure(assets, arguments.real.max(1))?;
        println!(
            "real binaries: {:.2} s for one scenario (median of {})",
            took.as_secs_f64(),
            arguments.real.max(1)
        );
    }
    memory::compare(&arguments.memory, arguments.jobs)
}

/// Whole scenarios without disturbance, on several threads.
fn whole(cluster: Cluster, scenarios: usize, jobs: usize) -> Result<Duration, Failure> {
    let began = Instant::now();
    let each = scenarios.div_ceil(jobs);
    let threads: Vec<_> = (0..jobs)
        .map(|_| {
            std::thread::spawn(move || -> Result<(), Failure> {
                let explored = runtime()?.block_on(scenario(cluster).classes([]).repeats(each).try_run());
                explored.map(drop).map_err(|error| error.to_string().into())
            })
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| "a thread panicked")??;
    }
    Ok(began.elapsed())
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

#[expect(clippy::cast_precision_loss, reason = "a rate to be read")]
fn rate(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}
