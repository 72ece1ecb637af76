//! Cron schedules as `github.com/robfig/cron/v3` reads them for Kubernetes: five fields, or a descriptor such as `@daily`
//! or `@every 1h30m`.
//!
//! What is here knows no calendar: who has one asks [`Fields`] about its months, days, hours and minutes.
//!
//! ```
//! use kubewright_apimachinery::cron::{Schedule, Times};
//!
//! let schedule = Schedule::parse("30 8 * * MON-FRI", |_| Ok(())).unwrap();
//! let Times::Fields(fields) = schedule.times else { unreachable!() };
//! assert!(fields.has_day(14, 5) && !fields.has_day(14, 6));
//! assert!(fields.has_hour(8) && fields.has_minute(30));
//!
//! let error = Schedule::parse("60 * * * *", |_| Ok(())).unwrap_err();
//! assert_eq!(error, "end of range (60) above maximum (59): 60");
//! ```

use crate::duration;
use crate::go::quote;

/// When something is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The time zone that the schedule begins with (`TZ=Asia/Tokyo`), if it does.
    pub location: Option<String>,
    /// The times.
    pub times: Times,
}

/// The times of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// The minutes that all fields allow.
    Fields(Fields),
    /// Again and again after so many seconds, at least one.
    Every {
        /// The seconds between two times.
        seconds: u64,
    },
}

/// What the five fields of a schedule allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    minutes: Bits,
    hours: Bits,
    days: Bits,
    months: Bits,
    weekdays: Bits,
}

/// The numbers that a field allows, and whether it allows all because it says `*`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bits {
    bits: u64,
    is_star: bool,
}

impl Bits {
    fn has(self, number: u8) -> bool {
        number < 64 && self.bits & (1 << number) != 0
    }
}

impl Fields {
    /// Whether a month is allowed; January is 1.
    pub fn has_month(&self, month: u8) -> bool {
        self.months.has(month)
    }

    /// Whether a day is allowed, by its number in the month and in the week; Sunday is 0. If both fields are restricted,
    /// one that allows it is enough.
    pub fn has_day(&self, day: u8, weekday: u8) -> bool {
        let (day, weekday) = (self.days.has(day), self.weekdays.has(weekday));
        if self.days.is_star || self.weekdays.is_star {
            day && weekday
        } else {
            day || weekday
        }
    }

    /// Whether an hour is allowed.
    pub fn has_hour(&self, hour: u8) -> bool {
        self.hours.has(hour)
    }

    /// Whether a minute is allowed.
    pub fn has_minute(&self, minute: u8) -> bool {
        self.minutes.has(minute)
    }
}

impl Schedule {
    /// Reads a schedule. The error is the sentence of upstream's parser. `load_location` says why there is no time zone of
    /// a name; a schedule that names none does not ask.
    pub fn parse(text: &str, load_location: impl FnOnce(&str) -> Result<(), String>) -> Result<Self, String> {
        if text.is_empty() {
            return Err("empty spec string".to_owned());
        }
        let (mut text, mut location) = (text, None);
        if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
            let Some((zone, rest)) = text.split_once(' ') else {
                // Upstream's parser panics here, and the panic is reported as an error.
                return Err("invalid schedule format: runtime error: slice bounds out of range [:-1]".to_owned());
            };
            let zone = zone.split_once('=').map_or(zone, |(_, zone)| zone);
            load_location(zone).map_err(|error| format!("provided bad location {zone}: {error}"))?;
            location = Some(zone.to_owned());
            text = rest.trim();
        }
        let times = if text.starts_with('@') {
            descriptor(text)?
        } else {
            Times::Fields(fields(text)?)
        };
        Ok(Schedule { location, times })
    }
}

fn descriptor(text: &str) -> Result<Times, String> {
    let same_as = match text {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        _ => {
            let Some(period) = text.strip_prefix("@every ") else {
                return Err(format!("unrecognized descriptor: {text}"));
            };
            let period =
                duration::parse(period).map_err(|error| format!("failed to parse duration {text}: {error}"))?;
            let seconds = u64::try_from(period / 1_000_000_000).unwrap_or(0).max(1);
            return Ok(Times::Every { seconds });
        }
    };
    fields(same_as).map(Times::Fields)
}

