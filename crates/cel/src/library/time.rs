//! Points and lengths of time: parsing, printing and their parts.

use std::fmt;

use kubewright_apimachinery::calendar;

use crate::error::EvalError;
use crate::library::{Implementation, wrong, zones};
use crate::value::{Outcome, Value};

pub(crate) const OVERFLOW: EvalError = EvalError::fixed("timestamp overflow");

const NANOS: i64 = 1_000_000_000;
/// 0001-01-01T00:00:00Z
const MIN_SECONDS: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z
const MAX_SECONDS: i64 = 253_402_300_799;

/// A point in time between the years 1 and 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
}

impl Timestamp {
    /// A point in time, unless it is outside the years 1 to 9999.
    pub fn new(seconds: i64, nanos: u32) -> Option<Self> {
        (MIN_SECONDS..=MAX_SECONDS)
            .contains(&seconds)
            .then_some(Self { seconds, nanos })
    }

    pub(super) fn add(self, nanos: i64) -> Result<Self, EvalError> {
        let total = i128::from(self.seconds) * i128::from(NANOS) + i128::from(self.nanos) + i128::from(nanos);
        let seconds = i64::try_from(total.div_euclid(i128::from(NANOS))).map_err(|_| OVERFLOW)?;
        Self::new(seconds, total.rem_euclid(i128::from(NANOS)) as u32).ok_or(OVERFLOW)
    }

    pub(super) fn since(self, other: Self) -> Option<i64> {
        let nanos = |at: Self| i128::from(at.seconds) * i128::from(NANOS) + i128::from(at.nanos);
        i64::try_from(nanos(self) - nanos(other)).ok()
    }
}

/// A civil date and time.
struct Civil {
    year: i64,
    month: i64,
    day: i64,
    second_of_day: i64,
    weekday: i64,
    day_of_year: i64,
}

fn civil(seconds: i64) -> Civil {
    let days = seconds.div_euclid(86_400);
    let (year, month, day) = calendar::date(days);
    Civil {
        year,
        month,
        day,
        second_of_day: seconds.rem_euclid(86_400),
        weekday: (days + 4).rem_euclid(7),
        day_of_year: days - calendar::days_since_1970(year, 1, 1),
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil {
            year,
            month,
            day,
            second_of_day,
            ..
        } = civil(self.seconds);
        let (hour, minute, second) = (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if self.nanos > 0 {
            let fraction = format!("{:09}", self.nanos);
            write!(f, ".{}", fraction.trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

/// The digits at `from..to` as a number.
fn digits(text: &[u8], from: usize, to: usize) -> Option<i64> {
    let digits = text.get(from..to)?;
    digits
        .iter()
        .all(u8::is_ascii_digit)
        .then(|| digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
}

fn date(text: &[u8]) -> Option<i64> {
    let (year, month, day) = (digits(text, 0, 4)?, digits(text, 5, 7)?, digits(text, 8, 10)?);
    let length = calendar::days_in_month(year, month);
    let valid = text[4] == b'-' && text[7] == b'-' && (1..=12).contains(&month) && (1..=length).contains(&day);
    valid.then(|| calendar::days_since_1970(year, month, day))
}

/// A date such as `2024-02-29`.
pub(crate) fn parse_date(text: &str) -> Option<Timestamp> {
    if text.len() != 10 {
        return None;
    }
    Timestamp::new(date(text.as_bytes())? * 86_400, 0)
}

/// A date and time as RFC 3339 writes it.
pub(crate) fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let days = date(bytes)?;
    if !matches!(bytes.get(10)?, b'T' | b't') || bytes.get(13)? != &b':' || bytes.get(16)? != &b':' {
        return None;
    }
    let (hour, minute, second) = (digits(bytes, 11, 13)?, digits(bytes, 14, 16)?, digits(bytes, 17, 19)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut at = 19;
    let mut nanos = 0;
    if matches!(bytes.get(at), Some(b'.' | b',')) {
        let start = at + 1;
        at = start;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            if at - start < 9 {
                nanos = nanos * 10 + u32::from(bytes[at] - b'0');
            }
            at += 1;
        }
        if at == start {
            return None;
        }
        nanos *= 10u32.pow(9u32.saturating_sub((at - start) as u32));
    }
    let offset = match bytes.get(at)? {
        b'Z' | b'z' if bytes.len() == at + 1 => 0,
        sign @ (b'+' | b'-') if bytes.len() == at + 6 && bytes[at + 3] == b':' => {
            let (hours, minutes) = (digits(bytes, at + 1, at + 3)?, digits(bytes, at + 4, at + 6)?);
            if hours > 24 || minutes > 60 {
                return None;
            }
            let offset = hours * 3600 + minutes * 60;
            if *sign == b'-' { -offset } else { offset }
        }
        _ => return None,
    };
    Timestamp::new(days * 86_400 + hour * 3600 + minute * 60 + second - offset, nanos)
}

/// A length of time as `string()` writes it: seconds.
pub(crate) fn duration_text(nanos: i64) -> String {
    let seconds = nanos.unsigned_abs() / NANOS as u64;
    let fraction = nanos.unsigned_abs() % NANOS as u64;
    let sign = if nanos < 0 { "-" } else { "" };
    if fraction == 0 {
        return format!("{sign}{seconds}s");
    }
    let fraction = format!("{fraction:09}");
    format!("{sign}{seconds}.{}s", fraction.trim_end_matches('0'))
}

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "getFullYear" => |args| part(args, |civil, _| civil.year, None),
        "getMonth" => |args| part(args, |civil, _| civil.month - 1, None),
        "getDate" => |args| part(args, |civil, _| civil.day, None),
        "getDayOfMonth" => |args| part(args, |civil, _| civil.day - 1, None),
        "getDayOfWeek" => |args| part(args, |civil, _| civil.weekday, None),
        "getDayOfYear" => |args| part(args, |civil, _| civil.day_of_year, None),
        "getHours" => |args| part(args, |civil, _| civil.second_of_day / 3600, Some(3600 * NANOS)),
        "getMinutes" => |args| part(args, |civil, _| civil.second_of_day / 60 % 60, Some(60 * NANOS)),
        "getSeconds" => |args| part(args, |civil, _| civil.second_of_day % 60, Some(NANOS)),
        "getMilliseconds" => |args| match args {
            [Value::Duration(nanos)] => Ok(Value::Int(nanos / 1_000_000)),
            _ => part(args, |_, nanos| i64::from(nanos) / 1_000_000, None),
        },
        _ => return None,
    })
}

fn part<'a>(args: &[Value<'a>], of: fn(&Civil, u32) -> i64, unit: Option<i64>) -> Outcome<'a> {
    match (args, unit) {
        ([Value::Duration(nanos)], Some(unit)) => Ok(Value::Int(nanos / unit)),
        ([Value::Timestamp(at)], _) => Ok(Value::Int(of(&civil(at.seconds), at.nanos))),
        ([Value::Timestamp(at), Value::String(zone)], _) => {
            let offset = zones::offset(zone.as_str(), at.seconds)?;
            Ok(Value::Int(of(&civil(at.seconds.saturating_add(offset)), at.nanos)))
        }
        _ => wrong(),
    }
}
