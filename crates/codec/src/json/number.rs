//! Number literals: 64-bit integers where they fit, floats otherwise.

use serde_json::Number;

use super::SyntaxError;

/// A scanned number.
pub(super) enum Scanned<'a> {
    Integer(i64),
    Float {
        number: Number,
        text: &'a str,
        out_of_range: bool,
    },
}

/// Scans the number that starts at `bytes[start]` (a digit or a minus sign); returns it and where it ends.
pub(super) fn scan(bytes: &[u8], start: usize) -> Result<(Scanned<'_>, usize), SyntaxError> {
    let mut at = start;
    let negative = bytes[at] == b'-';
    at += usize::from(negative);
    let first_digit = at;
    match bytes.get(at) {
        Some(b'0') => at += 1,
        Some(b'1'..=b'9') => at = skip_digits(bytes, at),
        _ => return Err(unexpected(bytes, at, "in numeric literal")),
    }
    let digits = &bytes[first_digit..at];
    let mut integer = true;
    if bytes.get(at) == Some(&b'.') {
        integer = false;
        at = digits_required(bytes, at + 1, "after decimal point in numeric literal")?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        integer = false;
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        at = digits_required(bytes, at, "in exponent of numeric literal")?;
    }
    if integer && let Some(number) = to_integer(digits, negative) {
        return Ok((Scanned::Integer(number), at));
    }
    Ok((to_float(&bytes[start..at]), at))
}

fn skip_digits(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

fn digits_required(bytes: &[u8], at: usize, context: &str) -> Result<usize, SyntaxError> {
    if bytes.get(at).is_some_and(u8::is_ascii_digit) {
        Ok(skip_digits(bytes, at))
    } else {
        Err(unexpected(bytes, at, context))
    }
}

/// At the end of the text Go feeds its scanner a space, which inside a literal is what the error then names.
pub(super) fn unexpected(bytes: &[u8], at: usize, context: impl std::fmt::Display) -> SyntaxError {
    SyntaxError::invalid_character(bytes.get(at).copied().unwrap_or(b' '), context, at)
}

fn to_integer(digits: &[u8], negative: bool) -> Option<i64> {
    if digits.len() > 19 {
        return None;
    }
    // Nineteen digits fit an unsigned 64-bit integer.
    let magnitude = digits
        .iter()
        .fold(0u64, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    if negative {
        0i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    }
}

fn to_float(literal: &[u8]) -> Scanned<'_> {
    let text = std::str::from_utf8(literal).unwrap_or_default();
    let float: f64 = text.parse().unwrap_or_default();
    let bounded = float.clamp(f64::MIN, f64::MAX);
    let number = Number::from_f64(bounded).unwrap_or_else(|| 0.into());
    Scanned::Float {
        number,
        text,
        out_of_range: float.is_infinite(),
    }
}
