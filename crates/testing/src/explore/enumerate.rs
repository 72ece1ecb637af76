//! From a run that nothing disturbed to the plans that disturb it.

use std::collections::BTreeSet;

use kubewright_runtime::random::Random;

use super::class::Class;
use super::observation::{Observation, family};
use super::plan::{DELAY, Disturbance, Plan, Propagation, Skew};
use super::spec_plans::{self, Edits};
use super::world;
use crate::traffic::{Lag, Lateness, ReadAddress, ReadStrike, Strike, WebhookTrouble, WriteAddress};

/// What may happen to a write, the likeliest first.
const STRIKES: [Strike; 16] = [
    Strike::CrashAfter,
    Strike::CrashBefore,
    Strike::TakeOverBlind,
    Strike::TakeOver,
    Strike::LoseAnswer,
    Strike::Answer(409),
    Strike::Answer(500),
    Strike::Unreachable,
    Strike::Answer(429),
    Strike::Answer(503),
    Strike::TimeOut,
    Strike::TimeOutAfter,
    Strike::Delay(DELAY),
    Strike::LateAnswer(DELAY),
    Strike::DropWatches,
    Strike::ExpireWatches,
];

/// What may happen to a read from the server.
const READ_STRIKES: [ReadStrike; 3] = [ReadStrike::Fail, ReadStrike::TimeOut, ReadStrike::Delay(DELAY)];
/// Of reads of one resource in a step, so many are disturbed.
const MOST_READS: u64 = 3;

