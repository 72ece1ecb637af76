//! The unified diff upstream puts into the message when a pod's immutable fields change. Its line matcher is the one of
//! Python's difflib, so that hunks fall where upstream's do.

use std::collections::HashMap;
use std::fmt::Write;

const CONTEXT: usize = 3;
/// The search for common lines is quadratic at worst; after this many comparisons the rest counts as changed.
const MOST_COMPARISONS: usize = 10_000_000;

#[derive(Clone, Copy)]
struct Block {
    left: usize,
    right: usize,
    size: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Equal,
    Other,
}

#[derive(Clone, Copy)]
struct Edit {
    change: Change,
    left: (usize, usize),
    right: (usize, usize),
}

/// The difference between two texts; empty when there is none.
pub(crate) fn unified(left: &str, right: &str) -> String {
    unified_within(left, right, &mut { MOST_COMPARISONS })
}

/// The same with the number of comparisons that are left.
fn unified_within(left: &str, right: &str, comparisons: &mut usize) -> String {
    let left: Vec<&str> = left.split('\n').collect();
    let right: Vec<&str> = right.split('\n').collect();
    let mut text = String::new();
    let blocks = matching_blocks(&left, &right, comparisons);
    for group in groups(steps(&blocks, left.len(), right.len())) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let _ = writeln!(
            text,
            "@@ -{} +{} @@",
            range(first.left.0, last.left.1),
            range(first.right.0, last.right.1)
        );
        for step in &group {
            match step.change {
                Change::Equal => push_lines(&mut text, ' ', &left[step.left.0..step.left.1]),
                Change::Other => {
                    push_lines(&mut text, '-', &left[step.left.0..step.left.1]);
                    push_lines(&mut text, '+', &right[step.right.0..step.right.1]);
                }
            }
        }
    }
    text
}

fn push_lines(text: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        text.push(sign);
        text.push_str(line);
        text.push('\n');
    }
}

fn range(start: usize, stop: usize) -> String {
    match stop - start {
        1 => (start + 1).to_string(),
        0 => format!("{start},0"),
        length => format!("{},{length}", start + 1),
    }
}

fn matching_blocks(left: &[&str], right: &[&str], comparisons: &mut usize) -> Vec<Block> {
    let places = places(right);
    let mut found = Vec::new();
    let mut open = vec![(0, left.len(), 0, right.len())];
    while let Some((left_low, left_high, right_low, right_high)) = open.pop() {
        let block = longest_match(
            left,
            right,
            &places,
            (left_low, left_high),
            (right_low, right_high),
            comparisons,
        );
        if block.size == 0 {
            continue;
        }
        if left_low < block.left && right_low < block.right {
            open.push((left_low, block.left, right_low, block.right));
        }
        let (left_end, right_end) = (block.left + block.size, block.right + block.size);
        if left_end < left_high && right_end < right_high {
            open.push((left_end, left_high, right_end, right_high));
        }
        found.push(block);
    }
    found.sort_by_key(|block| (block.left, block.right));
    let mut joined: Vec<Block> = Vec::with_capacity(found.len());
    for block in found {
        match joined.last_mut() {
            Some(last) if last.left + last.size == block.left && last.right + last.size == block.right => {
                last.size += block.size;
            }
            _ => joined.push(block),
        }
    }
    joined
}

/// Where each line of `right` is; lines that are everywhere say nothing about where a hunk belongs and are left out.
fn places<'a>(right: &[&'a str]) -> HashMap<&'a str, Vec<usize>> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in right.iter().enumerate() {
        places.entry(line).or_default().push(index);
    }
    if right.len() >= 200 {
        let everywhere = right.len() / 100 + 1;
        places.retain(|_, indices| indices.len() <= everywhere);
    }
    places
}

fn longest_match(
    left: &[&str],
    right: &[&str],
    places: &HashMap<&str, Vec<usize>>,
    (left_low, left_high): (usize, usize),
    (right_low, right_high): (usize, usize),
    comparisons: &mut usize,
) -> Block {
    let mut best = Block {
        left: left_low,
        right: right_low,
        size: 0,
    };
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for (index, line) in left.iter().enumerate().take(left_high).skip(left_low) {
        let mut next = HashMap::new();
        let places = places.get(line).map_or(&[][..], Vec::as_slice);
        let places = &places[places.partition_point(|place| *place < right_low)..];
        *comparisons = comparisons.saturating_sub(1 + places.len());
        if *comparisons == 0 {
            return Block {
                left: left_low,
                right: right_low,
                size: 0,
            };
        }
        for &place in places.iter().take_while(|place| **place < right_high) {
            let size = place
                .checked_sub(1)
                .and_then(|before| lengths.get(&before))
                .map_or(1, |length| length + 1);
            next.insert(place, size);
            if size > best.size {
                best = Block {
                    left: index + 1 - size,
                    right: place + 1 - size,
                    size,
                };
            }
        }
        lengths = next;
    }
    while best.left > left_low && best.right > right_low && left[best.left - 1] == right[best.right - 1] {
        best = Block {
            left: best.left - 1,
            right: best.right - 1,
            size: best.size + 1,
        };
    }
    while best.left + best.size < left_high
        && best.right + best.size < right_high
        && left[best.left + best.size] == right[best.right + best.size]
    {
        best.size += 1;
    }
    best
}

