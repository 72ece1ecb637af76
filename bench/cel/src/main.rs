//! Compares this toolkit's CEL engine with Kubernetes': the same rules and the same object in one run, with ratios.
//!
//! `cargo run --profile dist -p kubewright-bench-cel` builds the peer (`peer/`, Go 1.26 or newer) and measures both;
//! `--only-ours` leaves the peer out.

mod cases;
mod measure;
mod ours;
mod peer;
mod report;

use std::process::ExitCode;

use clap::Parser;

use crate::cases::{Cases, Figures};
use crate::measure::Effort;

/// Measures this toolkit's CEL engine against cel-go with Kubernetes' environment.
#[derive(Parser)]
struct Arguments {
    /// How many batches are measured; the best one counts
    #[arg(long, default_value_t = 60)]
    batches: usize,
    /// How many milliseconds one batch takes
    #[arg(long, default_value_t = 5)]
    batch_ms: u64,
    /// Leave the peer out
    #[arg(long)]
    only_ours: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let cases = Cases::read()?;
    let effort = Effort {
        batches: arguments.batches.max(1),
        batch_ms: arguments.batch_ms.max(1),
    };
    let theirs = if arguments.only_ours {
        None
    } else {
        eprintln!("bench: building and running the peer …");
        Some(peer::run(effort)?)
    };
    eprintln!("bench: ours …");
    let ours = ours::run(&cases, effort)?;
    if let Some(theirs) = &theirs {
        agree(theirs, &ours)?;
    }
    println!("{}", report::table(&cases, theirs.as_ref(), &ours));
    Ok(())
}

/// Refuses to compare figures unless both programs have the same result, cost and estimate for every rule.
fn agree(theirs: &Figures, ours: &Figures) -> Result<(), String> {
    for (theirs, ours) in theirs.rules.iter().zip(&ours.rules) {
        let facts = |rule: &cases::RuleFigures| (rule.name.clone(), rule.verdict, rule.cost, rule.estimate);
        if facts(theirs) != facts(ours) {
            return Err(format!("they say {:?}, we say {:?}", facts(theirs), facts(ours)));
        }
    }
    Ok(())
}