/// The plans for a step, from a run in which the manager was started before it. Writes that changed nothing are left alone.
pub(super) fn plans(step: usize, name: &str, run: &Observation, known: &mut BTreeSet<String>) -> Vec<Plan> {
    let plan = |disturbance| Plan::new(disturbance, name);
    let writes = run.writes.iter().filter(|write| write.step == step && write.effective);
    let mut plans = Vec::new();
    // Whoever writes what the webhooks of nobody judge is refused.
    if !run.has_webhooks {
        plans.push(plan(Disturbance::Down));
    }
    if run.calls_webhooks_before_writes(step) {
        plans.push(plan(Disturbance::WebhooksDown));
    }
    let mut rights = BTreeSet::new();
    for write in writes {
        for strike in STRIKES {
            plans.push(plan(Disturbance::Write(strike, write.address.clone())));
        }
        if run.calls_webhooks_after(write) {
            for trouble in [WebhookTrouble::Down, WebhookTrouble::Slow] {
                plans.push(plan(Disturbance::Write(
                    Strike::Webhooks(trouble),
                    write.address.clone(),
                )));
            }
        }
        for propagation in Propagation::ALL {
            // Without dependents, nothing goes that a later write could miss: once is enough.
            if propagation != Propagation::Orphan || rights.is_empty() {
                plans.push(plan(Disturbance::DeleteOwners(propagation, write.address.clone())));
            }
        }
        rights.insert(write.address.right());
    }
    for ((_, right), count) in run.reads_in_steps.iter().filter(|((at, _), _)| *at == step) {
        for nth in 1..=MOST_READS.min(*count) {
            let right = right.clone();
            let address = ReadAddress { right, nth };
            plans.extend(READ_STRIKES.map(|strike| plan(Disturbance::Read(strike, address.clone()))));
        }
    }
    let reads = run.reads.keys().filter(|(at, _)| *at == step);
    rights.extend(reads.map(|(_, right)| right.clone()));
    plans.extend(rights.into_iter().map(|right| plan(Disturbance::Forbid(right))));
    plans.extend(Skew::ALL.into_iter().map(|skew| plan(Disturbance::Clock(skew))));
    plans.extend(
        lags(step, run)
            .into_iter()
            .map(|(lag, at)| plan(Disturbance::Late(lag, at))),
    );
    let Some(boundary) = run.after(step) else {
        return plans;
    };
    for owner in &boundary.owners {
        if known.insert(format!("recreate {owner}")) {
            plans.push(plan(Disturbance::Recreate(owner.clone())));
        }
    }
    for given in &boundary.given {
        if known.insert(format!("hold {given}")) {
            plans.push(plan(Disturbance::Hold(given.clone())));
        }
    }
    for node in world::nodes_with_new_pods(&boundary.cluster) {
        if known.insert(format!("fail {node}")) {
            plans.push(plan(Disturbance::FailNode(node.clone())));
            plans.push(plan(Disturbance::LoseNode(node)));
        }
    }
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

/// The edits of what a step made, and what is left out.
pub(super) fn edits(
    step: usize,
    name: &str,
    run: &Observation,
    seed: u64,
    known: &mut BTreeSet<String>,
) -> (Vec<Plan>, Edits) {
    let Some(boundary) = run.after(step) else {
        return (Vec::new(), Edits::default());
    };
    let mut all = spec_plans::edits(boundary, seed, |object| known.insert(format!("edits of {object}")));
    let edits = std::mem::take(&mut all.found).into_iter();
    let plans = edits.map(|edit| Plan::new(Disturbance::Spec(edit), name)).collect();
    (plans, all)
}

/// What may come late in a step, and from where on. Of places between which nothing happens that could be late, one is enough.
fn lags(step: usize, run: &Observation) -> Vec<(Lag, Option<WriteAddress>)> {
    let changes = run.changes_in(step);
    let mut lags = Vec::new();
    for resource in &run.watched {
        let revisions: Vec<u64> = changes
            .iter()
            .filter(|change| change.name.resource == *resource)
            .map(|change| change.revision)
            .collect();
        if revisions.is_empty() {
            continue;
        }
        let lag = |lateness| Lag {
            resource: resource.clone(),
            lateness,
        };
        lags.push((lag(Lateness::Long), None));
        lags.push((lag(Lateness::Missed), None));
        if revisions.len() > 1 {
            lags.push((lag(Lateness::ByOne), None));
        }
        let mut tried = 0;
        let writes = run.writes.iter().filter(|write| write.step == step && write.effective);
        for write in writes {
            let before = revisions.partition_point(|revision| *revision <= write.revision);
            if before > tried && before < revisions.len() {
                tried = before;
                lags.push((lag(Lateness::Long), Some(write.address.clone())));
                lags.push((lag(Lateness::Missed), Some(write.address.clone())));
            }
        }
    }
    lags
}

/// Only plans of these classes, in the order of the classes.
pub(super) fn of_classes(mut plans: Vec<Plan>, classes: &[Class]) -> Vec<Plan> {
    plans.retain(|plan| classes.contains(&plan.class()));
    plans.sort_by_key(Plan::class);
    plans
}

/// What happens first in a pair, and what after it.
const PAIR_FIRST: [Strike; 3] = [Strike::CrashAfter, Strike::LoseAnswer, Strike::Answer(409)];
const PAIR_SECOND: [Strike; 3] = [Strike::CrashAfter, Strike::LoseAnswer, Strike::Answer(500)];

/// Two disturbances of a step: of a write and of one after it, or of the same write when it is made again. In an order that the seed
/// decides.
pub(super) fn pairs(step: usize, name: &str, run: &Observation, random: &Random) -> Vec<Plan> {
    let writes: Vec<&WriteAddress> = run
        .writes
        .iter()
        .filter(|write| write.step == step && write.effective)
        .map(|write| &write.address)
        .collect();
    let mut plans = Vec::new();
    for (at, first) in writes.iter().enumerate() {
        let again = WriteAddress {
            nth: first.nth + 1,
            ..(*first).clone()
        };
        let seconds = std::iter::once(&again).chain(writes[at + 1..].iter().copied());
        for second in seconds {
            for (strike, then) in PAIR_FIRST
                .iter()
                .flat_map(|first| PAIR_SECOND.iter().map(move |second| (first, second)))
            {
                let mut plan = Plan::new(Disturbance::Write(*strike, (*first).clone()), name);
                plan.second = Some((*then, second.clone()));
                plans.push(plan);
            }
        }
    }
    let mut keyed: Vec<(String, Plan)> = plans.into_iter().map(|plan| (random.uuid(), plan)).collect();
    keyed.sort_by(|one, other| one.0.cmp(&other.0));
    keyed.into_iter().map(|(_, plan)| plan).collect()
}
