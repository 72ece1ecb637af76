//! Timestamps: strings to a reader, but quoted by the writer, since other readers take them for times.

use kubewright_apimachinery::calendar::days_in_month;

/// Whether Go's `yaml` recognises a timestamp: a date, or a date and a time, with one or two digits for everything but
/// the year.
pub(super) fn is_timestamp(text: &str) -> bool {
    // Cheap refusal of nearly everything.
    if text.len() < 8 || text.as_bytes()[4] != b'-' || !text.is_ascii() {
        return false;
    }
    let mut rest = Rest(text);
    let Some(()) = rest.date() else { return false };
    if rest.0.is_empty() {
        return true;
    }
    if rest.skip("T") || rest.skip("t") {
        return rest.time().and_then(|()| rest.zone()).is_some() && rest.0.is_empty();
    }
    let spaces = rest.0.len() - rest.0.trim_start_matches(' ').len();
    rest.0 = &rest.0[spaces..];
    spaces > 0 && rest.time().is_some() && rest.0.is_empty()
}

struct Rest<'a>(&'a str);

impl Rest<'_> {
    fn skip(&mut self, prefix: &str) -> bool {
        let rest = self.0.strip_prefix(prefix);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, prefix: &str) -> Option<()> {
        self.skip(prefix).then_some(())
    }

    /// One digit or two.
    fn number(&mut self, most: usize) -> Option<i64> {
        let digits = self.0.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.0.split_at(digits);
        self.0 = rest;
        number.parse().ok()
    }

    fn date(&mut self) -> Option<()> {
        let year = self.number(4)?;
        self.expect("-")?;
        let month = self.number(2)?;
        self.expect("-")?;
        let day = self.number(2)?;
        ((1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day)).then_some(())
    }

    fn time(&mut self) -> Option<()> {
        let hour = self.number(2)?;
        self.expect(":")?;
        let minute = self.number(2)?;
        self.expect(":")?;
        let second = self.number(2)?;
        if let [b'.' | b',', b'0'..=b'9', ..] = self.0.as_bytes() {
            self.0 = self.0[1..].trim_start_matches(|c: char| c.is_ascii_digit());
        }
        (hour < 24 && minute < 60 && second < 60).then_some(())
    }

    fn zone(&mut self) -> Option<()> {
        if self.skip("Z") {
            return Some(());
        }
        let [b'+' | b'-', a, b, b':', c, d] = *self.0.as_bytes().get(..6)? else {
            return None;
        };
        if ![a, b, c, d].iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.0 = &self.0[6..];
        ([a, b] <= [b'2', b'4'] && [c, d] <= [b'6', b'0']).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_what_go_parses() {
        for yes in [
            "2020-01-01",
            "2020-1-1",
            "2020-02-29",
            "2020-01-01T00:00:00Z",
            "2020-01-01t1:2:3.5+01:00",
            "2020-01-01   10:20:30",
            "2020-01-01 10:20:30.123456789012",
        ] {
            assert!(is_timestamp(yes), "{yes}");
        }
        for no in [
            "2021-02-29",
            "2020-13-01",
            "20-01-01",
            "2020-01-01T00:00:00",
            "2020-01-01 00:00:00Z",
            "2020-01-01T24:00:00Z",
            "2020-01-01x",
            "2020-01-01T00:00:00+0100",
            "2020-1",
        ] {
            assert!(!is_timestamp(no), "{no}");
        }
    }
}
