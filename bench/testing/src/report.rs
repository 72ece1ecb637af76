//! Rounds as a table.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Deserialize;

/// The seconds that each part of a round took.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Round {
    /// The time until the manager's caches are filled.
    pub(crate) start: f64,
    /// The time from creating an object to seeing its child.
    pub(crate) reconcile: f64,
    /// The time until everything is stopped.
    pub(crate) stop: f64,
    /// How many bytes of memory the processes of the control plane had before that, if it has some of its own.
    #[serde(default)]
    pub(crate) memory: Option<f64>,
    /// The same, but what they share counts once.
    #[serde(default)]
    pub(crate) proportional: Option<f64>,
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

/// An implementation and its measured rounds.
pub(crate) struct Peer {
    /// Its name in the table.
    pub(crate) name: &'static str,
    pub(crate) rounds: Vec<Round>,
    /// How many rounds ran at once, and how long they took.
    pub(crate) parallel: Option<(usize, Duration)>,
    /// How many times faster than envtest it has to be: to start, to stop, and in total.
    pub(crate) goal: f64,
}

/// The goal of test environments in the test's own process.
pub(crate) const IN_PROCESS: f64 = 100.0;
/// The goal of the drop-in, whose time is mostly that between envtest's questions; also for its memory.
pub(crate) const DROP_IN: f64 = 10.0;
const COLUMNS: [&str; 4] = ["start", "reconcile", "stop", "all"];
/// The columns that the goal covers. The time of a reconcile is the operator's own.
const MEASURED: [usize; 3] = [0, 2, 3];

/// The peers as a table. Ours are compared with envtest, if that was measured.
pub(crate) fn table(envtest: Option<&Peer>, ours: &[Peer]) -> String {
    let mut text = String::new();
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let _ = writeln!(
        text,
        "a test environment with an operator in it; ours built for {profile}\n"
    );
    let _ = write!(text, "{:36}", "");
    for column in COLUMNS {
        let _ = write!(text, " {column:>12}");
    }
    text.push('\n');
    for peer in envtest.into_iter().chain(ours) {
        let (name, count) = (peer.name, peer.rounds.len().saturating_sub(1));
        let first = peer.rounds.first().map(|round| round.times());
        row(&mut text, &format!("{name}, first round"), first);
        row(&mut text, &format!("{name}, median of {count}"), median(&peer.rounds));
    }
    if let Some(base) = envtest.and_then(|peer| median(&peer.rounds)) {
        text.push('\n');
        for peer in ours {
            let Some(own) = median(&peer.rounds) else { continue };
            ratios(&mut text, peer, base, own);
        }
    }
    memory(&mut text, envtest, ours);
    for peer in ours {
        if let Some((count, took)) = peer.parallel {
            let each = took.as_secs_f64() * 1e3 / count as f64;
            let _ = writeln!(
                text,
                "\nparallel: {count} environments ({}) started and reconciled in {:.0} ms ({each:.1} ms each)",
                peer.name,
                took.as_secs_f64() * 1e3
            );
        }
    }
    text
}

fn row(text: &mut String, name: &str, times: Option<[f64; 4]>) {
    let Some(times) = times else { return };
    let _ = write!(text, "{name:36}");
    for time in times {
        let _ = write!(text, " {:>9.2} ms", time * 1e3);
    }
    text.push('\n');
}

/// How many times faster each column is, and whether that is enough.
fn ratios(text: &mut String, peer: &Peer, base: [f64; 4], own: [f64; 4]) {
    let (name, goal) = (peer.name, peer.goal);
    let ratio = |at: usize| base[at] / own[at].max(1e-9);
    let _ = write!(text, "{:36}", format!("envtest / {name}"));
    for at in 0..COLUMNS.len() {
        let _ = write!(text, " {:>11.0}x", ratio(at));
    }
    let missed: Vec<_> = MEASURED
        .into_iter()
        .filter(|at| ratio(*at) < goal)
        .map(|at| COLUMNS[at])
        .collect();
    let verdict = if missed.is_empty() {
        "met".to_owned()
    } else {
        format!("missed by {}", missed.join(", "))
    };
    let _ = writeln!(
        text,
        "\n  goal: start, stop and all at least {goal:.0}x faster: {verdict}"
    );
}

