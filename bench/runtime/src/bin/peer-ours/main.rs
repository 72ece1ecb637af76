//! The peer that is written with this toolkit.

mod controllers;
mod micro;

use std::process::ExitCode;

use clap::Parser as _;
use kubewright_bench_runtime::protocol::Report;
use kubewright_bench_runtime::task::{self, Task, Work};

fn main() -> ExitCode {
    let task = Task::parse();
    if task.scenario != Work::Micro {
        return task::main(
            &task,
            |task, tally| async move { controllers::run(&task, &tally).await },
        );
    }
    match micro::figures() {
        Ok(figures) => {
            let event = "micro".to_owned();
            Report {
                event,
                figures,
                ..Report::default()
            }
            .say();
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("peer: {error}");
            ExitCode::FAILURE
        }
    }
}
