//! Cron schedules, and their times by the clocks of a time zone.

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

impl Schedule {
    /// Reads a schedule; the error is the sentence of upstream's parser.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut zone = None;
        let schedule = cron::Schedule::parse(text, |name| {
            zone = Some(TimeZone::get(name).map_err(|_| format!("unknown time zone {name}"))?);
            Ok(())
        })?;
        Ok(Schedule {
            times: schedule.times,
            zone,
        })
    }

    /// The next time after a moment; none if there is none within five years.
    pub fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match &self.times {
            Times::Every { seconds } => {
                let whole = Timestamp::from_second(after.as_second()).ok()?;
                let period = SignedDuration::from_secs(i64::try_from(*seconds).ok()?);
                whole.checked_add(period).ok()
            }
            Times::Fields(fields) => next(fields, after, self.zone.as_ref().unwrap_or(zone)),
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
    fn a_star_with_a_step_restricts_the_days_as_well() {
        assert_eq!(next("0 0 15 * FRI", "2026-03-01T00:00:00Z"), "2026-03-06T00:00:00Z");
        assert_eq!(next("0 0 */2 * FRI", "2026-03-01T00:00:00Z"), "2026-03-03T00:00:00Z");
    }

    #[test]
    fn a_schedule_may_name_its_zone() {
        assert_eq!(next("TZ=UTC 0 0 1 * *", "2026-03-01T12:00:00Z"), "2026-04-01T00:00:00Z");
        assert_eq!(
            Schedule::parse("TZ=Nowhere 0 0 1 * *").unwrap_err(),
            "provided bad location Nowhere: unknown time zone Nowhere"
        );
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
