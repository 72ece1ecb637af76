//! Whether a plan shows the same each time: what it does not may be the operator's own chance, and no answer to the plan.

use super::plan::Plan;
use super::repeat;
use super::scenario::Scenario;
use super::search::{Finding, References};

/// Runs the plan of a finding twice more, and notes where the two part, or that one does not show it.
pub(super) fn check(scenario: &Scenario, references: &References, finding: &mut Finding) {
    let Some(plan) = &finding.plan else { return };
    let name = &finding.difference.name;
    finding.parted = parted(scenario, references, plan, name);
}

fn parted(scenario: &Scenario, references: &References, plan: &Plan, difference: &str) -> Option<Vec<String>> {
    let (one, _) = references.try_plan(scenario, plan)?;
    let (other, differences) = references.try_plan(scenario, plan)?;
    let is_shown = differences.iter().any(|found| found.name == difference);
    repeat::parted(&one, &other)
        .or_else(|| (!is_shown).then(|| vec!["another run of the same plan does not show the difference".to_owned()]))
}
