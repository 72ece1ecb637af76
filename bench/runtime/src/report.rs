//! The figures of a run, as Markdown tables with ratios and goals.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::child::Peer;
use crate::goals::{Goal, GoalResult};
use crate::statistics::median;
use kubewright_bench_runtime::protocol::Figure;

/// A measured quantity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) goal: Goal,
}

struct Row {
    group: String,
    metric: Metric,
    /// One value per round.
    values: BTreeMap<Peer, Vec<f64>>,
}

impl Row {
    fn value(&self, peer: Peer) -> Option<f64> {
        self.values.get(&peer).and_then(|values| median(values))
    }
}

/// All figures, in the order in which they were first added.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Adds the figure of one round.
    pub(crate) fn note(&mut self, group: &str, metric: Metric, peer: Peer, value: f64) {
        let same = |row: &Row| row.group == group && row.metric.name == metric.name;
        let at = self.rows.iter().position(same).unwrap_or_else(|| {
            self.rows.push(Row {
                group: group.to_owned(),
                metric,
                values: BTreeMap::new(),
            });
            self.rows.len() - 1
        });
        self.rows[at].values.entry(peer).or_default().push(value);
    }

    /// The medians of all rounds; ratios are ours against controller-runtime.
    pub(crate) fn render(&self, peers: &[Peer]) -> String {
        let mut text = String::from("| |");
        for peer in peers {
            let _ = write!(text, " {} |", peer.name());
        }
        text.push_str(" ours : controller-runtime | goal | |\n|---|");
        text.push_str(&"---:|".repeat(peers.len() + 1));
        text.push_str("---|---|");
        let (mut met, mut judged) = (0, 0);
        let mut group = "";
        for row in &self.rows {
            if row.group != group {
                group = &row.group;
                let _ = write!(text, "\n| **{group}** |{}", " |".repeat(peers.len() + 3));
            }
            let _ = write!(text, "\n| {} |", row.metric.name);
            for &peer in peers {
                let value = row.value(peer);
                let shown = value.map_or_else(|| "–".to_owned(), |value| in_unit(value, row.metric.unit));
                let _ = write!(text, " {shown} |");
            }
            let (theirs, ours) = (row.value(Peer::ControllerRuntime), row.value(Peer::Ours));
            let result = row.metric.goal.result(theirs, ours);
            let _ = write!(text, " {} | {} |", ratio(theirs, ours), row.metric.goal.words());
            let word = match result {
                None => "",
                Some(GoalResult::Met) => "met",
                Some(GoalResult::Missed) => "**missed**",
                Some(GoalResult::Unknown) => "not compared",
            };
            met += usize::from(result == Some(GoalResult::Met));
            judged += usize::from(matches!(result, Some(GoalResult::Met | GoalResult::Missed)));
            let _ = write!(text, " {word} |");
        }
        let _ = write!(text, "\n\ngoals met: {met} of {judged}");
        text
    }
}

/// The trace may cost so much of what is measured, in percent.
const TRACE: f64 = 3.0;

impl Table {
    /// How much more of one quantity our peer takes with its trace on than off, by group.
    pub(crate) fn render_trace(&self, metric: &str) -> String {
        let mut text = format!("| {metric} | trace off | trace on | more | goal |\n|---|---:|---:|---:|---|");
        for row in self.rows.iter().filter(|row| row.metric.name == metric) {
            let Some((off, on)) = row.value(Peer::Ours).zip(row.value(Peer::OursTraced)) else {
                continue;
            };
            let more = (on / off - 1.0) * 100.0;
            let verdict = if more < TRACE { "met" } else { "**missed**" };
            let (off, on) = (in_unit(off, row.metric.unit), in_unit(on, row.metric.unit));
            let _ = write!(
                text,
                "\n| {} | {off} | {on} | {more:.1} % | under {TRACE} %: {verdict} |",
                row.group
            );
        }
        text
    }
}

