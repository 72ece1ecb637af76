//! From a run that nothing disturbed to the plans that disturb it.

use std::collections::BTreeSet;

use super::class::Class;
use super::observation::{Observation, family};
use super::plan::{DELAY, Disturbance, Plan};
use super::spec_plans;
use super::world;
use crate::traffic::Strike;

/// What may happen to a write, the likeliest first.
const STRIKES: [Strike; 11] = [
    Strike::CrashAfter,
    Strike::CrashBefore,
    Strike::LoseAnswer,
    Strike::Answer(409),
    Strike::Answer(500),
    Strike::Unreachable,
    Strike::Answer(429),
    Strike::Answer(503),
    Strike::Delay(DELAY),
    Strike::DropWatches,
    Strike::ExpireWatches,
];

/// The plans for a step, from a run in which the manager was started before it. Writes that changed nothing are left alone.
pub(super) fn plans(step: usize, name: &str, run: &Observation, known: &mut BTreeSet<String>) -> Vec<Plan> {
    let plan = |disturbance| Plan {
        disturbance,
        step: name.to_owned(),
        steps: None,
    };
    let writes = run.writes.iter().filter(|write| write.step == step && write.effective);
    let mut plans = Vec::new();
    for write in writes {
        for strike in STRIKES {
            plans.push(plan(Disturbance::Write(strike, write.address.clone())));
        }
        plans.push(plan(Disturbance::DeleteOwners(write.address.clone())));
    }
    let Some(boundary) = run.after(step) else {
        return plans;
    };
    for made in &boundary.made {
        let Some(object) = boundary.cluster.objects().get(made) else {
            continue;
        };
        let named = family(made, object);
        // What an earlier step made was tried after that step.
        if !known.insert(named.to_string()) {
            continue;
        }
        if named == *made {
            plans.push(plan(Disturbance::Foreign(named.clone())));
        }
        plans.push(plan(Disturbance::Delete(named.clone())));
        if world::edit(object).is_some() {
            plans.push(plan(Disturbance::Edit(named)));
        }
    }
    plans
}

/// The edits of what a step made, and how many are left out.
pub(super) fn edits(
    step: usize,
    name: &str,
    run: &Observation,
    seed: u64,
    known: &mut BTreeSet<String>,
) -> (Vec<Plan>, usize) {
    let Some(boundary) = run.after(step) else {
        return (Vec::new(), 0);
    };
    let (edits, beyond) = spec_plans::edits(boundary, seed, |object| known.insert(format!("edits of {object}")));
    let plans = edits.into_iter().map(|edit| Plan {
        disturbance: Disturbance::Spec(edit),
        step: name.to_owned(),
        steps: None,
    });
    (plans.collect(), beyond)
}

/// Only plans of these classes, in the order of the classes.
pub(super) fn of_classes(mut plans: Vec<Plan>, classes: &[Class]) -> Vec<Plan> {
    plans.retain(|plan| classes.contains(&plan.class()));
    plans.sort_by_key(Plan::class);
    plans
}
