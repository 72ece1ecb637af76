//! The `timeout` parameter of requests: a Go duration (H11). Answers come at once here unless webhooks are
//! waited for.

use std::time::Duration;

use kubewright_codec::quote;

use crate::request::route::Verb;

/// What is wrong with a timeout, in Go's words. Watches have `timeoutSeconds` instead and ignore this one.
pub(crate) fn check(timeout: Option<&str>, verb: Verb) -> Result<(), String> {
    match timeout {
        Some(text) if verb != Verb::Watch && !text.is_empty() => parse(text),
        _ => Ok(()),
    }
}

/// How long a timeout is, if it is a duration and not a negative one.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    parse(text).ok()?;
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    let mut seconds = 0.0;
    while !rest.is_empty() && rest != "0" {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (digits, after) = rest.split_at(number);
        let end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        let scale = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "ns" => 1e-9,
            _ => 1e-6,
        };
        seconds += digits.parse::<f64>().ok()? * scale;
        rest = next;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

fn parse(whole: &str) -> Result<(), String> {
    const UNITS: [&str; 8] = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
    let invalid = || format!("time: invalid duration {}", quote(whole));
    let mut rest = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    if rest == "0" {
        return Ok(());
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    while !rest.is_empty() {
        let number = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (digits, after) = rest.split_at(number);
        if !digits.bytes().any(|byte| byte.is_ascii_digit()) || digits.matches('.').count() > 1 {
            return Err(invalid());
        }
        let end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {}", quote(whole)));
        }
        if !UNITS.contains(&unit) {
            return Err(format!(
                "time: unknown unit {} in duration {}",
                quote(unit),
                quote(whole)
            ));
        }
        rest = next;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_as_long_as_they_say() {
        assert_eq!(duration("1h2m3.5s"), Some(Duration::from_millis(3_723_500)));
        assert_eq!(duration("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(duration("0"), Some(Duration::ZERO));
        assert_eq!(duration("-5s"), None);
        assert_eq!(duration("5"), None);
    }

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for good in ["10s", "1h30m", "1.5s", "100ms", "0", "-5s"] {
            assert_eq!(parse(good), Ok(()), "{good}");
        }
        assert_eq!(parse("10"), Err("time: missing unit in duration \"10\"".into()));
        assert_eq!(parse("soon"), Err("time: invalid duration \"soon\"".into()));
        assert_eq!(parse("1d"), Err("time: unknown unit \"d\" in duration \"1d\"".into()));
    }
}
