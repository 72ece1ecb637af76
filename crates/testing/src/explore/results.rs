//! What is kept of many runs: no more than what is told of them in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;

use super::compare::Difference;
use super::observation::Observation;
use super::plan::Plan;
use super::story;
use super::story_event::StoryEvent;
use super::tried::Outcome;

/// What is kept of a run.
pub(super) struct RunResult {
    pub(super) outcome: Outcome,
    pub(super) differences: Vec<Difference>,
    /// The names of accepted problems that it has shown.
    pub(super) tolerated: BTreeSet<String>,
    /// What happened, if an earlier plan does not tell it.
    pub(super) story: Arc<[StoryEvent]>,
}

/// What came of plans, by their numbers. Several threads add to it.
#[derive(Default)]
pub(super) struct Results(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    runs: BTreeMap<usize, RunResult>,
    /// The first plan that shows a difference, by the difference's name.
    first: BTreeMap<String, usize>,
}

impl Results {
    /// Keeps a run. Its trace is told now or never: those of all runs together are too large.
    pub(super) fn add(
        &self,
        (at, plan): (usize, &Plan),
        run: &Observation,
        differences: Vec<Difference>,
        step_names: &[String],
    ) {
        let is_told = self.0.lock().is_first(at, &differences);
        let story = if is_told {
            story::events(run, step_names, Some(plan)).into()
        } else {
            Arc::default()
        };
        let result = RunResult {
            outcome: Outcome::of(run, &differences),
            differences,
            tolerated: run.tolerated.clone(),
            story,
        };
        self.0.lock().runs.insert(at, result);
    }

    pub(super) fn into_inner(self) -> BTreeMap<usize, RunResult> {
        self.0.into_inner().runs
    }
}

impl Kept {
    /// Whether no plan with a smaller number has shown all of these.
    fn is_first(&mut self, at: usize, differences: &[Difference]) -> bool {
        let mut is_first = false;
        for difference in differences {
            let first = self.first.entry(difference.name.clone()).or_insert(usize::MAX);
            if at < *first {
                *first = at;
                is_first = true;
            }
        }
        is_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_plan_of_each_difference_is_told_in_whatever_order_they_end() {
        let of = |names: &[&str]| -> Vec<Difference> {
            names.iter().map(|name| Difference::new(0, *name, Vec::new())).collect()
        };
        let mut kept = Kept::default();
        assert!(kept.is_first(5, &of(&["a"])));
        assert!(!kept.is_first(6, &of(&["a"])));
        assert!(kept.is_first(3, &of(&["a"])));
        assert!(kept.is_first(7, &of(&["a", "b"])));
        assert!(!kept.is_first(8, &of(&["a", "b"])));
        assert!(!kept.is_first(1, &[]));
    }
}
