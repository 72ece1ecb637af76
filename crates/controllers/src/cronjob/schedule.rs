//! Schedules as cron writes them, by the rules of the parser upstream uses: five fields, names, steps, `@daily`, `@every`.

use std::time::Duration;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp, ToSpan, Zoned};

/// When something is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Schedule {
    /// At these times.
    Fields(Box<Fields>),
    /// Again and again after this long.
    Every(Duration),
}

/// The minutes, hours and days that are meant, as bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether days or weekdays are all meant: then the other decides alone.
    any_day: bool,
}

/// Why a schedule cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ScheduleError {
    #[error("expected exactly 5 fields, found {0}: {1}")]
    Count(usize, String),
    #[error("failed to parse field {0:?} of {1:?}")]
    Field(String, String),
    #[error("unrecognized descriptor: {0}")]
    Descriptor(String),
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Schedule {
    /// Reads a schedule.
    pub(super) fn parse(text: &str) -> Result<Self, ScheduleError> {
        let text = text.trim();
        if let Some(name) = text.strip_prefix('@') {
            return descriptor(name).ok_or_else(|| ScheduleError::Descriptor(text.to_owned()));
        }
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields.as_slice() else {
            return Err(ScheduleError::Count(fields.len(), text.to_owned()));
        };
        let read = |field: &str, first: u32, last: u32, names: &[&str]| {
            bits(field, first, last, names).ok_or_else(|| ScheduleError::Field(field.to_owned(), text.to_owned()))
        };
        let is_any = |field: &str| {
            field
                .split(',')
                .any(|part| matches!(part.split('/').next(), Some("*" | "?")))
        };
        Ok(Schedule::Fields(Box::new(Fields {
            minutes: read(minutes, 0, 59, &[])?,
            hours: read(hours, 0, 23, &[])?,
            days: read(days, 1, 31, &[])?,
            months: read(months, 1, 12, &MONTHS)?,
            weekdays: read(weekdays, 0, 6, &WEEKDAYS)?,
            any_day: is_any(days) || is_any(weekdays),
        })))
    }

    /// The next time after a moment; none if there is none within five years.
    pub(super) fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Schedule::Every(period) => {
                let whole = Timestamp::from_second(after.as_second()).ok()?;
                whole.checked_add(SignedDuration::try_from(*period).ok()?).ok()
            }
            Schedule::Fields(fields) => fields.next(after, zone),
        }
    }
}

fn descriptor(name: &str) -> Option<Schedule> {
    let fields = match name {
        "yearly" | "annually" => "0 0 1 1 *",
        "monthly" => "0 0 1 * *",
        "weekly" => "0 0 * * 0",
        "daily" | "midnight" => "0 0 * * *",
        "hourly" => "0 * * * *",
        _ => {
            let period = every(name.strip_prefix("every ")?.trim())?;
            return Some(Schedule::Every(period.max(Duration::from_secs(1))));
        }
    };
    Schedule::parse(fields).ok()
}

/// A duration as Go writes it, in whole seconds.
fn every(text: &str) -> Option<Duration> {
    let mut seconds: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let number: u64 = rest[..end].parse().ok()?;
        let unit = rest[end..].chars().next()?;
        let factor = match unit {
            'h' => 3600,
            'm' => 60,
            's' => 1,
            _ => return None,
        };
        seconds = seconds.checked_add(number.checked_mul(factor)?)?;
        rest = &rest[end + unit.len_utf8()..];
    }
    (!text.is_empty()).then(|| Duration::from_secs(seconds))
}

/// The values a field means, as bits.
fn bits(field: &str, first: u32, last: u32, names: &[&str]) -> Option<u64> {
    let mut all = 0;
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step.parse::<u32>().ok().filter(|step| *step > 0)?)),
            None => (part, None),
        };
        let value = |text: &str| -> Option<u32> {
            let name = text.to_ascii_lowercase();
            match names.iter().position(|known| *known == name) {
                Some(place) => Some(u32::try_from(place).ok()? + first),
                None => text.parse().ok(),
            }
        };
        let (from, to) = match range {
            "*" | "?" => (first, last),
            range => match range.split_once('-') {
                Some((from, to)) => (value(from)?, value(to)?),
                // A single value with a step goes on to the end.
                None if step.is_some() => (value(range)?, last),
                None => (value(range)?, value(range)?),
            },
        };
        if from < first || to > last || from > to {
            return None;
        }
        let step = usize::try_from(step.unwrap_or(1)).ok()?;
        for number in (from..=to).step_by(step) {
            all |= 1 << number;
        }
    }
    Some(all)
}

