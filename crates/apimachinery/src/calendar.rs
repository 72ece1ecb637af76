//! Dates of the proleptic Gregorian calendar, which Go's `time` counts in, as days since January 1, 1970.

/// How many days lie between the years 0 (from March on) and 1970.
const DAYS_BEFORE_1970: i64 = 719_468;
const DAYS_OF_400_YEARS: i64 = 146_097;

/// The number of days from January 1, 1970, to a date.
///
/// ```
/// use kubewright_apimachinery::calendar::{date, days_since_1970};
///
/// assert_eq!(days_since_1970(1970, 1, 1), 0);
/// assert_eq!(days_since_1970(2024, 2, 29), 19_782);
/// assert_eq!(date(19_782), (2024, 2, 29));
/// ```
pub fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is their last.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_OF_400_YEARS + day_of_era - DAYS_BEFORE_1970
}

/// The year, month and day that are so many days after January 1, 1970.
pub fn date(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_BEFORE_1970;
    let (era, day_of_era) = (days.div_euclid(DAYS_OF_400_YEARS), days.rem_euclid(DAYS_OF_400_YEARS));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// How many days a month has.
pub fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_four_centuries_is_its_date_again() {
        let (mut year, mut month, mut day) = (1799, 3, 1);
        for days in days_since_1970(1799, 3, 1)..days_since_1970(2200, 3, 1) {
            assert_eq!(date(days), (year, month, day));
            assert_eq!(days_since_1970(year, month, day), days);
            day += 1;
            if day > days_in_month(year, month) {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!((year, month, day), (2200, 3, 1));
        assert_eq!(days_since_1970(1, 1, 1), -719_162);
        assert_eq!(date(-719_162), (1, 1, 1));
    }
}
