//! Rounds as a table.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Deserialize;

/// What a round took, in seconds.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Round {
    /// Until the manager's caches are filled.
    pub(crate) start: f64,
    /// From creating an object to seeing its child.
    pub(crate) reconcile: f64,
    /// Until nothing runs any more.
    pub(crate) stop: f64,
}

impl Round {
    fn times(self) -> [f64; 4] {
        [
            self.start,
            self.reconcile,
            self.stop,
            self.start + self.reconcile + self.stop,
        ]
    }
}

/// Test start-up has to be so many times faster than envtest's.
const GOAL: f64 = 100.0;

pub(crate) fn table(envtest: Option<&[Round]>, ours: Option<&[Round]>, parallel: Option<(usize, Duration)>) -> String {
    let mut text = String::new();
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let _ = writeln!(
        text,
        "a test environment with an operator in it; ours built for {profile}\n"
    );
    let _ = writeln!(
        text,
        "{:24} {:>12} {:>12} {:>12} {:>12}",
        "", "start", "reconcile", "stop", "all"
    );
    for (name, rounds) in [("envtest", envtest), ("ours", ours)] {
        let Some(rounds) = rounds else { continue };
        row(
            &mut text,
            &format!("{name}, first round"),
            rounds.first().map(|round| round.times()),
        );
        row(
            &mut text,
            &format!("{name}, median of {}", rounds.len().saturating_sub(1)),
            median(rounds),
        );
    }
    if let (Some(envtest), Some(ours)) = (envtest.and_then(median), ours.and_then(median)) {
        let ratios = [0, 1, 2, 3].map(|at| envtest[at] / ours[at].max(1e-9));
        let _ = write!(text, "{:24}", "ratio");
        for ratio in ratios {
            let _ = write!(text, " {ratio:>11.0}x");
        }
        let met = if ratios[0] >= GOAL { "met" } else { "missed" };
        let _ = writeln!(text, "\n\ngoal: start at least {GOAL:.0}x faster: {met}");
    }
    if let Some((count, took)) = parallel {
        let each = took.as_secs_f64() * 1e3 / count as f64;
        let _ = writeln!(
            text,
            "\nparallel: {count} environments started and reconciled in {:.0} ms ({each:.1} ms each)",
            took.as_secs_f64() * 1e3
        );
    }
    text
}

fn row(text: &mut String, name: &str, times: Option<[f64; 4]>) {
    let Some(times) = times else { return };
    let _ = write!(text, "{name:24}");
    for time in times {
        let _ = write!(text, " {:>9.2} ms", time * 1e3);
    }
    text.push('\n');
}

/// Of all rounds but the first, which pays for what the others share; of that one, if it is alone.
fn median(rounds: &[Round]) -> Option<[f64; 4]> {
    let rest = if rounds.len() > 1 { &rounds[1..] } else { rounds };
    if rest.is_empty() {
        return None;
    }
    let column = |at: usize| {
        let mut values: Vec<f64> = rest.iter().map(|round| round.times()[at]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Some([0, 1, 2, 3].map(column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_medians_ratios_and_the_goal() {
        let round = |start: f64| Round {
            start,
            reconcile: 0.1,
            stop: 0.2,
        };
        let envtest = [round(9.0), round(4.0), round(3.0), round(5.0)];
        let ours = [round(0.5), round(0.01)];
        let text = table(Some(&envtest), Some(&ours), Some((100, Duration::from_secs(1))));
        assert!(text.contains("envtest, median of 3"), "{text}");
        assert!(text.contains("4000.00 ms"), "{text}");
        assert!(text.contains("goal: start at least 100x faster: met"), "{text}");
        assert!(text.contains("(10.0 ms each)"), "{text}");
    }
}