/// The costs of single operations. We measure more operations than the Go program.
pub(crate) fn micro_table(theirs: &[Figure], ours: &[Figure]) -> String {
    let mut text = String::from(
        "| operation | controller-runtime | allocations | ours | allocations | operations/s |\n|---|---:|---:|---:|---:|---:|",
    );
    for figure in ours {
        let other = theirs.iter().find(|other| other.name == figure.name);
        let (time, allocations) = other.map_or_else(
            || ("–".to_owned(), "–".to_owned()),
            |other| (in_unit(other.nanoseconds, "ns"), format!("{:.1}", other.allocations)),
        );
        let _ = write!(
            text,
            "\n| {} | {time} | {allocations} | {}{} | {:.1} | {} |",
            figure.name,
            in_unit(figure.nanoseconds, "ns"),
            other.map_or_else(String::new, |other| format!(
                " (**{:.1}×**)",
                other.nanoseconds / figure.nanoseconds
            )),
            figure.allocations,
            number(1e9 / figure.nanoseconds),
        );
    }
    text
}

fn in_unit(value: f64, unit: &str) -> String {
    if unit.is_empty() {
        number(value)
    } else {
        format!("{} {unit}", number(value))
    }
}

fn ratio(theirs: Option<f64>, ours: Option<f64>) -> String {
    match theirs.zip(ours) {
        Some((theirs, ours)) if theirs != 0.0 => {
            let ratio = ours / theirs;
            if ratio >= 10.0 {
                format!("{ratio:.0}×")
            } else {
                format!("{ratio:.2}×")
            }
        }
        _ => "–".to_owned(),
    }
}

/// A number with three significant digits.
pub(crate) fn number(value: f64) -> String {
    match value {
        value if value >= 100.0 => {
            let digits = format!("{value:.0}");
            let mut grouped = String::new();
            for (at, digit) in digits.chars().enumerate() {
                if at > 0 && (digits.len() - at) % 3 == 0 {
                    grouped.push(' ');
                }
                grouped.push(digit);
            }
            grouped
        }
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 0.1 => format!("{value:.2}"),
        value if value > 0.0 => format!("{value:.4}"),
        _ => "0".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Metric = Metric {
        name: "objects per second",
        unit: "/s",
        goal: Goal::AtLeast(2.0),
    };

    #[test]
    fn a_table_tells_medians_ratios_and_whether_goals_were_met() {
        let mut table = Table::default();
        for value in [100.0, 900.0, 200.0] {
            table.note("no-op", RATE, Peer::ControllerRuntime, value);
        }
        table.note("no-op", RATE, Peer::Ours, 500.0);
        let text = table.render(&[Peer::ControllerRuntime, Peer::Ours]);
        let row = "| objects per second | 200 /s | 500 /s | 2.50× | ≥ 2× | met |";
        assert!(text.contains(row), "{text}");
        assert!(text.ends_with("goals met: 1 of 1"), "{text}");
    }

    #[test]
    fn what_the_trace_costs_is_told_of_each_group_that_has_both() {
        const CPU: Metric = Metric {
            name: "CPU",
            unit: "s",
            goal: Goal::None,
        };
        let mut table = Table::default();
        for (group, on) in [("cheap", 1.02), ("dear", 1.5)] {
            table.note(group, CPU, Peer::Ours, 1.0);
            table.note(group, CPU, Peer::OursTraced, on);
        }
        table.note("alone", CPU, Peer::Ours, 1.0);
        let text = table.render_trace("CPU");
        assert!(
            text.contains("\n| cheap | 1.00 s | 1.02 s | 2.0 % | under 3 %: met |"),
            "{text}"
        );
        assert!(
            text.ends_with("\n| dear | 1.00 s | 1.50 s | 50.0 % | under 3 %: **missed** |"),
            "{text}"
        );
    }

    #[test]
    fn who_did_not_run_has_no_figure_and_meets_no_goal() {
        let mut table = Table::default();
        table.note("no-op", RATE, Peer::Ours, 500.0);
        let text = table.render(&[Peer::ControllerRuntime, Peer::Ours]);
        assert!(text.contains("| – | 500 /s | – | ≥ 2× | not compared |"), "{text}");
        assert!(text.ends_with("goals met: 0 of 0"), "{text}");
    }

    #[test]
    fn numbers_have_three_figures_and_groups() {
        assert_eq!(number(12_345.6), "12 346");
        assert_eq!(number(43.21), "43.2");
        assert_eq!(number(0.5), "0.50");
        assert_eq!(number(0.0), "0");
    }
}