fn steps(blocks: &[Block], left_length: usize, right_length: usize) -> Vec<Edit> {
    let mut steps = Vec::new();
    let (mut left, mut right) = (0, 0);
    let end = Block {
        left: left_length,
        right: right_length,
        size: 0,
    };
    for block in blocks.iter().chain([&end]) {
        if left < block.left || right < block.right {
            steps.push(Edit {
                change: Change::Other,
                left: (left, block.left),
                right: (right, block.right),
            });
        }
        left = block.left + block.size;
        right = block.right + block.size;
        if block.size > 0 {
            steps.push(Edit {
                change: Change::Equal,
                left: (block.left, left),
                right: (block.right, right),
            });
        }
    }
    steps
}

fn groups(mut steps: Vec<Edit>) -> Vec<Vec<Edit>> {
    if let Some(first) = steps.first_mut().filter(|step| step.change == Change::Equal) {
        first.left.0 = first.left.0.max(first.left.1.saturating_sub(CONTEXT));
        first.right.0 = first.right.0.max(first.right.1.saturating_sub(CONTEXT));
    }
    if let Some(last) = steps.last_mut().filter(|step| step.change == Change::Equal) {
        last.left.1 = last.left.1.min(last.left.0 + CONTEXT);
        last.right.1 = last.right.1.min(last.right.0 + CONTEXT);
    }
    let mut groups = Vec::new();
    let mut group = Vec::new();
    for mut step in steps {
        if step.change == Change::Equal && step.left.1 - step.left.0 > 2 * CONTEXT {
            group.push(Edit {
                change: Change::Equal,
                left: (step.left.0, step.left.0 + CONTEXT),
                right: (step.right.0, step.right.0 + CONTEXT),
            });
            groups.push(std::mem::take(&mut group));
            step.left.0 = step.left.1 - CONTEXT;
            step.right.0 = step.right.1 - CONTEXT;
        }
        group.push(step);
    }
    groups.push(group);
    groups.retain(|group| group.iter().any(|step| step.change == Change::Other));
    groups
}

#[cfg(test)]
mod tests {
    use super::{MOST_COMPARISONS, unified, unified_within};

    /// The diff, and how many comparisons it took.
    fn counted(left: &[&str], right: &[&str]) -> (String, usize) {
        let mut left_over = MOST_COMPARISONS;
        let diff = unified_within(&left.join("\n"), &right.join("\n"), &mut left_over);
        (diff, MOST_COMPARISONS - left_over)
    }

    #[test]
    fn equal_texts_have_no_diff() {
        assert_eq!(unified("a\nb", "a\nb"), "");
    }

    #[test]
    fn a_hunk_shows_three_lines_around_a_change() {
        let left = "1\n2\n3\n4\n5\n6\n7\n8\n9";
        let right = "1\n2\n3\n4\nX\n6\n7\n8\n9";
        assert_eq!(
            unified(left, right),
            "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+X\n 6\n 7\n 8\n"
        );
    }

    #[test]
    fn changes_far_apart_are_separate_hunks() {
        let left: Vec<String> = (0..40).map(|n| n.to_string()).collect();
        let mut right = left.clone();
        right[5] = "a".to_owned();
        right.remove(30);
        let diff = unified(&left.join("\n"), &right.join("\n"));
        assert_eq!(
            diff,
            "@@ -3,7 +3,7 @@\n 2\n 3\n 4\n-5\n+a\n 6\n 7\n 8\n@@ -28,7 +28,6 @@\n 27\n 28\n 29\n-30\n 31\n 32\n 33\n"
        );
    }

    #[test]
    fn lines_that_are_everywhere_are_not_compared_with_each_other() {
        let left: Vec<&str> = std::iter::repeat_n("same", 30_000).collect();
        let mut right = left.clone();
        right[100] = "other";
        let (diff, comparisons) = counted(&left, &right);
        assert!(diff.contains("\n-same\n+other\n"));
        assert!(comparisons < 3 * left.len(), "{comparisons}");
    }

    #[test]
    fn a_search_of_too_many_comparisons_is_given_up_and_the_rest_counts_as_changed() {
        // Each common line is a match of its own, which is searched for in all that is left: half a million comparisons.
        let left: Vec<String> = (0..700).map(|n| n.to_string()).collect();
        let right: Vec<String> = left
            .iter()
            .flat_map(|line| [line.clone(), format!("new {line}")])
            .collect();
        let diff = |mut comparisons: usize| {
            let diff = unified_within(&left.join("\n"), &right.join("\n"), &mut comparisons);
            (diff.contains("\n-699\n"), comparisons)
        };
        let (removes_the_last, left_over) = diff(MOST_COMPARISONS);
        assert!(!removes_the_last && left_over > 0, "{left_over}");
        assert_eq!(diff(100_000), (true, 0));
    }
}
