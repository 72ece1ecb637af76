//! Times as Go's API machinery reads and writes them: `metav1.Time` and `metav1.MicroTime`.

use std::fmt::Write as _;

use kubewright_apimachinery::calendar::{date, days_in_month, days_since_1970};
use kubewright_apimachinery::go::quote::quote_for_time;

/// How a type spells its times.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Seconds,
    Micros,
}

impl Layout {
    fn text(self) -> &'static str {
        match self {
            Layout::Seconds => "2006-01-02T15:04:05Z07:00",
            Layout::Micros => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

/// The time in UTC, as it is written back; `None` for the zero time, which is written as null.
pub(super) fn canonical(layout: Layout, text: &str) -> Result<Option<String>, String> {
    let (seconds, nanos) = parse(layout, text)?;
    Ok(write(layout, seconds, nanos))
}

/// Seconds since 1970 and nanoseconds.
pub(crate) fn parse(layout: Layout, text: &str) -> Result<(i64, u32), String> {
    Parser {
        layout,
        text,
        rest: text,
    }
    .parse()
}

/// The time's text; `None` for the zero time.
pub(crate) fn write(layout: Layout, seconds: i64, nanos: u32) -> Option<String> {
    if seconds == ZERO_TIME && nanos == 0 {
        return None;
    }
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let mut canonical = String::with_capacity(27);
    if year < 0 {
        let _ = write!(canonical, "-{:04}", -year);
    } else {
        let _ = write!(canonical, "{year:04}");
    }
    let _ = write!(canonical, "-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    if layout == Layout::Micros {
        let _ = write!(canonical, ".{:06}", nanos / 1000);
    }
    canonical.push('Z');
    Some(canonical)
}

/// January 1 of year 1: what Go's zero time is.
const ZERO_TIME: i64 = -62_135_596_800;

struct Parser<'v> {
    layout: Layout,
    text: &'v str,
    rest: &'v str,
}

impl Parser<'_> {
    fn parse(mut self) -> Result<(i64, u32), String> {
        let year = self.year()?;
        self.literal("-")?;
        let month = self.number("01", true)?;
        if !(1..=12).contains(&month) {
            return Err(self.out_of_range("month"));
        }
        self.literal("-")?;
        let day = self.number("02", true)?;
        self.literal("T")?;
        let hour = self.number("15", false)?;
        if hour >= 24 {
            return Err(self.out_of_range("hour"));
        }
        self.literal(":")?;
        let minute = self.number("04", true)?;
        if minute >= 60 {
            return Err(self.out_of_range("minute"));
        }
        self.literal(":")?;
        let second = self.number("05", true)?;
        if second >= 60 {
            return Err(self.out_of_range("second"));
        }
        let nanos = match self.layout {
            Layout::Seconds => self.any_fraction(),
            Layout::Micros => self.six_digits()?,
        };
        let offset = self.zone()?;
        if !self.rest.is_empty() {
            return Err(format!(
                "parsing time {}: extra text: {}",
                quote_for_time(self.text),
                quote_for_time(self.rest)
            ));
        }
        if day < 1 || day > days_in_month(year, month) {
            return Err(self.out_of_range("day"));
        }
        Ok((
            days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset,
            nanos,
        ))
    }

    fn digit(&self, at: usize) -> Option<i64> {
        self.rest
            .as_bytes()
            .get(at)
            .filter(|byte| byte.is_ascii_digit())
            .map(|byte| i64::from(byte - b'0'))
    }

    fn year(&mut self) -> Result<i64, String> {
        let digits = (0..4)
            .map(|at| self.digit(at))
            .try_fold(0, |year, digit| Some(year * 10 + digit?));
        let year = digits.ok_or_else(|| self.cannot_parse("2006", self.rest))?;
        self.rest = &self.rest[4..];
        Ok(year)
    }

    /// Two digits; one is enough where it is not `fixed`.
    fn number(&mut self, element: &str, fixed: bool) -> Result<i64, String> {
        let (number, length) = match (self.digit(0), self.digit(1)) {
            (Some(tens), Some(ones)) => (tens * 10 + ones, 2),
            (Some(ones), None) if !fixed => (ones, 1),
            _ => return Err(self.cannot_parse(element, self.rest)),
        };
        self.rest = &self.rest[length..];
        Ok(number)
    }

    fn literal(&mut self, text: &str) -> Result<(), String> {
        self.rest = self
            .rest
            .strip_prefix(text)
            .ok_or_else(|| self.cannot_parse(text, self.rest))?;
        Ok(())
    }

    fn starts_fraction(&self) -> bool {
        self.rest.starts_with(['.', ','])
    }

    /// A fraction that the layout does not have is read nevertheless.
    fn any_fraction(&mut self) -> u32 {
        if !self.starts_fraction() || self.digit(1).is_none() {
            return 0;
        }
        let mut nanos = 0;
        let mut length = 1;
        while let Some(digit) = self.digit(length) {
            if length <= 9 {
                nanos += digit as u32 * 10u32.pow(9 - length as u32);
            }
            length += 1;
        }
        self.rest = &self.rest[length..];
        nanos
    }

    fn six_digits(&mut self) -> Result<u32, String> {
        let bad = |parser: &Self| parser.cannot_parse(".000000", parser.rest);
        if !self.starts_fraction() {
            return Err(bad(self));
        }
        let digits = (1..7)
            .map(|at| self.digit(at))
            .try_fold(0, |micros, digit| Some(micros * 10 + digit?));
        let micros = digits.ok_or_else(|| bad(self))?;
        self.rest = &self.rest[7..];
        Ok(micros as u32 * 1000)
    }

    /// Seconds east of UTC.
    fn zone(&mut self) -> Result<i64, String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let bad = |parser: &Self| parser.cannot_parse("Z07:00", parser.rest);
        let hold = self.rest;
        if hold.as_bytes().get(3) != Some(&b':') || !hold.is_char_boundary(6) || hold.len() < 6 {
            return Err(bad(self));
        }
        let pair = |at| Some(self.digit(at)? * 10 + self.digit(at + 1)?);
        let hours = pair(1);
        let minutes = hours.and_then(|_| pair(4));
        let rest = &hold[6..];
        // Offsets of 24 hours and of 60 minutes are taken.
        if hours.is_some_and(|hours| hours > 24) {
            return Err(self.out_of_range("time zone offset hour"));
        }
        if minutes.is_some_and(|minutes| minutes > 60) {
            return Err(self.out_of_range("time zone offset minute"));
        }
        let (Some(hours), Some(minutes)) = (hours, minutes) else {
            return Err(bad(self));
        };
        let sign = match hold.as_bytes()[0] {
            b'+' => 1,
            b'-' => -1,
            _ => return Err(bad(self)),
        };
        self.rest = rest;
        Ok(sign * (hours * 60 + minutes) * 60)
    }

    fn cannot_parse(&self, element: &str, rest: &str) -> String {
        format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quote_for_time(self.text),
            quote_for_time(self.layout.text()),
            quote_for_time(rest),
            quote_for_time(element)
        )
    }

    fn out_of_range(&self, what: &str) -> String {
        format!("parsing time {}: {what} out of range", quote_for_time(self.text))
    }
}
