//! Lists of completion indexes such as `0-2,5`.

use kubewright_apimachinery::go::quote;

/// How many indexes the text lists, or what is wrong with it. Indexes are below `completions` and increase.
pub(crate) fn count(text: &str, completions: i64) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let mut last: Option<i64> = None;
    let mut total = 0;
    for interval in text.split(',') {
        let (first, end) = parse(interval, completions)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(format!("non-increasing order, previous: {last}, current: {first}"));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

fn parse(interval: &str, completions: i64) -> Result<(i64, i64), String> {
    let parts: Vec<&str> = interval.split('-').collect();
    let index = |text: &str| -> Result<i64, String> {
        let index: i64 = text
            .parse()
            .map_err(|_| format!("cannot convert string to integer for index: {}", quote(text)))?;
        if index >= completions {
            return Err(format!("too large index: {}", quote(text)));
        }
        Ok(index)
    };
    match parts[..] {
        [one] => index(one).map(|one| (one, one)),
        [first, end] => {
            let (first, end) = (index(first)?, index(end)?);
            if first >= end {
                return Err(format!("non-increasing order, previous: {first}, current: {end}"));
            }
            Ok((first, end))
        }
        _ => Err(format!(
            "the fragment {} violates the requirement that an index interval can have at most two parts separated by '-'",
            quote(interval)
        )),
    }
}

/// The first index both texts list; fragments that cannot be read are skipped.
pub(crate) fn overlap(left: &str, right: &str, completions: i64) -> Option<i64> {
    if left.is_empty() || right.is_empty() {
        return None;
    }
    let read = |text: &str| -> Vec<(i64, i64)> {
        text.split(',')
            .filter_map(|interval| parse(interval, completions).ok())
            .collect()
    };
    let (left, right) = (read(left), read(right));
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    while let (Some(&&(left_start, left_end)), Some(&&(right_start, right_end))) = (left.peek(), right.peek()) {
        if left_start <= right_end && right_start <= left_end {
            return Some(left_start.max(right_start));
        }
        if left_start <= right_start {
            left.next();
        } else {
            right.next();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{count, overlap};

    #[test]
    fn intervals_are_counted() {
        assert_eq!(count("0-2,5", 10), Ok(4));
        assert_eq!(count("", 10), Ok(0));
    }

    #[test]
    fn impossible_lists_are_refused() {
        assert_eq!(count("0-5", 3), Err("too large index: \"5\"".to_owned()));
        assert_eq!(
            count("2,1", 3),
            Err("non-increasing order, previous: 2, current: 1".to_owned())
        );
        assert_eq!(
            count("a", 3),
            Err("cannot convert string to integer for index: \"a\"".to_owned())
        );
    }

    #[test]
    fn overlaps_are_found_where_they_begin() {
        assert_eq!(overlap("0-3,7", "5,7-8", 10), Some(7));
        assert_eq!(overlap("0-3", "4-5", 10), None);
    }
}
