//! What changed from one text to another, by lines: for merges, and as `diff -u` shows it.

use std::fmt::Write as _;
use std::ops::Range;

/// The unchanged lines that are shown around a change.
const CONTEXT: usize = 3;

/// Two parts whose lengths multiply to more count as replaced, so that no two files take more than 64 MB to compare.
const COMPARISONS: usize = 16 << 20;

/// The change of a file from one text to another, as `git apply` understands it; nothing stands for no file.
pub fn unified(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    let (old, new) = (lines(before.unwrap_or_default()), lines(after.unwrap_or_default()));
    let name = |side: &str, text: Option<&str>| match text {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let hunks = hunks(&old, &new);
    if hunks.is_empty() {
        return String::new();
    }
    let mut text = format!("--- {}\n+++ {}\n", name("a", before), name("b", after));
    // Changes whose lines around them touch are shown together.
    for group in hunks.chunk_by(|one, next| next.old.start - one.old.end <= 2 * CONTEXT) {
        write_group(&mut text, group, &old, &new);
    }
    text
}

fn write_group(text: &mut String, group: &[Hunk], old: &[&str], new: &[&str]) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else {
        return;
    };
    let before = first.old.start.min(CONTEXT);
    let after = (old.len() - last.old.end).min(CONTEXT);
    let shown = |range: Range<usize>| match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        length => format!("{},{length}", range.start + 1),
    };
    let of_old = shown(first.old.start - before..last.old.end + after);
    let of_new = shown(first.new.start - before..last.new.end + after);
    _ = writeln!(text, "@@ -{of_old} +{of_new} @@");
    let mut at = first.old.start - before;
    for hunk in group {
        write_lines(text, ' ', &old[at..hunk.old.start]);
        write_lines(text, '-', &old[hunk.old.clone()]);
        write_lines(text, '+', &new[hunk.new.clone()]);
        at = hunk.old.end;
    }
    write_lines(text, ' ', &old[at..at + after]);
}

fn write_lines(text: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        text.push(sign);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// Lines of the old text and what replaced them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// Lines with their ends, so that a missing last one is kept missing.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// What changed from one list of lines to another, by the longest common subsequence of what is between their common ends.
pub(crate) fn hunks(old: &[&str], new: &[&str]) -> Vec<Hunk> {
    let common = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(old, new)| old == new).count();
    let start = common(&mut old.iter().zip(new));
    let end = common(&mut old[start..].iter().rev().zip(new[start..].iter().rev()));
    let mut found = hunks_between(&old[start..old.len() - end], &new[start..new.len() - end]);
    for hunk in &mut found {
        hunk.old = hunk.old.start + start..hunk.old.end + start;
        hunk.new = hunk.new.start + start..hunk.new.end + start;
    }
    found
}

fn hunks_between(old: &[&str], new: &[&str]) -> Vec<Hunk> {
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    if old.is_empty() || new.is_empty() || old.len().saturating_mul(new.len()) > COMPARISONS {
        return vec![Hunk {
            old: 0..old.len(),
            new: 0..new.len(),
        }];
    }
    // The length of the longest common subsequence of what follows the i-th and the j-th line.
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
    let same = |i: usize, j: usize| i < old.len() && j < new.len() && old[i] == new[j];
    let (mut i, mut j) = (0, 0);
    let mut found = Vec::new();
    while i < old.len() || j < new.len() {
        if same(i, j) {
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let (from_i, from_j) = (i, j);
        while (i < old.len() || j < new.len()) && !same(i, j) {
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

    #[test]
    fn a_change_is_shown_with_the_lines_around_it() {
        assert_eq!(
            unified(
                "config/rbac/role.yaml",
                Some("a\nb\nc\nd\ne\nf\n"),
                Some("a\nb\nc\nd\ne\ng\n")
            ),
            "--- a/config/rbac/role.yaml\n+++ b/config/rbac/role.yaml\n@@ -3,4 +3,4 @@\n c\n d\n e\n-f\n+g\n"
        );
    }

    #[test]
    fn a_file_that_comes_or_goes_is_compared_with_nothing() {
        assert_eq!(
            unified("x", None, Some("a\n")),
            "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"
        );
        assert_eq!(
            unified("x", Some("a\n"), None),
            "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
        );
    }

    #[test]
    fn changes_far_apart_are_shown_apart_and_near_ones_together() {
        let text = |changed: &[usize]| -> String {
            let line = |n| {
                if changed.contains(&n) {
                    format!("{n}!\n")
                } else {
                    format!("{n}\n")
                }
            };
            (1..=20).map(line).collect()
        };
        let heads = |changed: &[usize]| -> Vec<String> {
            let diff = unified("x", Some(&text(&[])), Some(&text(changed)));
            let heads = diff.lines().filter(|line| line.starts_with("@@"));
            heads.map(str::to_owned).collect()
        };
        assert_eq!(heads(&[2, 9]), ["@@ -1,12 +1,12 @@"]);
        assert_eq!(heads(&[2, 10]), ["@@ -1,5 +1,5 @@", "@@ -7,7 +7,7 @@"]);
        assert_eq!(heads(&[]), [""; 0]);
    }

    #[test]
    fn a_missing_last_line_end_is_said() {
        assert_eq!(
            unified("x", Some("a\nb"), Some("a\nb\n")),
            "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"
        );
    }

    #[test]
    fn texts_too_long_to_compare_are_replaced_between_their_common_ends() {
        let text = |middle: &str| -> Vec<String> {
            let changed = (0..5000).map(|n| format!("{middle}{n}\n"));
            ["first\n".to_owned()]
                .into_iter()
                .chain(changed)
                .chain(["last\n".to_owned()])
                .collect()
        };
        let (old, new) = (text("a"), text("b"));
        let (old, new): (Vec<&str>, Vec<&str>) = (
            old.iter().map(String::as_str).collect(),
            new.iter().map(String::as_str).collect(),
        );
        assert_eq!(
            hunks(&old, &new),
            [Hunk {
                old: 1..5001,
                new: 1..5001
            }]
        );
    }
}