impl Fields {
    fn means_day(&self, time: &Zoned) -> bool {
        let day = has(self.days, time.day().into());
        let weekday = has(self.weekdays, time.weekday().to_sunday_zero_offset().into());
        if self.any_day { day && weekday } else { day || weekday }
    }

    /// As robfig's cron walks: by months and days of the calendar, by hours and minutes that really pass. A time that is
    /// skipped when clocks go forward is not met, and one that comes twice is met twice.
    fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let minute = after.as_second().div_euclid(60) * 60 + 60;
        let mut time = Timestamp::from_second(minute).ok()?.to_zoned(zone.clone());
        let last_year = time.year().checked_add(5)?;
        loop {
            if time.year() > last_year {
                return None;
            }
            time = if !has(self.months, time.month().into()) {
                let first = time.first_of_month().ok()?;
                midnight(&first.checked_add(1.month()).ok()?)?
            } else if !self.means_day(&time) {
                midnight(&time.checked_add(1.day()).ok()?)?
            } else if !has(self.hours, time.hour().into()) {
                let to_the_hour = 60 - i64::from(time.minute());
                time.checked_add(Span::new().minutes(to_the_hour)).ok()?
            } else if !has(self.minutes, time.minute().into()) {
                time.checked_add(1.minute()).ok()?
            } else {
                return Some(time.timestamp());
            };
        }
    }
}

fn midnight(time: &Zoned) -> Option<Zoned> {
    time.date()
        .to_datetime(Time::midnight())
        .to_zoned(time.time_zone().clone())
        .ok()
}

fn has(bits: u64, number: i64) -> bool {
    u32::try_from(number).is_ok_and(|number| number < 64 && bits & (1 << number) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str) -> String {
        let schedule = Schedule::parse(schedule).unwrap();
        let next = schedule.next(after.parse().unwrap(), &TimeZone::UTC);
        next.map_or_else(|| "never".to_owned(), |next| next.to_string())
    }

    #[test]
    fn the_next_time_is_found() {
        let after = "2026-03-01T12:34:56Z"; // a Sunday
        assert_eq!(next("* * * * *", after), "2026-03-01T12:35:00Z");
        assert_eq!(next("*/15 * * * *", after), "2026-03-01T12:45:00Z");
        assert_eq!(next("0 9-17/4 * * *", after), "2026-03-01T13:00:00Z");
        assert_eq!(next("30 8 * * MON", after), "2026-03-02T08:30:00Z");
        assert_eq!(next("0 0 31 * *", after), "2026-03-31T00:00:00Z");
        assert_eq!(next("0 0 29 feb *", after), "2028-02-29T00:00:00Z");
        assert_eq!(next("0 0 30 2 *", after), "never");
        assert_eq!(next("@daily", after), "2026-03-02T00:00:00Z");
        assert_eq!(next("@every 1h30m", after), "2026-03-01T14:04:56Z");
    }

    #[test]
    fn a_day_and_a_weekday_are_either_or_unless_one_is_any() {
        assert_eq!(next("0 0 15 * FRI", "2026-03-01T00:00:00Z"), "2026-03-06T00:00:00Z");
        assert_eq!(next("0 0 15 * FRI", "2026-03-13T00:00:00Z"), "2026-03-15T00:00:00Z");
        assert_eq!(next("0 0 */2 * FRI", "2026-03-01T00:00:00Z"), "2026-03-13T00:00:00Z");
    }

    #[test]
    fn nonsense_is_refused() {
        for wrong in [
            "",
            "* * * *",
            "60 * * * *",
            "5-1 * * * *",
            "*/0 * * * *",
            "x * * * *",
            "* * * * 7",
            "@sometimes",
            "@every soon",
        ] {
            assert!(Schedule::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn clocks_that_go_forward_skip_and_clocks_that_go_back_repeat() {
        let Ok(zone) = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3") else {
            panic!("a zone by its rules");
        };
        let at = |schedule: &str, after: &str| {
            let schedule = Schedule::parse(schedule).unwrap();
            schedule.next(after.parse().unwrap(), &zone).unwrap().to_string()
        };
        // On 29 March 2026 there is no half past two.
        assert_eq!(at("30 2 * * *", "2026-03-29T00:00:00Z"), "2026-03-30T00:30:00Z");
        // On 25 October there are two.
        assert_eq!(at("30 2 * * *", "2026-10-25T00:00:00Z"), "2026-10-25T00:30:00Z");
        assert_eq!(at("30 2 * * *", "2026-10-25T00:30:00Z"), "2026-10-25T01:30:00Z");
    }
}
