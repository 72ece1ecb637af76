//! The memory of few and of many runs, each in a process of its own.

use std::process::Command;

use kubewright::testing::explore::Class;

use crate::Failure;
use crate::scenario::{Cluster, scenario};

/// Measures each number of runs in a fresh process.
pub(crate) fn compare(numbers: &[usize], jobs: usize) -> Result<(), Failure> {
    for runs in numbers.iter().filter(|runs| **runs > 0) {
        let status = Command::new(std::env::current_exe()?)
            .arg(format!("--runs-in-this-process={runs}"))
            .arg(format!("--jobs={jobs}"))
            .status()?;
        if !status.success() {
            return Err(format!("{runs} runs: {status}").into());
        }
    }
    Ok(())
}

/// Explores with one seed after another until there were so many runs, and prints the most memory that was in use.
pub(crate) fn child(runs: usize, jobs: usize) -> Result<(), Failure> {
    let mut made = 0;
    let mut seed = 0;
    while made < runs {
        let exploration = scenario(Cluster::Bare).classes(Class::ALL).jobs(jobs).seed(seed);
        let explored = crate::runtime()?.block_on(exploration.try_run());
        made += explored.map_err(|error| error.to_string())?.runs();
        seed += 1;
    }
    println!("memory of {made} runs: {} at most", peak()?);
    Ok(())
}

/// What the kernel counts as the most that was resident.
fn peak() -> Result<String, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    Ok(line.ok_or("the kernel does not say")?.trim().to_owned())
}
