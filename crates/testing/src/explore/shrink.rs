//! The smallest plan that shows a difference: the fewest steps.

use super::plan::{Disturbance, Plan};
use super::scenario::Scenario;
use super::search::{Finding, References};
use super::spec_plans;
use super::story;

/// How many runs are spent on one finding.
const MOST_TRIES: usize = 8;

/// Leaves out steps as long as the difference stays. Steps that the others need make the reference fail, and stay.
pub(super) fn shrink(scenario: &Scenario, finding: &mut Finding) {
    let Some(mut plan) = finding.plan.clone() else { return };
    let all: Vec<String> = scenario.steps.iter().map(|step| step.name.clone()).collect();
    // What comes after the step in which it shows is not needed.
    let mut steps: Vec<String> = all.iter().take(finding.difference.step + 1).cloned().collect();
    let mut tries = 0;
    if steps.len() == all.len() || !attempt(scenario, finding, &plan, &steps) {
        steps.clone_from(&all);
    }
    let mut at = 0;
    while at < steps.len() && tries < MOST_TRIES {
        if steps[at] != plan.step {
            let mut fewer = steps.clone();
            fewer.remove(at);
            tries += 1;
            if attempt(scenario, finding, &plan, &fewer) {
                steps = fewer;
                continue;
            }
        }
        at += 1;
    }
    while let Some(smaller) = with_fewer_changes(scenario, finding, &plan, &steps) {
        plan = smaller;
    }
}

/// The plan with a change fewer that shows the same, if there is one.
fn with_fewer_changes(scenario: &Scenario, finding: &mut Finding, plan: &Plan, steps: &[String]) -> Option<Plan> {
    let Disturbance::Spec(edit) = &plan.disturbance else {
        return None;
    };
    let smaller = spec_plans::smaller(edit).into_iter().map(|edit| Plan {
        disturbance: Disturbance::Spec(edit),
        ..plan.clone()
    });
    let mut smaller = smaller.collect::<Vec<_>>().into_iter();
    smaller.find(|plan| attempt(scenario, finding, plan, steps))
}

/// Whether the finding shows with these steps alone; then it becomes that.
fn attempt(scenario: &Scenario, finding: &mut Finding, plan: &Plan, steps: &[String]) -> bool {
    let smaller = scenario.with_steps(steps);
    let references = References::of(&smaller, |step| {
        step == plan.step && plan.disturbance != Disturbance::Restart
    });
    if !references.whole.problems.is_empty() {
        return false;
    }
    let Some((run, differences)) = references.try_plan(&smaller, plan) else {
        return false;
    };
    let Some(same) = differences
        .into_iter()
        .find(|difference| difference.name == finding.difference.name)
    else {
        return false;
    };
    // Numbers of steps are those of the whole scenario.
    let number = |step: usize| {
        smaller
            .steps
            .get(step)
            .and_then(|step| scenario.position(&step.name))
            .unwrap_or(step)
    };
    let names: Vec<String> = smaller.steps.iter().map(|step| step.name.clone()).collect();
    finding.story = story::lines(&run, &names, Some(plan)).into();
    finding.difference = same;
    finding.difference.step = number(finding.difference.step);
    let mut plan = plan.clone();
    plan.steps = Some(steps.to_vec());
    finding.plan = Some(plan);
    true
}