fn fields(text: &str) -> Result<Fields, String> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [minutes, hours, days, months, weekdays] = fields[..] else {
        let count = fields.len();
        return Err(format!(
            "expected exactly 5 fields, found {count}: [{}]",
            fields.join(" ")
        ));
    };
    Ok(Fields {
        minutes: MINUTES.field(minutes)?,
        hours: HOURS.field(hours)?,
        days: DAYS.field(days)?,
        months: MONTHS.field(months)?,
        weekdays: WEEKDAYS.field(weekdays)?,
    })
}

struct Bounds {
    min: u64,
    max: u64,
    /// What the numbers from `min` on are also called.
    names: &'static [&'static str],
}

const MINUTES: Bounds = Bounds::new(0, 59, &[]);
const HOURS: Bounds = Bounds::new(0, 23, &[]);
const DAYS: Bounds = Bounds::new(1, 31, &[]);
const MONTHS: Bounds = Bounds::new(
    1,
    12,
    &[
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ],
);
const WEEKDAYS: Bounds = Bounds::new(0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]);

impl Bounds {
    const fn new(min: u64, max: u64, names: &'static [&'static str]) -> Self {
        Bounds { min, max, names }
    }

    fn field(&self, text: &str) -> Result<Bits, String> {
        let mut all = Bits::default();
        for range in text.split(',').filter(|range| !range.is_empty()) {
            let Bits { bits, is_star } = self.range(range)?;
            all.bits |= bits;
            all.is_star |= is_star;
        }
        Ok(all)
    }

    fn range(&self, range: &str) -> Result<Bits, String> {
        let mut parts = range.split('/');
        let ends: Vec<&str> = parts.next().unwrap_or_default().split('-').collect();
        let mut is_star = matches!(ends[0], "*" | "?");
        let (start, mut end) = if is_star {
            (self.min, self.max)
        } else {
            let start = self.number_or_name(ends[0])?;
            match ends[..] {
                [_] => (start, start),
                [_, end] => (start, self.number_or_name(end)?),
                _ => return Err(format!("too many hyphens: {range}")),
            }
        };
        let step = match (parts.next(), parts.next()) {
            (None, _) => 1,
            (Some(step), None) => {
                let step = number(step)?;
                // A single value with a step goes on to the end.
                if ends.len() == 1 {
                    end = self.max;
                }
                is_star &= step <= 1;
                step
            }
            (Some(_), Some(_)) => return Err(format!("too many slashes: {range}")),
        };
        let Bounds { min, max, .. } = self;
        if start < *min {
            return Err(format!("beginning of range ({start}) below minimum ({min}): {range}"));
        }
        if end > *max {
            return Err(format!("end of range ({end}) above maximum ({max}): {range}"));
        }
        if start > end {
            return Err(format!(
                "beginning of range ({start}) beyond end of range ({end}): {range}"
            ));
        }
        let step = usize::try_from(step).unwrap_or(usize::MAX);
        if step == 0 {
            return Err(format!("step of range should be a positive number: {range}"));
        }
        let bits = (start..=end).step_by(step).fold(0, |bits, number| bits | 1 << number);
        Ok(Bits { bits, is_star })
    }

    fn number_or_name(&self, text: &str) -> Result<u64, String> {
        let lower = text.to_lowercase();
        match (self.min..).zip(self.names).find(|(_, name)| **name == lower) {
            Some((value, _)) => Ok(value),
            None => number(text),
        }
    }
}

