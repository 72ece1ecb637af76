//! The table of behaviours: how many cases each has, and how many of them are equal to the real server.

use std::collections::BTreeSet;
use std::fmt;

use crate::kubectl;
use crate::replay::{Comparison, Outcome, Replayed};
use crate::scope;

/// The results of a replay, by behaviour.
pub struct Report<'a> {
    /// The replayed cases.
    pub cases: &'a Outcome,
    /// The replayed scripts of kubectl; empty without kubectl.
    pub kubectl: &'a [kubectl::Outcome],
}

#[derive(Default)]
struct Row {
    cases: usize,
    equal: usize,
    decided: usize,
}

impl Row {
    fn of<'a>(cases: impl Iterator<Item = &'a Replayed>) -> Self {
        let mut row = Self::default();
        for case in cases {
            row.cases += 1;
            match case.comparison {
                Comparison::Equal => row.equal += 1,
                Comparison::Decided(_) => row.decided += 1,
                Comparison::Different { .. } | Comparison::Unrecorded(_) => {}
            }
        }
        row
    }
}

impl Report<'_> {
    /// Writes the behaviours that scripts of kubectl cover, with the number of commands.
    fn commands(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kubectl.is_empty() {
            return write!(f, "KUBECTL is not set: the scripts of kubectl were not replayed");
        }
        writeln!(f, "\n| id | kubectl commands | equal |")?;
        writeln!(f, "|---|---:|---:|")?;
        let ids: BTreeSet<_> = self.kubectl.iter().flat_map(|script| &script.covers).collect();
        for id in ids {
            let (commands, equal) = counted(self.kubectl.iter().filter(|script| script.covers.contains(id)));
            writeln!(f, "| {id} | {commands} | {equal} |")?;
        }
        let (commands, equal) = counted(self.kubectl.iter());
        write!(f, "{commands} commands of kubectl, {equal} equal")
    }
}

fn counted<'a>(scripts: impl Iterator<Item = &'a kubectl::Outcome>) -> (usize, usize) {
    scripts.fold((0, 0), |(commands, equal), script| {
        (
            commands + script.commands,
            equal + script.commands - script.differences.len() - script.decided,
        )
    })
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ids = scope::of_cases();
        let covered: BTreeSet<_> = self.cases.cases.iter().flat_map(|case| &case.covers).collect();
        ids.extend(
            covered
                .into_iter()
                .filter(|id| !scope::of_cases().contains(id))
                .cloned()
                .collect::<Vec<_>>(),
        );
        writeln!(f, "| id | cases | equal | by decision | different |")?;
        writeln!(f, "|---|---:|---:|---:|---:|")?;
        for id in &ids {
            let row = Row::of(self.cases.cases.iter().filter(|case| case.covers.contains(id)));
            let different = row.cases - row.equal - row.decided;
            writeln!(
                f,
                "| {id} | {} | {} | {} | {different} |",
                row.cases, row.equal, row.decided
            )?;
        }
        let all = Row::of(self.cases.cases.iter());
        if all.decided > 0 {
            writeln!(f, "{} differ by decision (differences.yaml)", all.decided)?;
        }
        writeln!(f, "{} cases, {} equal", all.cases, all.equal)?;
        self.commands(f)
    }
}
