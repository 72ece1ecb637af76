//! The program of a peer: its command line, its threads, and the counting of live bytes.

use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use tokio::runtime::Builder;
use tokio::task::JoinError;

use crate::Failure;
use crate::tally::Tally;

/// The work of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Work {
    /// Nothing: a controller without objects.
    Idle,
    /// Reads each `ConfigMap` from the cache.
    Noop,
    /// Gives each `ConfigMap` a Secret.
    Owners,
    /// Reads each `ConfigMap` from the cache and notes when it saw which content.
    Latency,
    /// Keeps Pods in the cache.
    Pods,
    /// Measures single operations.
    Micro,
}

/// The command line of a peer. The peer in Go has the same flags.
#[derive(Clone, Debug, Parser)]
pub struct Task {
    /// What to do
    #[arg(long)]
    pub scenario: Work,
    /// How many objects to wait for
    #[arg(long, default_value_t = 0)]
    pub count: usize,
    /// Where the objects are
    #[arg(long, default_value = "")]
    pub namespace: String,
    /// How many objects are reconciled at once
    #[arg(long, default_value_t = 8)]
    pub workers: u16,
    /// Count live bytes, which needs everything on one thread
    #[arg(long)]
    pub heap: bool,
    /// Keep a trace of 8 MiB; only this toolkit has one
    #[arg(long)]
    pub traced: bool,
}

/// Runs a peer until the benchmark closes the pipe.
pub fn main<F>(task: &Task, work: impl FnOnce(Task, Arc<Tally>) -> F) -> ExitCode
where
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let tally = Arc::new(Tally::new(task.count));
    let working = work(task.clone(), Arc::clone(&tally));
    let done = if task.heap {
        run_counted(&tally, working)
    } else {
        run(&tally, working)
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peer: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(tally: &Arc<Tally>, working: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    tally.obey_in_background();
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(working)
}

/// The same on a single thread, whose allocations are counted until all objects are in the cache.
fn run_counted(
    tally: &Arc<Tally>,
    working: impl Future<Output = Result<(), Failure>> + Send + 'static,
) -> Result<(), Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut working = runtime.spawn(working);
    let mut failed = None;
    let counted = allocation_counter::measure(|| {
        failed = runtime.block_on(settled(tally, &mut working));
    });
    if let Some(failure) = failed {
        return Err(failure);
    }
    let mut report = tally.report("heap");
    report.heap = counted.bytes_current.max(0) as u64;
    report.say();
    Ok(())
}

/// Waits until all objects are in the cache and the tasks that fetched them are idle.
async fn settled(
    tally: &Tally,
    working: impl Future<Output = Result<Result<(), Failure>, JoinError>>,
) -> Option<Failure> {
    tokio::select! {
        ended = working => Some(match ended {
            Ok(Ok(())) => "the peer ended before it was done".into(),
            Ok(Err(failure)) => failure,
            Err(panic) => panic.into(),
        }),
        () = tally.done() => {
            tokio::time::sleep(Duration::from_secs(1)).await;
            None
        }
    }
}