/// A number as `strconv.Atoi` reads it, which must not be negative.
fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let problem = if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        "invalid syntax"
    } else {
        match text.parse::<i64>() {
            Ok(number) if number < 0 => return Err(format!("negative number ({number}) not allowed: {text}")),
            Ok(number) => return Ok(number.unsigned_abs()),
            Err(_) => "value out of range",
        }
    };
    Err(format!(
        "failed to parse int from {text}: strconv.Atoi: parsing {}: {problem}",
        quote(text)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Schedule, String> {
        Schedule::parse(text, |zone| match zone {
            "UTC" => Ok(()),
            _ => Err(format!("unknown time zone {zone}")),
        })
    }

    fn fields(text: &str) -> Fields {
        match parse(text).map(|schedule| schedule.times) {
            Ok(Times::Fields(fields)) => fields,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn the_usual_schedules_are_fine() {
        for schedule in [
            "* * * * *",
            "*/5 0-6 1,15 JAN mon",
            "@daily",
            "@every -5s",
            "1,,2 * * * *",
            "? * * * ?",
        ] {
            assert!(parse(schedule).is_ok(), "{schedule}");
        }
        assert_eq!(parse("@every 1h30m").unwrap().times, Times::Every { seconds: 5400 });
        assert_eq!(parse("@every 1500ms").unwrap().times, Times::Every { seconds: 1 });
        let zoned = parse("CRON_TZ=UTC  @daily").unwrap();
        assert_eq!(zoned.location.as_deref(), Some("UTC"));
        assert_eq!(zoned.times, parse("0 0 * * *").unwrap().times);
    }

    #[test]
    fn fields_are_numbers_names_ranges_and_steps() {
        let minutes = |text: &str| -> Vec<u8> {
            let fields = fields(&format!("{text} * * * *"));
            (0..64).filter(|minute| fields.has_minute(*minute)).collect()
        };
        assert_eq!(minutes("3"), [3]);
        assert_eq!(minutes("50/4"), [50, 54, 58]);
        assert_eq!(minutes("10-20/5,0"), [0, 10, 15, 20]);
        assert_eq!(minutes("*").len(), 60);
        let fields = fields("0 0 1 feb-MAR *");
        assert!(fields.has_month(2) && fields.has_month(3) && !fields.has_month(4));
    }

    #[test]
    fn a_day_and_a_weekday_are_either_or_unless_one_is_a_star() {
        let (friday, saturday) = (5, 6);
        assert!(fields("0 0 15 * FRI").has_day(15, saturday) && fields("0 0 15 * FRI").has_day(1, friday));
        assert!(!fields("0 0 * * FRI").has_day(15, saturday) && !fields("0 0 15 * */1").has_day(1, friday));
        // A star with a step does not count as a star.
        assert!(fields("0 0 */2 * FRI").has_day(3, saturday) && fields("0 0 */2 * FRI").has_day(2, friday));
    }

    #[test]
    fn mistakes_are_told_in_the_words_of_the_parser() {
        for (schedule, error) in [
            ("", "empty spec string"),
            ("x", "expected exactly 5 fields, found 1: [x]"),
            (
                "a * * * *",
                r#"failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax"#,
            ),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("*/-1 * * * *", "negative number (-1) not allowed: -1"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            (
                "99999999999999999999 * * * *",
                r#"failed to parse int from 99999999999999999999: strconv.Atoi: parsing "99999999999999999999": value out of range"#,
            ),
            ("@foo", "unrecognized descriptor: @foo"),
            (
                "@every 5",
                r#"failed to parse duration @every 5: time: missing unit in duration "5""#,
            ),
            (
                "@every x",
                r#"failed to parse duration @every x: time: invalid duration "x""#,
            ),
            (
                "@every 5x",
                r#"failed to parse duration @every 5x: time: unknown unit "x" in duration "5x""#,
            ),
            (
                "@every ",
                r#"failed to parse duration @every : time: invalid duration """#,
            ),
            ("TZ=Foo * * * * *", "provided bad location Foo: unknown time zone Foo"),
            (
                "TZ=UTC",
                "invalid schedule format: runtime error: slice bounds out of range [:-1]",
            ),
        ] {
            assert_eq!(parse(schedule), Err(error.to_owned()), "{schedule}");
        }
    }
}
