//! The smallest plan that shows a difference: the fewest steps, and the fewest disturbances or changes.

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
    while let Some(smaller) = smaller(&plan)
        .into_iter()
        .find(|smaller| attempt(scenario, finding, smaller, &steps))
    {
        plan = smaller;
    }
}

/// The plans with a change fewer, or with one of two disturbances.
fn smaller(plan: &Plan) -> Vec<Plan> {
    let with = |disturbance| Plan {
        disturbance,
        second: None,
        ..plan.clone()
    };
    match (&plan.disturbance, &plan.second) {
        (Disturbance::Spec(edit), _) => {
            let edits = spec_plans::smaller(edit).into_iter();
            edits.map(|edit| with(Disturbance::Spec(edit))).collect()
        }
        (first, Some((strike, address))) => {
            vec![with(first.clone()), with(Disturbance::Write(*strike, address.clone()))]
        }
        _ => Vec::new(),
    }
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
    finding.story = story::events(&run, &names, Some(plan)).into();
    finding.difference = same;
    finding.difference.step = number(finding.difference.step);
    let mut plan = plan.clone();
    plan.steps = Some(steps.to_vec());
    finding.plan = Some(plan);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_tried_with_each_of_its_two_alone() {
        let pair = "crash after create configmaps/x #1 and answer 500 to create configmaps/y #1 in step create";
        let smaller: Vec<String> = smaller(&pair.parse().unwrap())
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            smaller,
            [
                "crash after create configmaps/x #1 in step create",
                "answer 500 to create configmaps/y #1 in step create"
            ]
        );
        let one = "crash after create configmaps/x #1 in step create";
        assert!(super::smaller(&one.parse().unwrap()).is_empty());
    }
}