/// The memory of the processes of control planes.
fn memory(text: &mut String, envtest: Option<&Peer>, ours: &[Peer]) {
    let resident = |peer: &Peer| median_of(&peer.rounds, |round| round.memory);
    let base = envtest.and_then(resident);
    for peer in envtest.into_iter().chain(ours) {
        let Some(own) = resident(peer) else {
            continue;
        };
        let _ = write!(text, "\nmemory: {} has {:.1} MB", peer.name, own / 1e6);
        if let Some(proportional) = median_of(&peer.rounds, |round| round.proportional) {
            let _ = write!(text, " ({:.1} MB if what they share counts once)", proportional / 1e6);
        }
        if let Some(base) = base.filter(|_| peer.name != "envtest") {
            let ratio = base / own.max(1.0);
            let verdict = if ratio < peer.goal { "missed" } else { "met" };
            let _ = write!(
                text,
                ", {ratio:.1}x less than envtest; goal: at least {:.0}x less: {verdict}",
                peer.goal
            );
        }
        text.push('\n');
    }
}

fn median_of(rounds: &[Round], value: impl Fn(&Round) -> Option<f64>) -> Option<f64> {
    let mut values: Vec<f64> = rounds.iter().filter_map(value).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The median of all rounds but the first, which builds what the others share. If there is only one round, its figures.
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

    fn peer(name: &'static str, starts: &[f64], stop: f64) -> Peer {
        let round = |start: &f64| Round {
            start: *start,
            reconcile: 0.01,
            stop,
            memory: None,
            proportional: None,
        };
        Peer {
            name,
            rounds: starts.iter().map(round).collect(),
            parallel: None,
            goal: IN_PROCESS,
        }
    }

    #[test]
    fn the_memory_of_a_drop_in_is_compared_with_that_of_the_real_pair() {
        let with = |name, memory| {
            let mut peer = peer(name, &[1.0, 1.0], 1.0);
            peer.goal = DROP_IN;
            for round in &mut peer.rounds {
                round.memory = Some(memory);
                round.proportional = (name == "drop-in").then_some(memory / 2.0);
            }
            peer
        };
        let text = table(
            Some(&with("envtest", 300e6)),
            &[with("drop-in", 25e6), with("heavy", 100e6)],
        );
        assert!(text.contains("memory: envtest has 300.0 MB\n"), "{text}");
        assert!(
            text.contains("drop-in has 25.0 MB (12.5 MB if what they share counts once), 12.0x less than envtest; goal: at least 10x less: met"),
            "{text}"
        );
        assert!(
            text.contains("heavy has 100.0 MB, 3.0x less than envtest; goal: at least 10x less: missed"),
            "{text}"
        );
    }

    #[test]
    fn the_table_has_medians_ratios_and_the_goal() {
        let envtest = peer("envtest", &[9.0, 4.0, 3.0, 5.0], 20.0);
        let fast = Peer {
            parallel: Some((100, Duration::from_secs(1))),
            ..peer("ours", &[0.5, 0.01], 0.001)
        };
        let slow = peer("ours, slow", &[0.5, 0.1], 0.001);
        let text = table(Some(&envtest), &[fast, slow]);
        assert!(text.contains("envtest, median of 3"), "{text}");
        assert!(text.contains("4000.00 ms"), "{text}");
        assert!(text.contains("at least 100x faster: met\n"), "{text}");
        assert!(text.contains("at least 100x faster: missed by start\n"), "{text}");
        assert!(text.contains("(10.0 ms each)"), "{text}");
    }

    #[test]
    fn without_envtest_there_is_nothing_to_compare_with() {
        let text = table(None, &[peer("ours", &[0.5, 0.01], 0.001)]);
        assert!(text.contains("ours, median of 1") && !text.contains("goal"), "{text}");
    }
}
