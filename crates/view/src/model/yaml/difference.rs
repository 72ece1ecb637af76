//! What differs between two texts, line by line.

use serde::Serialize;

/// As many lines are shown around what differs.
const AROUND: usize = 3;
/// Texts in which more differs are not compared line by line.
const MOST: usize = 4_000_000;

/// A line of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", content = "text", rename_all = "camelCase")]
pub(crate) enum Compared {
    Same(String),
    Removed(String),
    Added(String),
    /// So many lines that are the same are left out.
    Skipped(usize),
}

/// Compares two texts; empty if they are the same.
pub(crate) fn compare(before: &str, after: &str) -> Vec<Compared> {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let begin = before
        .iter()
        .zip(&after)
        .take_while(|(one, other)| one == other)
        .count();
    let (old, new) = (&before[begin..], &after[begin..]);
    let tail = old.iter().rev().zip(new.iter().rev());
    let end = tail.take_while(|(one, other)| one == other).count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    let same = |line: &&str| Compared::Same((*line).to_owned());
    let mut all: Vec<Compared> = before[..begin].iter().map(same).collect();
    middle(old, new, &mut all);
    all.extend(before[before.len() - end..].iter().map(same));
    shortened(all)
}

/// Compares by the longest common sequence of lines.
fn middle(old: &[&str], new: &[&str], all: &mut Vec<Compared>) {
    let width = new.len() + 1;
    let removed = |line: &str| Compared::Removed(line.to_owned());
    let added = |line: &str| Compared::Added(line.to_owned());
    if (old.len() + 1).saturating_mul(width) > MOST {
        all.extend(old.iter().map(|line| removed(line)));
        all.extend(new.iter().map(|line| added(line)));
        return;
    }
    // The longest common sequence of what follows two lines.
    let mut longest = vec![0_u32; (old.len() + 1) * width];
    for one in (0..old.len()).rev() {
        for other in (0..new.len()).rev() {
            longest[one * width + other] = if old[one] == new[other] {
                longest[(one + 1) * width + other + 1] + 1
            } else {
                longest[(one + 1) * width + other].max(longest[one * width + other + 1])
            };
        }
    }
    let (mut one, mut other) = (0, 0);
    while one < old.len() && other < new.len() {
        if old[one] == new[other] {
            all.push(Compared::Same(old[one].to_owned()));
            one += 1;
            other += 1;
        } else if longest[(one + 1) * width + other] >= longest[one * width + other + 1] {
            all.push(removed(old[one]));
            one += 1;
        } else {
            all.push(added(new[other]));
            other += 1;
        }
    }
    all.extend(old[one..].iter().map(|line| removed(line)));
    all.extend(new[other..].iter().map(|line| added(line)));
}

/// Leaves out what is the same and far from what differs.
fn shortened(all: Vec<Compared>) -> Vec<Compared> {
    let is_same = |line: &Compared| matches!(line, Compared::Same(_));
    let mut near = vec![false; all.len()];
    for (at, _) in all.iter().enumerate().filter(|(_, line)| !is_same(line)) {
        near[at.saturating_sub(AROUND)..(at + AROUND + 1).min(all.len())].fill(true);
    }
    let mut short: Vec<Compared> = Vec::new();
    for (line, is_near) in all.into_iter().zip(near) {
        match short.last_mut() {
            _ if is_near => short.push(line),
            Some(Compared::Skipped(count)) => *count += 1,
            _ => short.push(Compared::Skipped(1)),
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(word: &str, count: usize) -> String {
        let lines: Vec<String> = (0..count).map(|number| format!("{word} {number}\n")).collect();
        lines.concat()
    }

    #[test]
    fn what_differs_is_shown_with_what_is_around_it() {
        let before = numbered("line", 20);
        let after = before.replace("line 9\n", "line nine\nmore\n");
        let compared = compare(&before, &after);
        assert_eq!(compared.first(), Some(&Compared::Skipped(6)));
        assert_eq!(compared.last(), Some(&Compared::Skipped(7)));
        let changes: Vec<&Compared> = compared
            .iter()
            .filter(|line| matches!(line, Compared::Removed(_) | Compared::Added(_)))
            .collect();
        let [Compared::Removed(old), Compared::Added(new), Compared::Added(more)] = &changes[..] else {
            panic!("{changes:?}");
        };
        assert_eq!((&**old, &**new, &**more), ("line 9", "line nine", "more"));
        assert_eq!(compare(&before, &before), []);
    }

    #[test]
    fn moved_lines_are_few_and_long_texts_take_no_time() {
        let compared = compare("a\nb\nc\nd\n", "b\nc\nx\nd\n");
        let texts: Vec<String> = compared.iter().map(|line| format!("{line:?}")).collect();
        assert_eq!(
            texts,
            [
                "Removed(\"a\")",
                "Same(\"b\")",
                "Same(\"c\")",
                "Added(\"x\")",
                "Same(\"d\")"
            ]
        );
        let text = |word: &str| numbered(word, 5000);
        assert_eq!(compare(&text("a"), &text("b")).len(), 10_000);
    }
}
