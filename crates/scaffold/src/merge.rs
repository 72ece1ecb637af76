//! A three-way merge by lines: applies the change between two generated texts to one that a user edited.

use std::ops::Range;

use crate::diff::{Hunk, hunks, lines};

/// Both sides changed the same lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The lines that should have gone there.
    pub(crate) wanted: Vec<String>,
}

/// Applies the change from `base` to `ours` to `theirs`. Different changes of the same lines are a conflict.
pub(crate) fn merge(base: &str, ours: &str, theirs: &str) -> Result<String, Conflict> {
    let mut out = String::new();
    for region in regions(&lines(base), &lines(ours), &lines(theirs)) {
        match region {
            Region::Agreed(lines) => out.extend(lines),
            Region::Conflict { ours, .. } => {
                let wanted = ours.iter().map(|line| line.trim_end().to_owned());
                return Err(Conflict {
                    wanted: wanted.collect(),
                });
            }
        }
    }
    Ok(out)
}

/// The same, where conflicting lines are both kept, between the marks that git writes; and how many such places there are.
pub(crate) fn merge_with_marks(base: &str, ours: &str, theirs: &str, marks: &ConflictMarks) -> (String, usize) {
    let mut out = String::new();
    let mut conflicts = 0;
    for region in regions(&lines(base), &lines(ours), &lines(theirs)) {
        match region {
            Region::Agreed(lines) => out.extend(lines),
            Region::Conflict { ours, theirs } => {
                conflicts += 1;
                let begin = format!("<<<<<<< {}", marks.theirs);
                let end = format!(">>>>>>> {}", marks.ours);
                for (mark, lines) in [(begin.as_str(), theirs), ("=======", ours), (&end, Vec::new())] {
                    if !out.is_empty() && !out.ends_with('\n') {
                        out.push('\n');
                    }
                    out.push_str(mark);
                    out.push('\n');
                    out.extend(lines);
                }
            }
        }
    }
    (out, conflicts)
}

/// What the sides of a conflict are called.
pub(crate) struct ConflictMarks {
    /// The side that is applied.
    pub(crate) ours: String,
    /// The side that a user edited.
    pub(crate) theirs: String,
}

/// A part of a merged text.
enum Region<'a> {
    /// At most one side changed it, or both in the same way.
    Agreed(Vec<&'a str>),
    /// Both changed it, each in its own way.
    Conflict { ours: Vec<&'a str>, theirs: Vec<&'a str> },
}

/// The parts of a merged text in their order.
fn regions<'a>(base: &[&'a str], ours: &[&'a str], theirs: &[&'a str]) -> Vec<Region<'a>> {
    let (our_hunks, their_hunks) = (hunks(base, ours), hunks(base, theirs));
    let mut all: Vec<&Hunk> = our_hunks.iter().chain(&their_hunks).collect();
    all.sort_by_key(|hunk| (hunk.old.start, hunk.old.end));
    let mut found = Vec::new();
    let (mut at, mut next) = (0, 0);
    while let Some(first) = all.get(next) {
        // All changes that touch one another are one.
        let mut end = next + 1;
        while all
            .get(end)
            .is_some_and(|hunk| all[next..end].iter().any(|other| other.touches(hunk)))
        {
            end += 1;
        }
        let last = all[next..end].iter().map(|hunk| hunk.old.end).max().unwrap_or_default();
        let range = first.old.start..last;
        let is_in = |hunk: &&Hunk| all[next..end].iter().any(|one| std::ptr::eq(*one, *hunk));
        let of_ours: Vec<&Hunk> = our_hunks.iter().filter(is_in).collect();
        let of_theirs: Vec<&Hunk> = their_hunks.iter().filter(is_in).collect();
        found.push(Region::Agreed(base[at..range.start].to_vec()));
        let our_lines = changed(base, ours, &range, &of_ours);
        let their_lines = changed(base, theirs, &range, &of_theirs);
        found.push(match (of_ours.is_empty(), of_theirs.is_empty()) {
            (true, _) => Region::Agreed(their_lines),
            (_, true) => Region::Agreed(our_lines),
            _ if our_lines == their_lines => Region::Agreed(our_lines),
            _ => Region::Conflict {
                ours: our_lines,
                theirs: their_lines,
            },
        });
        at = range.end;
        next = end;
    }
    found.push(Region::Agreed(base[at..].to_vec()));
    found
}

/// The lines of a range of the base as one side has them.
fn changed<'a>(base: &[&'a str], side: &[&'a str], range: &Range<usize>, hunks: &[&Hunk]) -> Vec<&'a str> {
    let mut out = Vec::new();
    let mut at = range.start;
    for hunk in hunks {
        out.extend(&base[at..hunk.old.start]);
        out.extend(&side[hunk.new.clone()]);
        at = hunk.old.end;
    }
    out.extend(&base[at..range.end]);
    out
}

impl Hunk {
    /// Whether both change the same lines, or insert at the same place.
    fn touches(&self, other: &Self) -> bool {
        if self.old.is_empty() && other.old.is_empty() {
            return self.old.start == other.old.start;
        }
        self.old.start < other.old.end && other.old.start < self.old.end
            || self.old.is_empty() && (other.old.start < self.old.start && self.old.start < other.old.end)
            || other.old.is_empty() && (self.old.start < other.old.start && other.old.start < self.old.end)
    }
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
    fn with_marks_both_sides_of_a_conflict_are_kept_and_everything_else_is_merged() {
        let marks = ConflictMarks {
            ours: "kubewright 2".to_owned(),
            theirs: "yours".to_owned(),
        };
        let merged = merge_with_marks(BASE, "a\nb\nours\nd\nE\n", "A\nb\ntheirs\nd\ne\n", &marks);
        let expected = "A\nb\n<<<<<<< yours\ntheirs\n=======\nours\n>>>>>>> kubewright 2\nd\nE\n";
        assert_eq!(merged, (expected.to_owned(), 1));
        assert_eq!(
            merge_with_marks("a", "b", "c", &marks).0,
            "<<<<<<< yours\nc\n=======\nb\n>>>>>>> kubewright 2\n"
        );
        assert_eq!(merge_with_marks(BASE, BASE, "mine\n", &marks), ("mine\n".to_owned(), 0));
    }

    #[test]
    fn a_missing_last_line_end_is_kept() {
        assert_eq!(merge("a\nb\nc", "a\nx\nb\nc", "a\nb\nc\n").unwrap(), "a\nx\nb\nc\n");
        assert_eq!(merge("a\nb\nc\n", "x\na\nb\nc\n", "a\nb\nc").unwrap(), "x\na\nb\nc");
    }
}
