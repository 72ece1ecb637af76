//! Dates, times and durations.

/// `2006-01-02`.
pub(super) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return false;
    }
    let number = |range: std::ops::Range<usize>| -> Option<u32> {
        bytes[range].iter().try_fold(0, |value, byte| {
            byte.is_ascii_digit().then(|| value * 10 + u32::from(byte - b'0'))
        })
    };
    let (Some(year), Some(month), Some(day)) = (number(0..4), number(5..7), number(8..10)) else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// A date, a `t` and a time of day with its offset; upstream looks at nothing behind a second `t`.
pub(super) fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    match (parts.next(), parts.next()) {
        (Some(date), Some(time)) => is_date(date) && is_time(time),
        _ => false,
    }
}

fn is_time(text: &str) -> bool {
    let pair =
        |text: &str, most: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit()) && text <= most;
    let Some((clock, rest)) = text.split_at_checked(8) else {
        return false;
    };
    let mut clock = clock.split(':');
    let fits = ["23", "59", "59"]
        .into_iter()
        .all(|most| clock.next().is_some_and(|part| pair(part, most)));
    fits && clock.next().is_none() && (is_zone(rest) || is_fraction(rest))
}

/// Any character counts as the decimal point.
fn is_fraction(text: &str) -> bool {
    let mut chars = text.chars();
    let Some(point) = chars.next() else { return false };
    let rest = chars.as_str();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    // Digits are never part of the offset, so taking all of them is right.
    point != '\n' && digits > 0 && is_zone(&rest[digits..])
}

fn is_zone(text: &str) -> bool {
    let bytes = text.as_bytes();
    text == "z"
        || (bytes.len() == 6
            && matches!(bytes[0], b'+' | b'-')
            && bytes[3] == b':'
            && [1, 2, 4, 5].into_iter().all(|at| bytes[at].is_ascii_digit()))
}

/// A duration of Go, or a number and a word that begins like a unit, anywhere in the text.
pub(super) fn is_duration(text: &str) -> bool {
    kubewright_apimachinery::duration::parse(text).is_ok() || has_worded_duration(text)
}

fn has_worded_duration(text: &str) -> bool {
    const UNITS: [(&[&str], &str); 8] = [
        (&["ns"], "nano"),
        (&["us", "\u{b5}s"], "micro"),
        (&["ms"], "milli"),
        (&["s"], "sec"),
        (&["m"], "min"),
        (&["h", "hr"], "hour"),
        (&["d"], "day"),
        (&["w", "wk"], "week"),
    ];
    let is_space = |c: char| matches!(c, '\t' | '\n' | '\u{c}' | '\r' | ' ');
    let is_word = |c: char| c.is_ascii_alphabetic() || c == '\u{b5}';
    let mut found = false;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let from = &rest[start..];
        let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        let (digits, after) = from.split_at(end);
        let word = after.trim_start_matches(is_space);
        let length = word.find(|c: char| !is_word(c)).unwrap_or(word.len());
        let (unit, after_word) = word.split_at(length);
        if unit.is_empty() {
            rest = after;
            continue;
        }
        rest = after_word;
        // A number that is no int64 fails the whole text.
        if digits.parse::<i64>().is_err() {
            return false;
        }
        let unit = unit.to_lowercase();
        found |= UNITS
            .iter()
            .any(|(exact, prefix)| exact.contains(&unit.as_str()) || unit.starts_with(prefix));
    }
    found
}
