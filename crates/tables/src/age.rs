//! How long ago something was, in words for people; and Go's reading of RFC 3339.

use jiff::Timestamp;
use kubewright_apimachinery::calendar::{days_in_month, days_since_1970};
use serde_json::Value;

const SECOND: i64 = 1_000_000_000;
const UNKNOWN: &str = "<unknown>";

/// Nanoseconds since 1970.
type Nanoseconds = i128;

/// A duration in two or three significant figures, as kubectl's users know it; a little future counts as now.
pub fn human_duration(nanoseconds: i64) -> String {
    let seconds = nanoseconds / SECOND;
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let days = hours / 24;
    match seconds {
        ..-1 => "<invalid>".into(),
        -1 => "0s".into(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        _ if minutes < 60 * 3 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if days < 8 => two(days, "d", hours % 24, "h"),
        _ if days < 365 * 2 => format!("{days}d"),
        _ if days < 365 * 8 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

fn two(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    if small == 0 {
        format!("{large}{large_unit}")
    } else {
        format!("{large}{large_unit}{small}{small_unit}")
    }
}

/// The time since a timestamp field.
pub(crate) fn since(timestamp: &Value, now: Timestamp) -> String {
    match time(timestamp) {
        Some(time) => human_duration(between(time, now.as_nanosecond())),
        None => UNKNOWN.into(),
    }
}

/// The age of an object.
pub(crate) fn of(object: &Value, now: Timestamp) -> String {
    since(&object["metadata"]["creationTimestamp"], now)
}

/// A timestamp field; `None` when it is not there or the zero time.
pub(crate) fn time(timestamp: &Value) -> Option<Nanoseconds> {
    parse(timestamp.as_str()?).filter(|time| !is_zero(*time))
}

/// Go's durations end at 292 years.
pub(crate) fn between(from: Nanoseconds, to: Nanoseconds) -> i64 {
    let wide = to.saturating_sub(from);
    wide.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// What a `date` column of a custom resource shows for a text.
pub(crate) fn since_text(text: &str, now: Timestamp) -> String {
    if text.is_empty() || text == "null" {
        return UNKNOWN.into();
    }
    match parse(text) {
        None => "<invalid>".into(),
        Some(time) if is_zero(time) => UNKNOWN.into(),
        Some(time) => human_duration(between(time, now.as_nanosecond())),
    }
}

fn is_zero(time: Nanoseconds) -> bool {
    // 0001-01-01T00:00:00Z
    time == -62_135_596_800 * i128::from(SECOND)
}

/// Reads RFC 3339 as Go does, which takes an hour of one digit and a comma before the fraction.
pub(crate) fn parse(text: &str) -> Option<Nanoseconds> {
    let mut rest = text.as_bytes();
    let year = digits(&mut rest, 4)?;
    expect(&mut rest, b'-')?;
    let month = digits(&mut rest, 2).filter(|month| (1..=12).contains(month))?;
    expect(&mut rest, b'-')?;
    let day = digits(&mut rest, 2).filter(|day| (1..=days_in_month(year, month)).contains(day))?;
    expect(&mut rest, b'T')?;
    let hour_digits = if rest.get(1).is_some_and(u8::is_ascii_digit) {
        2
    } else {
        1
    };
    let hour = digits(&mut rest, hour_digits).filter(|hour| *hour < 24)?;
    expect(&mut rest, b':')?;
    let minute = digits(&mut rest, 2).filter(|minute| *minute < 60)?;
    expect(&mut rest, b':')?;
    let second = digits(&mut rest, 2).filter(|second| *second < 60)?;
    let fraction = fraction(&mut rest);
    let offset = offset(&mut rest)?;
    if !rest.is_empty() {
        return None;
    }
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
    Some(i128::from(seconds) * i128::from(SECOND) + i128::from(fraction))
}

fn digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (number, after) = rest.split_at_checked(count)?;
    *rest = after;
    number.iter().try_fold(0, |sum, byte| {
        byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0'))
    })
}

fn expect(rest: &mut &[u8], byte: u8) -> Option<()> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    (*first == byte).then_some(())
}

/// Nanoseconds; what is finer is cut off.
fn fraction(rest: &mut &[u8]) -> i64 {
    if !matches!(rest, [b'.' | b',', digit, ..] if digit.is_ascii_digit()) {
        return 0;
    }
    let length = 1 + rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (fraction, after) = rest.split_at(length);
    *rest = after;
    (1..=9).fold(0, |sum, at| {
        sum * 10 + fraction.get(at).map_or(0, |digit| i64::from(digit - b'0'))
    })
}

fn offset(rest: &mut &[u8]) -> Option<i64> {
    let (sign, after) = rest.split_first()?;
    *rest = after;
    let sign = match sign {
        b'Z' => return Some(0),
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let hours = digits(rest, 2).filter(|hours| *hours <= 24)?;
    expect(rest, b':')?;
    let minutes = digits(rest, 2).filter(|minutes| *minutes <= 60)?;
    Some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(seconds: i64) -> String {
        human_duration(seconds * SECOND)
    }

    #[test]
    fn a_duration_loses_its_small_units_as_it_grows() {
        let cases = [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (121, "2m1s"),
            (599, "9m59s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (10_860, "3h1m"),
            (28_799, "7h59m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (176_400, "2d1h"),
            (691_199, "7d23h"),
            (691_200, "8d"),
            (63_071_999, "729d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_287_999, "7y364d"),
            (252_288_000, "8y"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(words(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn a_second_in_the_future_is_now_and_more_is_invalid() {
        assert_eq!(human_duration(-SECOND * 2 + 1), "0s");
        assert_eq!(human_duration(-SECOND * 2), "<invalid>");
        assert_eq!(human_duration(i64::MIN), "<invalid>");
    }

    #[test]
    fn an_age_ends_at_the_longest_duration_of_go() {
        assert_eq!(since_text("0002-01-01T00:00:00Z", Timestamp::UNIX_EPOCH), "292y");
    }

    #[test]
    fn times_are_read_as_go_reads_them() {
        let read = |text| parse(text).map(|nanoseconds| nanoseconds / i128::from(SECOND));
        assert_eq!(read("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(read("2000-03-01T00:00:00Z"), Some(951_868_800));
        assert_eq!(read("2020-02-29T1:00:00,5+01:00"), Some(1_582_934_400));
        assert_eq!(parse("1970-01-01T00:00:00.1234567891Z"), Some(123_456_789));
        assert_eq!(parse("0001-01-01T00:00:00Z").map(is_zero), Some(true));
        for text in [
            "",
            "null",
            "2021-02-29T00:00:00Z",
            "2020-01-01",
            "2020-01-01T00:00:00",
            "2020-01-01 00:00:00Z",
            "2020-01-01T24:00:00Z",
            "2020-01-01T00:00:60Z",
            "2020-01-01T00:00:00.Z",
            "2020-01-01T00:00:00Zjunk",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
