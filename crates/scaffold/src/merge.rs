//! A three-way merge by lines: applies the change between two generated texts to one that a user edited.

use std::ops::Range;

/// Both sides changed the same lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The lines that should have gone there.
    pub(crate) wanted: Vec<String>,
}

/// Applies the change from `base` to `ours` to `theirs`. Different changes of the same lines are a conflict.
pub(crate) fn merge(base: &str, ours: &str, theirs: &str) -> Result<String, Conflict> {
    if theirs == base {
        return Ok(ours.to_owned());
    }
    if ours == base || ours == theirs {
        return Ok(theirs.to_owned());
    }
    let (base, ours, theirs) = (lines(base), lines(ours), lines(theirs));
    let (our_hunks, their_hunks) = (hunks(&base, &ours), hunks(&base, &theirs));
    let mut out: Vec<&str> = Vec::new();
    let (mut at, mut their_next) = (0, 0);
    for hunk in &our_hunks {
        while let Some(their) = their_hunks.get(their_next).filter(|their| their.is_before(hunk)) {
            out.extend(&base[at..their.old.start]);
            out.extend(&theirs[their.new.clone()]);
            at = their.old.end;
            their_next += 1;
        }
        if let Some(their) = their_hunks.get(their_next).filter(|their| their.touches(hunk)) {
            if their.old == hunk.old && theirs[their.new.clone()] == ours[hunk.new.clone()] {
                // Both made this change; it is taken with theirs.
                continue;
            }
            let wanted = ours[hunk.new.clone()].iter().map(|line| line.trim_end().to_owned());
            return Err(Conflict {
                wanted: wanted.collect(),
            });
        }
        out.extend(&base[at..hunk.old.start]);
        out.extend(&ours[hunk.new.clone()]);
        at = hunk.old.end;
    }
    for their in &their_hunks[their_next..] {
        out.extend(&base[at..their.old.start]);
        out.extend(&theirs[their.new.clone()]);
        at = their.old.end;
    }
    out.extend(&base[at..]);
    Ok(out.concat())
}

/// Lines of the old text and what replaced them.
#[derive(Debug)]
struct Hunk {
    old: Range<usize>,
    new: Range<usize>,
}

impl Hunk {
    /// Whether it ends before the other begins. Two insertions at one place are not before each other.
    fn is_before(&self, other: &Self) -> bool {
        self.old.end <= other.old.start && !self.touches(other)
    }

    fn touches(&self, other: &Self) -> bool {
        if self.old.is_empty() && other.old.is_empty() {
            return self.old.start == other.old.start;
        }
        self.old.start < other.old.end && other.old.start < self.old.end
            || self.old.is_empty() && (other.old.start < self.old.start && self.old.start < other.old.end)
            || other.old.is_empty() && (self.old.start < other.old.start && other.old.start < self.old.end)
    }
}

/// Lines with their ends, so that a missing last one is kept missing.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// What changed from one list of lines to another, by their longest common subsequence.
fn hunks(old: &[&str], new: &[&str]) -> Vec<Hunk> {
    let mut lengths = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i][j] = if old[i] == new[j] {
                lengths[i + 1][j + 1] + 1
            } else {
                lengths[i + 1][j].max(lengths[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut found: Vec<Hunk> = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let (from_i, from_j) = (i, j);
        while (i < old.len() || j < new.len()) && !(i < old.len() && j < new.len() && old[i] == new[j]) {
            if j == new.len() || i < old.len() && lengths[i + 1][j] >= lengths[i][j + 1] {
                i += 1;
            } else {
                j += 1;
            }
        }
        found.push(Hunk {
            old: from_i..i,
            new: from_j..j,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "a\nb\nc\nd\ne\n";

    #[test]
    fn changes_in_different_places_both_stay() {
        let merged = merge(BASE, "a\nb\nB2\nc\nd\ne\n", "A\nb\nc\nd\ne\nf\n");
        assert_eq!(merged.unwrap(), "A\nb\nB2\nc\nd\ne\nf\n");
    }

    #[test]
    fn lines_that_went_stay_gone_and_theirs_stay() {
        assert_eq!(
            merge(BASE, "a\nb\nd\ne\n", "a\nb\nc\nd\ne\nmine\n").unwrap(),
            "a\nb\nd\ne\nmine\n"
        );
        assert_eq!(merge(BASE, "", "a\nb\nc\nd\ne\nmine\n").unwrap(), "mine\n");
    }

    #[test]
    fn the_same_change_made_twice_is_made_once() {
        let changed = "a\nb\nB2\nc\nd\ne\n";
        assert_eq!(merge(BASE, changed, changed).unwrap(), changed);
        assert_eq!(
            merge(BASE, changed, "a\nb\nB2\nc\nd\nE\n").unwrap(),
            "a\nb\nB2\nc\nd\nE\n"
        );
    }

    #[test]
    fn the_same_lines_changed_twice_are_a_conflict_with_the_lines_wanted() {
        let conflict = merge(BASE, "a\nb\nours\nd\ne\n", "a\nb\ntheirs\nd\ne\n").unwrap_err();
        assert_eq!(conflict.wanted, ["ours"]);
        assert!(merge(BASE, "a\nb\nx\nc\nd\ne\n", "a\nb\ny\nc\nd\ne\n").is_err());
    }

    #[test]
    fn a_missing_last_line_end_is_kept() {
        assert_eq!(merge("a\nb\nc", "a\nx\nb\nc", "a\nb\nc\n").unwrap(), "a\nx\nb\nc\n");
        assert_eq!(merge("a\nb\nc\n", "x\na\nb\nc\n", "a\nb\nc").unwrap(), "x\na\nb\nc");
    }
}
