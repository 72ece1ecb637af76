//! Runs in which users edit what a step made, and the runs that they are compared with: the step makes it so from the beginning.

use super::compare::{self, Difference};
use super::observation::Observation;
use super::plan::{Disturbance, Plan};
use super::run::RunRequest;
use super::scenario::Scenario;
use super::search::References;
use super::spec_edit::SpecEdit;

impl References {
    /// Runs an edit, and says how it differs from a run in which the object was created so.
    pub(super) fn try_edit(
        &self,
        scenario: &Scenario,
        plan: &Plan,
        edit: &SpecEdit,
        step: usize,
    ) -> Option<(Observation, Vec<Difference>)> {
        let restarted = self.restarted.get(&step)?;
        let from = self.whole.checkpoints.get(step).map(|checkpoint| (step, checkpoint));
        let run = |plan: &Plan, reference: Option<&Observation>| {
            let request = RunRequest {
                scenario,
                from,
                plan: Some(plan),
                reference,
                keep_checkpoints: false,
            };
            request.run()
        };
        let created_so = Plan {
            disturbance: Disturbance::CreatedSo(edit.clone()),
            ..plan.clone()
        };
        let created = (!edit.ends_as_it_was()).then(|| run(&created_so, None));
        let created = created.as_ref();
        let expected = created.map_or(Some(restarted), |created| {
            Some(created).filter(|run| is_measure(run, step))
        });
        let run = run(plan, expected);
        let measure = match run.refused_edit {
            // What the server refuses changes nothing. After other changes, what remains of a sequence has no measure.
            Some(0) if edit.changes.len() == 1 => Some(restarted),
            Some(_) if !edit.ends_as_it_was() => None,
            _ => expected,
        };
        let known = |problem: &Difference| {
            let runs = [Some(restarted), created].into_iter().flatten();
            runs.flat_map(|run| &run.problems)
                .any(|known| known.name == problem.name)
        };
        let mut differences: Vec<Difference> = run.problems.iter().filter(|problem| !known(problem)).cloned().collect();
        if let Some(measure) = measure.filter(|_| differences.is_empty()) {
            differences = compare::differences(measure, &run, &scenario.accepted);
        }
        Some((run, differences))
    }
}

/// Whether others can be measured by a run that created an object so: it was created, and the operator could do what it says.
/// Where the API refuses what the operator makes of it, an edit leaves what was made before, and a creation leaves nothing.
fn is_measure(run: &Observation, step: usize) -> bool {
    let is_refused = |code: u16| (400..500).contains(&code) && code != 404 && code != 409;
    let is_at_rest = run.after(step).is_some_and(|boundary| boundary.failing.is_empty());
    let mut codes = run.writes.iter().filter_map(|write| write.code);
    run.reached && run.problems.is_empty() && is_at_rest && !codes.any(is_refused)
}
