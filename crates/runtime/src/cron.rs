//! Cron schedules, as Kubernetes' own `CronJob` reads them: five fields, or a descriptor such as `@daily` or `@every 1h30m`.
//!
//! ```
//! use kubewright_runtime::cron::Schedule;
//!
//! let schedule: Schedule = "30 8 * * MON-FRI".parse().unwrap();
//! let saturday = "2026-03-07T12:00:00Z".parse().unwrap();
//! let monday = "2026-03-09T08:30:00Z".parse().unwrap();
//! assert_eq!(schedule.next_after(saturday), Some(monday));
//!
//! // A program that was away finds the time it missed last.
//! let thursday = "2026-03-12T00:00:00Z".parse().unwrap();
//! assert_eq!(schedule.last_between(saturday, thursday).unwrap().to_string(), "2026-03-11T08:30:00Z");
//!
//! let error = "60 * * * *".parse::<Schedule>().unwrap_err();
//! assert_eq!(error.to_string(), "end of range (60) above maximum (59): 60");
//! ```

use std::str::FromStr;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp, ToSpan, Zoned};
use kubewright_apimachinery::cron::{self, Fields, Times};

/// When something is to be done.
#[derive(Clone, Debug)]
pub struct Schedule {
    times: Times,
    /// The zone that the schedule itself names, which comes before any other.
    zone: Option<TimeZone>,
}

/// What is wrong with the text of a schedule, in the words of Kubernetes' parser (`github.com/robfig/cron`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScheduleError(String);

impl FromStr for Schedule {
    type Err = ScheduleError;

    /// Reads a schedule. It may begin with a time zone, as in `TZ=Asia/Tokyo 0 6 * * *`; the rules of a zone are those of the
    /// machine (`/usr/share/zoneinfo`).
    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let mut zone = None;
        let schedule = cron::Schedule::parse(text, |name| {
            zone = Some(TimeZone::get(name).map_err(|_| format!("unknown time zone {name}"))?);
            Ok(())
        });
        let times = schedule.map_err(ScheduleError)?.times;
        Ok(Schedule { times, zone })
    }
}

impl Schedule {
    /// The next time after a moment, in UTC unless the schedule names a zone; none if there is none within five years.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        self.next_after_in(after, &TimeZone::UTC)
    }

    /// The next time after a moment, by the clocks of a zone unless the schedule names another.
    ///
    /// A time that is skipped when clocks go forward does not come, and one that comes twice when they go back is met twice.
    pub fn next_after_in(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match &self.times {
            Times::Every { seconds } => {
                let whole = Timestamp::from_second(after.as_second()).ok()?;
                let period = SignedDuration::from_secs(i64::try_from(*seconds).ok()?);
                whole.checked_add(period).ok()
            }
            Times::Fields(fields) => next(fields, after, self.zone.as_ref().unwrap_or(zone)),
        }
    }

    /// The last time after one moment and not after another: what a program that was away until now missed last. It takes
    /// few steps, however many times there were.
    ///
    /// An `@every` schedule counts from `after`.
    pub fn last_between(&self, after: Timestamp, until: Timestamp) -> Option<Timestamp> {
        self.last_between_in(after, until, &TimeZone::UTC)
    }

    /// The last time after one moment and not after another, by the clocks of a zone unless the schedule names another.
    pub fn last_between_in(&self, after: Timestamp, until: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        if let Times::Every { seconds } = self.times {
            let period = i64::try_from(seconds).ok()?;
            let periods = until.as_second().checked_sub(after.as_second())?.div_euclid(period);
            let last = after.as_second().checked_add(periods.checked_mul(period)?)?;
            return (periods > 0).then(|| Timestamp::from_second(last).ok())?;
        }
        let next = |from| self.next_after_in(from, zone).filter(|time| *time <= until);
        let mut window = SignedDuration::from_mins(1);
        loop {
            let from = until.checked_sub(window).map_or(after, |from| from.max(after));
            match next(from) {
                None if from > after => window = window.checked_mul(16)?,
                None => return None,
                Some(mut last) => {
                    while let Some(later) = next(last) {
                        last = later;
                    }
                    return Some(last);
                }
            }
        }
    }
}

