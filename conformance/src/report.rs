//! The table of behaviours: how many cases each has, and how many of them are equal to the real server.

use std::collections::BTreeSet;
use std::fmt;

use crate::replay::{Outcome, Replayed, Verdict};
use crate::scope;

/// A replay told by behaviour.
pub struct Report<'a>(pub &'a Outcome);

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
            match case.verdict {
                Verdict::Equal => row.equal += 1,
                Verdict::Decided(_) => row.decided += 1,
                Verdict::Different { .. } | Verdict::Unrecorded(_) => {}
            }
        }
        row
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ids = scope::ids();
        let covered: BTreeSet<_> = self.0.cases.iter().flat_map(|case| &case.covers).collect();
        ids.extend(
            covered
                .into_iter()
                .filter(|id| !scope::ids().contains(id))
                .cloned()
                .collect::<Vec<_>>(),
        );
        writeln!(f, "| id | cases | equal | by decision | different |")?;
        writeln!(f, "|---|---:|---:|---:|---:|")?;
        for id in &ids {
            let row = Row::of(self.0.cases.iter().filter(|case| case.covers.contains(id)));
            let different = row.cases - row.equal - row.decided;
            writeln!(
                f,
                "| {id} | {} | {} | {} | {different} |",
                row.cases, row.equal, row.decided
            )?;
        }
        let all = Row::of(self.0.cases.iter());
        if all.decided > 0 {
            writeln!(f, "{} differ by decision (differences.yaml)", all.decided)?;
        }
        write!(f, "{} cases, {} equal", all.cases, all.equal)
    }
}
