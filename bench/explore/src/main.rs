//! How many whole scenarios an exploration runs in a second, with and without Kubernetes' own controllers, and what memory many of them take.
//!
//! `cargo run --profile dist -p kubewright-bench-explore`

mod envtest;
mod scenario;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use kubewright_system::process::{Process, load_average};

use crate::scenario::Scenario;

/// Any error.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Measures explorations.
#[derive(Parser)]
struct Arguments {
    /// How many runs of each thread there are before memory is looked at first.
    #[arg(long, default_value_t = 50)]
    few: usize,
    /// How many there are between that and the second look; these are timed.
    #[arg(long, default_value_t = 5000)]
    many: usize,
    /// One scenario alone.
    #[arg(long)]
    only: Option<Scenario>,
    /// How many threads run scenarios at the same time.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// How many runs there are by Go's envtest on the real etcd and kube-apiserver. They need Go.
    #[arg(long, default_value_t = 0)]
    envtest: usize,
    /// The folder with etcd and kube-apiserver.
    #[arg(long, default_value = "target/upstream")]
    assets: PathBuf,
}

/// What was measured of a scenario.
struct Measured {
    runs: usize,
    took: Duration,
    /// Processor time, in seconds.
    cpu: f64,
    memory_after_few: u64,
    memory_after_many: u64,
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
    let few = arguments.few * arguments.threads;
    println!(
        "load {}, {} threads\n",
        load_average().unwrap_or_default(),
        arguments.threads
    );
    println!("| | runs | a second | processor time of a run | memory after {few} | and after all |");
    println!("|---|---:|---:|---:|---:|---:|");
    let all = [Scenario::WithControllers, Scenario::WithoutControllers];
    for scenario in all
        .into_iter()
        .filter(|scenario| arguments.only.is_none_or(|only| only == *scenario))
    {
        let measured = measure(scenario, arguments)?;
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let runs = measured.runs as f64;
        println!(
            "| {scenario} | {} | {:.1} | {:.0} ms | {:.1} MB | {:.1} MB |",
            measured.runs,
            runs / measured.took.as_secs_f64(),
            measured.cpu * 1e3 / runs,
            megabytes(measured.memory_after_few),
            megabytes(measured.memory_after_many),
        );
    }
    if arguments.envtest > 0 {
        let took = envtest::measure(&arguments.assets, arguments.envtest)?;
        let median = took.get(took.len() / 2).ok_or("envtest's peer measured nothing")?;
        let rate = 1.0 / median.as_secs_f64();
        println!(
            "| envtest on the real pair: create, scale | {} | {rate:.2} | | | |",
            took.len()
        );
        println!("\nthe median of a run by envtest: {:.2} s", median.as_secs_f64());
    }
    Ok(())
}

fn measure(scenario: Scenario, arguments: &Arguments) -> Result<Measured, Failure> {
    run(scenario, arguments.few, arguments.threads)?;
    let (began, before) = (Instant::now(), used()?);
    run(scenario, arguments.many, arguments.threads)?;
    let (took, after) = (began.elapsed(), used()?);
    Ok(Measured {
        runs: arguments.many * arguments.threads,
        took,
        cpu: after.cpu - before.cpu,
        memory_after_few: before.memory,
        memory_after_many: after.memory,
    })
}

/// What this process has used so far: seconds of processor time, and bytes of memory.
struct Used {
    cpu: f64,
    memory: u64,
}

fn used() -> Result<Used, Failure> {
    let this = Process::this().ok_or("the system does not say what this process uses")?;
    Ok(Used {
        cpu: this.cpu_seconds().unwrap_or_default(),
        memory: this.resident_bytes().unwrap_or_default(),
    })
}

/// Runs the scenario so often in each of some threads.
fn run(scenario: Scenario, runs: usize, threads: usize) -> Result<(), Failure> {
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(move || scenario.run(runs))).collect();
        for thread in running {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })
}
