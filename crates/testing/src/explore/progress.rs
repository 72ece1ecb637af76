//! What is told while an exploration runs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::class::Class;

/// How often the progress is told.
const TELL: Duration = Duration::from_secs(2);

/// Counts runs, and tells of them now and then on stderr.
pub(super) struct Progress {
    plans: usize,
    began: Instant,
    state: Mutex<State>,
}

struct State {
    told: Instant,
    runs: BTreeMap<Class, usize>,
    differences: usize,
}

impl Progress {
    pub(super) fn new(plans: usize) -> Self {
        let now = Instant::now();
        Progress {
            plans,
            began: now,
            state: Mutex::new(State {
                told: now,
                runs: BTreeMap::new(),
                differences: 0,
            }),
        }
    }

    /// A run has ended.
    pub(super) fn ran(&self, class: Class, is_different: bool) {
        let mut state = self.state.lock();
        *state.runs.entry(class).or_default() += 1;
        state.differences += usize::from(is_different);
        if state.told.elapsed() >= TELL {
            state.told = Instant::now();
            eprintln!("{}", state.line(self.plans, self.began.elapsed()));
        }
    }
}

impl State {
    fn line(&self, plans: usize, elapsed: Duration) -> String {
        let runs: usize = self.runs.values().sum();
        let classes: Vec<String> = self
            .runs
            .iter()
            .map(|(class, count)| format!("{count} {class}"))
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "a rate to be read")]
        let rate = runs as f64 / elapsed.as_secs_f64().max(0.001);
        format!(
            "explore: {runs} of {plans} runs, {rate:.1} a second ({}); {} with a difference",
            classes.join(", "),
            self.differences
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_runs_a_second_faults_by_class_and_differences() {
        let state = State {
            told: Instant::now(),
            runs: BTreeMap::from([(Class::Restart, 2), (Class::Crash, 8)]),
            differences: 1,
        };
        assert_eq!(
            state.line(40, Duration::from_secs(4)),
            "explore: 10 of 40 runs, 2.5 a second (2 restart, 8 crash); 1 with a difference"
        );
    }
}
