//! Sets of completion indexes, written as ranges: `0-2,5`. Pure.

use std::collections::BTreeSet;

/// Reads ranges below a bound; what makes no sense is left out.
pub(super) fn parse(text: &str, below: i32) -> BTreeSet<i32> {
    let mut indexes = BTreeSet::new();
    for range in text.split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(first), Ok(last)) = (first.parse::<i32>(), last.parse::<i32>()) {
            indexes.extend(first.max(0)..=last.min(below.saturating_sub(1)));
        }
    }
    indexes
}

/// Writes ranges; two neighbours are listed, three are a range.
pub(super) fn print(indexes: &BTreeSet<i32>) -> String {
    let mut ranges: Vec<(i32, i32)> = Vec::new();
    for index in indexes {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => ranges.push((*index, *index)),
        }
    }
    let words = ranges.into_iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    });
    words.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_written() {
        assert_eq!(print(&[0, 1, 2, 5, 7, 8].into()), "0-2,5,7,8");
        assert_eq!(parse("0-2,5,7,8", 100), [0, 1, 2, 5, 7, 8].into());
        assert_eq!(parse("0-99999999,x,-3", 2), [0, 1].into());
        assert_eq!(print(&BTreeSet::new()), "");
    }
}
