//! Go's durations: `1h30m`, `-1.5s`, `250ms`.

use crate::go::quote::quote_for_time;

/// The largest number of nanoseconds, which only a negative duration has.
const LIMIT: u64 = 1 << 63;

/// Reads a duration as Go's `time.ParseDuration` does, in nanoseconds. The error is its sentence.
///
/// ```
/// use kubewright_apimachinery::duration;
///
/// assert_eq!(duration::parse("1h2m3.5s"), Ok(3_723_500_000_000));
/// assert_eq!(duration::parse("-250ms"), Ok(-250_000_000));
/// assert_eq!(duration::parse("10"), Err("time: missing unit in duration \"10\"".to_owned()));
/// ```
pub fn parse(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {}", quote_for_time(text));
    let is_negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), digits);
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit());
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {}", quote_for_time(text)));
        }
        let nanoseconds = unit_length(unit).ok_or_else(|| {
            let (unit, text) = (quote_for_time(unit), quote_for_time(text));
            format!("time: unknown unit {unit} in duration {text}")
        })?;
        let part = part(whole, fraction, nanoseconds).ok_or_else(invalid)?;
        // Neither is above the limit, so the sum does not overflow.
        total += part;
        if total > LIMIT {
            return Err(invalid());
        }
        rest = after;
    }
    if is_negative {
        return Ok(0_i64.wrapping_sub_unsigned(total));
    }
    i64::try_from(total).map_err(|_| invalid())
}

/// Reads a duration that is not negative.
pub fn parse_unsigned(text: &str) -> Option<std::time::Duration> {
    let nanoseconds = parse(text).ok()?;
    Some(std::time::Duration::from_nanos(u64::try_from(nanoseconds).ok()?))
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

fn unit_length(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        // The micro sign and the Greek letter.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// The nanoseconds of a number with its unit, if they are not above the limit.
fn part(whole: &str, fraction: &str, unit: u64) -> Option<u64> {
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut nanoseconds = whole.checked_mul(unit).filter(|product| *product <= LIMIT)?;
    let (mut numerator, mut scale) = (0_u64, 1.0);
    for digit in fraction.bytes().map(|byte| u64::from(byte - b'0')) {
        // What no longer fits is below a nanosecond.
        let Some(next) = numerator
            .checked_mul(10)
            .map(|tens| tens + digit)
            .filter(|next| *next <= LIMIT)
        else {
            break;
        };
        numerator = next;
        scale *= 10.0;
    }
    if numerator > 0 {
        // Go computes this in floats too.
        nanoseconds += (numerator as f64 * (unit as f64 / scale)) as u64;
    }
    Some(nanoseconds).filter(|sum| *sum <= LIMIT)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn durations_are_as_long_as_they_say() {
        for (text, nanoseconds) in [
            ("0", 0),
            ("-0", 0),
            ("10s", 10_000_000_000),
            ("1.5h", 5_400_000_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("3\u{b5}s2\u{3bc}s1us5ns", 6_005),
            ("0.3333333333333333333h", 1_200_000_000_000),
            ("9223372036854775807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
            ("-1m", -60_000_000_000),
        ] {
            assert_eq!(parse(text), Ok(nanoseconds), "{text}");
        }
        assert_eq!(parse_unsigned("1m30s"), Some(Duration::from_secs(90)));
        assert_eq!(parse_unsigned("-1s"), None);
    }

    #[test]
    fn mistakes_are_told_in_the_words_of_go() {
        for text in [
            "",
            "-",
            "+",
            ".s",
            "s",
            "soon",
            "1m 30s",
            "9223372036854775808ns",
            "99999999999999999999s",
            "3000000h",
            "1e3s",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        for (text, error) in [
            ("soon", r#"time: invalid duration "soon""#),
            ("5", r#"time: missing unit in duration "5""#),
            ("1d", r#"time: unknown unit "d" in duration "1d""#),
            ("1µ", r#"time: unknown unit "\xc2\xb5" in duration "1\xc2\xb5""#),
        ] {
            assert_eq!(parse(text), Err(error.to_owned()));
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in ".*", list in "[-+]?([0-9]{0,22}\\.?[0-9]{0,22}(ns|us|ms|s|m|h|d)){0,4}") {
            let _ = (parse(&text), parse(&list));
        }
    }
}
