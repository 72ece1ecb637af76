//! From when to when a certificate is valid: the one thing of a certificate that rustls does not tell.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// From when to when a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) not_before: Timestamp,
    pub(crate) not_after: Timestamp,
}

impl Validity {
    /// Reads it from a certificate in DER. `None` for what is not one.
    pub(crate) fn of(der: &[u8]) -> Option<Self> {
        let mut certificate = Reader(der).content(SEQUENCE)?;
        let mut signed = certificate.content(SEQUENCE)?;
        if signed.0.first() == Some(&VERSION) {
            signed.content(VERSION)?;
        }
        signed.content(INTEGER)?; // the serial number
        signed.content(SEQUENCE)?; // the algorithm
        signed.content(SEQUENCE)?; // the issuer
        let mut validity = signed.content(SEQUENCE)?;
        Some(Validity {
            not_before: validity.time()?,
            not_after: validity.time()?,
        })
    }

    /// Whether it is valid at a time.
    pub(crate) fn covers(&self, now: Timestamp) -> bool {
        self.not_before <= now && now <= self.not_after
    }
}

/// DER that is yet to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The next value, whatever it is.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let mut length = usize::from(first);
        if first & 0x80 != 0 {
            let bytes = usize::from(first & 0x7f);
            // The indefinite form is not DER, and nothing here has four gigabytes.
            if !(1..=4).contains(&bytes) || rest.len() < bytes {
                return None;
            }
            let (digits, behind) = rest.split_at(bytes);
            length = digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
            rest = behind;
        }
        let (content, behind) = rest.split_at_checked(length)?;
        self.0 = behind;
        Some((tag, content))
    }

    /// What is in the next value, which must be of this kind.
    fn content(&mut self, wanted: u8) -> Option<Reader<'a>> {
        let (tag, content) = self.next()?;
        (tag == wanted).then_some(Reader(content))
    }

    fn time(&mut self) -> Option<Timestamp> {
        let (tag, text) = self.next()?;
        let digits = text.strip_suffix(b"Z")?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let pair =
            |at: usize| Some(i8::try_from(digits.get(at)? - b'0').ok()? * 10 + (digits.get(at + 1)? - b'0') as i8);
        let (year, rest) = match (tag, digits.len()) {
            // RFC 5280: two digits are of 1950 to 2049.
            (UTC_TIME, 12) => {
                let year = i16::from(pair(0)?);
                (if year < 50 { 2000 + year } else { 1900 + year }, 2)
            }
            (GENERALIZED_TIME, 14) => (i16::from(pair(0)?) * 100 + i16::from(pair(2)?), 4),
            _ => return None,
        };
        let [month, day, hour, minute, second] = [0, 2, 4, 6, 8].map(|at| pair(rest + at));
        let time = DateTime::new(year, month?, day?, hour?, minute?, second?, 0).ok()?;
        // RFC 5280 has 9999-12-31 for "never", which is some hours behind the end of time here.
        let zoned = TimeZone::UTC.to_ambiguous_zoned(time).compatible();
        let limit = if year < 9999 { None } else { Some(Timestamp::MAX) };
        zoned.ok().map(|zoned| zoned.timestamp()).or(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(from: (i32, u8, u8), to: (i32, u8, u8)) -> Vec<u8> {
        let mut params = rcgen::CertificateParams::new(["a.example.com".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(from.0, from.1, from.2);
        params.not_after = rcgen::date_time_ymd(to.0, to.1, to.2);
        let key = rcgen::KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn both_ways_of_writing_a_time_are_read() {
        let validity = Validity::of(&made((1999, 12, 31), (2061, 2, 28))).unwrap();
        assert_eq!(validity.not_before, "1999-12-31T00:00:00Z".parse().unwrap());
        assert_eq!(validity.not_after, "2061-02-28T00:00:00Z".parse().unwrap());
        assert!(validity.covers("2026-01-01T00:00:00Z".parse().unwrap()));
        assert!(!validity.covers("2061-02-28T00:00:01Z".parse().unwrap()));
    }

    #[test]
    fn what_never_ends_is_valid_until_the_end_of_time() {
        let validity = Validity::of(&made((2020, 1, 1), (9999, 12, 31))).unwrap();
        assert_eq!(validity.not_after, Timestamp::MAX);
    }

    #[test]
    fn what_is_cut_short_is_no_certificate() {
        let whole = made((2020, 1, 1), (2030, 1, 1));
        for length in 0..whole.len() {
            assert_eq!(Validity::of(&whole[..length]), None, "{length}");
        }
    }
}
