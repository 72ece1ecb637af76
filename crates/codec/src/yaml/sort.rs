//! The order of keys in upstream's YAML: letters after everything else, runs of digits by their number.

use std::cmp::Ordering;

/// Sorts names as Go's `yaml` sorts map keys.
///
/// A plain merge sort: the order is not always total, which the standard library's sort may answer with a panic.
pub fn sorted<T>(mut entries: Vec<(&str, T)>) -> Vec<(&str, T)> {
    if entries.len() < 2 {
        return entries;
    }
    let right = entries.split_off(entries.len() / 2);
    let mut left = sorted(entries).into_iter().peekable();
    let mut right = sorted(right).into_iter().peekable();
    let mut merged = Vec::with_capacity(left.len() + right.len());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let from_right = compare(b.0, a.0) == Ordering::Less;
        merged.extend(if from_right { right.next() } else { left.next() });
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

fn compare(a: &str, b: &str) -> Ordering {
    let common = a.char_indices().zip(b.chars()).find(|((_, a), b)| a != b);
    let Some(((at, in_a), in_b)) = common else {
        return a.len().cmp(&b.len());
    };
    match (in_a.is_alphabetic(), in_b.is_alphabetic()) {
        (true, true) => in_a.cmp(&in_b),
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => {
            // A zero may stand inside a number that began before the difference; then it is not a leading one.
            let follows_number = (in_a == '0' || in_b == '0') && ends_in_number(&a[..at]);
            let (number_a, length_a) = number(&a[at..], follows_number);
            let (number_b, length_b) = number(&b[at..], follows_number);
            number_a
                .cmp(&number_b)
                .then(length_a.cmp(&length_b))
                .then(in_a.cmp(&in_b))
        }
    }
}

fn ends_in_number(text: &str) -> bool {
    text.bytes()
        .rev()
        .take_while(u8::is_ascii_digit)
        .any(|digit| digit != b'0')
}

/// The number at the start of `text` (behind a digit that is not zero, if so said) and how many digits it has. It
/// overflows as Go's does.
fn number(text: &str, follows_number: bool) -> (i64, usize) {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    digits.fold((i64::from(follows_number), 0), |(number, length), digit| {
        (
            number.wrapping_mul(10).wrapping_add(i64::from(digit - b'0')),
            length + 1,
        )
    })
}