/// As robfig's cron walks: by months and days of the calendar, by hours and minutes that really pass. A time that is
/// skipped when clocks go forward is not met, and one that comes twice is met twice.
fn next(fields: &Fields, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let minute = after.as_second().div_euclid(60) * 60 + 60;
    let mut time = Timestamp::from_second(minute).ok()?.to_zoned(zone.clone());
    let last_year = time.year().checked_add(5)?;
    loop {
        if time.year() > last_year {
            return None;
        }
        time = if !fields.has_month(unsigned(time.month())) {
            let first = time.first_of_month().ok()?;
            midnight(&first.checked_add(1.month()).ok()?)?
        } else if !fields.has_day(unsigned(time.day()), unsigned(time.weekday().to_sunday_zero_offset())) {
            midnight(&time.checked_add(1.day()).ok()?)?
        } else if !fields.has_hour(unsigned(time.hour())) {
            let to_the_hour = 60 - i64::from(time.minute());
            time.checked_add(Span::new().minutes(to_the_hour)).ok()?
        } else if !fields.has_minute(unsigned(time.minute())) {
            time.checked_add(1.minute()).ok()?
        } else {
            return Some(time.timestamp());
        };
    }
}

fn midnight(time: &Zoned) -> Option<Zoned> {
    time.date()
        .to_datetime(Time::midnight())
        .to_zoned(time.time_zone().clone())
        .ok()
}

/// The calendar counts in signed numbers, none of which is negative.
fn unsigned(number: i8) -> u8 {
    number.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str) -> String {
        let schedule: Schedule = schedule.parse().unwrap();
        let next = schedule.next_after(after.parse().unwrap());
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
    fn a_star_with_a_step_restricts_the_days_as_well() {
        assert_eq!(next("0 0 15 * FRI", "2026-03-01T00:00:00Z"), "2026-03-06T00:00:00Z");
        assert_eq!(next("0 0 */2 * FRI", "2026-03-01T00:00:00Z"), "2026-03-03T00:00:00Z");
    }

    #[test]
    fn a_schedule_may_name_its_zone() {
        assert_eq!(next("TZ=UTC 0 0 1 * *", "2026-03-01T12:00:00Z"), "2026-04-01T00:00:00Z");
        assert_eq!(
            "TZ=Nowhere 0 0 1 * *".parse::<Schedule>().unwrap_err().to_string(),
            "provided bad location Nowhere: unknown time zone Nowhere"
        );
    }

    #[test]
    fn clocks_that_go_forward_skip_and_clocks_that_go_back_repeat() {
        let Ok(zone) = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3") else {
            panic!("a zone by its rules");
        };
        let at = |schedule: &str, after: &str| {
            let schedule: Schedule = schedule.parse().unwrap();
            let next = schedule.next_after_in(after.parse().unwrap(), &zone);
            next.unwrap().to_string()
        };
        // On 29 March 2026 there is no half past two.
        assert_eq!(at("30 2 * * *", "2026-03-29T00:00:00Z"), "2026-03-30T00:30:00Z");
        // On 25 October there are two.
        assert_eq!(at("30 2 * * *", "2026-10-25T00:00:00Z"), "2026-10-25T00:30:00Z");
        assert_eq!(at("30 2 * * *", "2026-10-25T00:30:00Z"), "2026-10-25T01:30:00Z");
    }

    #[test]
    fn the_last_time_is_found_however_many_were_missed() {
        let last = |schedule: &str, after: &str, until: &str| {
            let schedule: Schedule = schedule.parse().unwrap();
            let last = schedule.last_between(after.parse().unwrap(), until.parse().unwrap());
            last.map_or_else(|| "none".to_owned(), |last| last.to_string())
        };
        let (then, now) = ("2021-03-01T12:34:56Z", "2026-03-01T12:34:56Z");
        assert_eq!(last("* * * * *", then, now), "2026-03-01T12:34:00Z");
        assert_eq!(last("0 6 * * *", then, now), "2026-03-01T06:00:00Z");
        assert_eq!(last("0 0 29 2 *", then, now), "2024-02-29T00:00:00Z");
        assert_eq!(last("0 0 30 2 *", then, now), "none");
        assert_eq!(last("@every 1h30m", then, now), "2026-03-01T12:34:56Z");
        // The first moment does not count, the last one does.
        assert_eq!(last("34 12 * * *", "2026-03-01T12:34:00Z", now), "none");
        assert_eq!(
            last("34 12 * * *", "2026-03-01T12:33:59Z", "2026-03-01T12:34:00Z"),
            "2026-03-01T12:34:00Z"
        );
        assert_eq!(last("* * * * *", now, then), "none");
        assert_eq!(last("@every 1h", now, then), "none");
    }
}
