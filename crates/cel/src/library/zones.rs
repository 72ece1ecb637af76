//! Time zones: by name from the database that is compiled in, or by offset, as Go reads them.

use std::sync::LazyLock;

use jiff::tz::TimeZoneDatabase;

use kubewright_apimachinery::go::quote;

use crate::error::EvalError;

static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

const MINUTE: i64 = 60_000_000_000;

/// Seconds east of Greenwich at a point in time.
pub(super) fn offset(zone: &str, seconds: i64) -> Result<i64, EvalError> {
    match zone.split_once(':') {
        Some((hours, minutes)) => fixed(zone, hours, minutes),
        None => named(zone, seconds),
    }
}

fn fixed(zone: &str, hours: &str, minutes: &str) -> Result<i64, EvalError> {
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let hours = hours.wrapping_mul(60);
    let offset = if zone.starts_with('-') {
        hours.wrapping_sub(minutes)
    } else {
        hours.wrapping_add(minutes)
    };
    // Go counts in nanoseconds and does not look at what overflows.
    Ok(offset.wrapping_mul(MINUTE) / 1_000_000_000)
}

fn number(text: &str) -> Result<i64, EvalError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let failed = |why: &str| EvalError::new(format!("strconv.Atoi: parsing {text}: {why}", text = quote(text)));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(failed("invalid syntax"));
    }
    text.parse().map_err(|_| failed("value out of range"))
}

fn named(zone: &str, seconds: i64) -> Result<i64, EvalError> {
    // The server's own zone is UTC.
    if matches!(zone, "" | "UTC" | "Local") {
        return Ok(0);
    }
    if zone.contains("..") || zone.starts_with(['/', '\\']) {
        return Err(EvalError::fixed("time: invalid location name"));
    }
    let found = ZONES.get(zone).ok();
    // The database ignores case; files on the server's disk do not.
    let Some(found) = found.filter(|found| found.iana_name() == Some(zone)) else {
        return Err(EvalError::new(format!("unknown time zone {zone}")));
    };
    let (first, last) = (jiff::Timestamp::MIN.as_second(), jiff::Timestamp::MAX.as_second());
    let at = jiff::Timestamp::from_second(seconds.clamp(first, last)).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    Ok(i64::from(found.to_offset(at).seconds()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(zone: &str) -> String {
        // 2024-07-01T00:00:00Z
        match offset(zone, 1_719_792_000) {
            Ok(seconds) => seconds.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn zones_are_found_by_name_or_offset() {
        assert_eq!(said("Europe/Berlin"), "7200");
        assert_eq!(said("America/St_Johns"), "-9000");
        assert_eq!(said("UTC"), "0");
        assert_eq!(said("+05:30"), "19800");
        assert_eq!(said("-05:30"), "-19800");
        assert_eq!(said("5:7"), "18420");
        assert_eq!(offset("Europe/Berlin", 1_704_067_200), Ok(3600));
    }

    #[test]
    fn what_is_no_zone_is_refused_with_the_words_of_go() {
        assert_eq!(said("Nowhere/Town"), "unknown time zone Nowhere/Town");
        assert_eq!(said("europe/berlin"), "unknown time zone europe/berlin");
        assert_eq!(said("Z"), "unknown time zone Z");
        assert_eq!(said("../etc"), "time: invalid location name");
        assert_eq!(said("/etc/localtime"), "time: invalid location name");
        assert_eq!(said("a:b"), "strconv.Atoi: parsing \"a\": invalid syntax");
        assert_eq!(said("1:2:3"), "strconv.Atoi: parsing \"2:3\": invalid syntax");
        assert_eq!(
            said("99999999999999999999:0"),
            "strconv.Atoi: parsing \"99999999999999999999\": value out of range"
        );
    }

    #[test]
    fn every_point_in_time_has_an_offset() {
        for seconds in [i64::MIN, -62_135_596_800, 253_402_300_799, i64::MAX] {
            assert!(offset("Europe/Berlin", seconds).is_ok());
        }
    }
}
