// SPDX-License-Identifier: Apache-2.0

//! Retention as a text (`24h`) and as a number of seconds.

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;

/// A text that is no time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a time, as 90s, 30m or 24h")]
pub struct InvalidRetention(String);

/// `24h` as seconds.
pub fn to_seconds(text: Option<String>) -> Result<Option<i64>, InvalidRetention> {
    let Some(text) = text else { return Ok(None) };
    let parse = || {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let unit = match unit {
            "s" => 1,
            "m" => MINUTE,
            "h" => HOUR,
            _ => return None,
        };
        let number = number.parse::<i64>().ok().filter(|number| *number > 0)?;
        number.checked_mul(unit)
    };
    match parse() {
        Some(seconds) => Ok(Some(seconds)),
        None => Err(InvalidRetention(text)),
    }
}

/// Seconds in the largest unit that says them exactly.
pub fn to_text(seconds: Option<i64>) -> Option<String> {
    let seconds = seconds?;
    Some(if seconds % HOUR == 0 {
        format!("{}h", seconds / HOUR)
    } else if seconds % MINUTE == 0 {
        format!("{}m", seconds / MINUTE)
    } else {
        format!("{seconds}s")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written_in_the_largest_unit() {
        for (text, seconds, written) in [
            ("90s", 90, "90s"),
            ("60s", 60, "1m"),
            ("24h", 86400, "24h"),
            ("90m", 5400, "90m"),
        ] {
            assert_eq!(to_seconds(Some(text.to_owned())), Ok(Some(seconds)));
            assert_eq!(to_text(Some(seconds)).as_deref(), Some(written));
        }
        assert_eq!((to_seconds(None), to_text(None)), (Ok(None), None));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "h", "24", "0s", "-1h", "1d", "1é", "9223372036854775807h"] {
            let error = to_seconds(Some(text.to_owned())).unwrap_err();
            assert_eq!(error.to_string(), format!("{text:?} is not a time, as 90s, 30m or 24h"));
        }
    }
}
