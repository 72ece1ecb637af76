// SPDX-License-Identifier: Apache-2.0

//! How long an exploration with its defaults takes to find each mistake: a table, one operator after another. It fails if one is not
//! found, or takes more processor time than it may.
//!
//! `cargo run -p broken-operators --example found` measures all, `… -- counter sweeps` these.

#[path = "../tests/scenarios/cloud.rs"]
mod cloud;
#[path = "../tests/scenarios/mod.rs"]
mod scenarios;

use std::process::ExitCode;
use std::time::Instant;

use broken_operators::{
    counter, create_again, creates_only, deletes_foreign, early_release, edge_triggered, first_of_two, forbidden,
    generated_name, gives_up, ignores_deletion, keeps_removed, late_finalizer, made_once, missed_deletion, never_rests,
    no_owner, noted_first, old_generation, old_transition, optional_webhook, outside, own_watch, remembers,
    retries_blindly, status_first, sticks, swallows, sweeps, takes_over, touches, trusts_clock, unobserved, unwraps,
};
use kubewright::testing::explore::{Exploration, explore};
use kubewright::tokio::runtime::Builder;
use kubewright_system::process::{Process, load_average};

/// A new exploration of an operator with its mistake.
type Explored = fn() -> Exploration;

/// How many seconds of processor time it may take until a mistake is found: 20 s on two cores. What else runs on the machine does not
/// count.
const MOST: f64 = 2.0 * 20.0;

/// All operators; the mistake of `gives_up` takes two disturbances.
const OPERATORS: &[(&str, Explored)] = &[
    ("counter", || scenarios::app(explore(counter::broken))),
    ("create_again", || scenarios::app(explore(create_again::broken))),
    ("creates_only", || scenarios::app(explore(creates_only::broken))),
    ("deletes_foreign", || scenarios::app(explore(deletes_foreign::broken))),
    ("early_release", || scenarios::app(explore(early_release::broken))),
    ("edge_triggered", || scenarios::app(explore(edge_triggered::broken))),
    ("first_of_two", || scenarios::app(explore(first_of_two::broken))),
    ("forbidden", || scenarios::app(explore(forbidden::broken))),
    ("generated_name", || scenarios::app(explore(generated_name::broken))),
    ("gives_up", || scenarios::app(explore(gives_up::broken)).pairs(200)),
    ("ignores_deletion", || scenarios::app(explore(ignores_deletion::broken))),
    ("keeps_removed", || scenarios::app(explore(keeps_removed::broken))),
    ("late_finalizer", || scenarios::app(explore(late_finalizer::broken))),
    ("made_once", || scenarios::app(explore(made_once::broken))),
    ("missed_deletion", || cloud::app(missed_deletion::broken)),
    ("never_rests", || scenarios::app(explore(never_rests::broken))),
    ("no_owner", || scenarios::app(explore(no_owner::broken))),
    ("noted_first", || scenarios::app(explore(noted_first::broken))),
    ("old_generation", || scenarios::app(explore(old_generation::broken))),
    ("old_transition", || scenarios::app(explore(old_transition::broken))),
    ("optional_webhook", || {
        scenarios::app_without_text(explore(optional_webhook::broken))
    }),
    ("outside", || cloud::app(outside::broken)),
    ("own_watch", || scenarios::app_with_defaults(explore(own_watch::broken))),
    ("remembers", || scenarios::app(explore(remembers::broken))),
    ("retries_blindly", || scenarios::app(explore(retries_blindly::broken))),
    ("status_first", || scenarios::app(explore(status_first::broken))),
    ("sticks", || scenarios::app(explore(sticks::broken))),
    ("swallows", || scenarios::app(explore(swallows::broken))),
    ("takes_over", || scenarios::app(explore(takes_over::broken))),
    ("touches", || scenarios::app(explore(touches::broken))),
    ("trusts_clock", || scenarios::app(explore(trusts_clock::broken))),
    ("unobserved", || scenarios::app(explore(unobserved::broken))),
    ("unwraps", || scenarios::app(explore(unwraps::broken))),
    ("sweeps", || scenarios::app_with_config_map(explore(sweeps::broken))),
];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_known = |wanted: &&String| OPERATORS.iter().any(|(name, _)| name == wanted);
    if let Some(unknown) = wanted.iter().find(|wanted| !is_known(wanted)) {
        eprintln!("found: no operator is called {unknown}");
        return ExitCode::FAILURE;
    }
    println!("load {} before\n", load_average().unwrap_or_default());
    println!("| operator | processor seconds | on the clock | runs and differences |");
    println!("|---|---:|---:|---|");
    let mut missed = 0;
    for (name, exploration) in OPERATORS {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        let (began, before) = (Instant::now(), processor_seconds());
        let found = found(exploration());
        let (took, used) = (began.elapsed(), processor_seconds() - before);
        let is_late = used > MOST;
        missed += usize::from(found.is_none() || is_late);
        let found = found.as_deref().unwrap_or("NOT FOUND");
        let late = if is_late { ", TOO LATE" } else { "" };
        println!("| `{name}` | {used:.1} | {:.1} s | {found}{late} |", took.as_secs_f64());
    }
    ExitCode::from(u8::from(missed > 0))
}

/// The first line of the report, if a difference was found.
fn found(exploration: Exploration) -> Option<String> {
    let runtime = Builder::new_current_thread().build().expect("a runtime can be made");
    let report = runtime.block_on(exploration.try_run()).err()?.text();
    let first = report.lines().next().unwrap_or_default();
    first.starts_with("explore found").then(|| first.to_owned())
}

fn processor_seconds() -> f64 {
    Process::this()
        .and_then(|process| process.cpu_seconds())
        .unwrap_or_default()
}
