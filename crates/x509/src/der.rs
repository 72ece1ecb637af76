//! A reader and a writer of DER: tag, length, content.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

pub(crate) const BOOLEAN: u8 = 0x01;
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(crate) const UTC_TIME: u8 = 0x17;
pub(crate) const GENERALIZED_TIME: u8 = 0x18;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;

/// The bytes left to read. Every method reads the next element, and returns `None` where that is malformed or has another tag.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'d>(pub(crate) &'d [u8]);

/// A value with its header, and its content alone.
#[derive(Clone, Copy)]
pub(crate) struct Element<'d> {
    pub(crate) tag: u8,
    pub(crate) whole: &'d [u8],
    pub(crate) content: &'d [u8],
}

impl<'d> Reader<'d> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the next element has this tag.
    pub(crate) fn is_at(&self, tag: u8) -> bool {
        self.0.first() == Some(&tag)
    }

    pub(crate) fn element(&mut self) -> Option<Element<'d>> {
        let start = self.0;
        let (&tag, rest) = start.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            short @ 0..=0x7f => (usize::from(short), rest),
            // DER has no indefinite form, and lengths beyond four gigabytes are refused.
            long @ 0x81..=0x84 => {
                let (length, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
                (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(Element {
            tag,
            whole: &start[..start.len() - rest.len()],
            content,
        })
    }

    /// An element with this tag.
    pub(crate) fn expect(&mut self, tag: u8) -> Option<Element<'d>> {
        self.element().filter(|element| element.tag == tag)
    }

    /// The content of an element with this tag.
    pub(crate) fn content(&mut self, tag: u8) -> Option<&'d [u8]> {
        self.expect(tag).map(|element| element.content)
    }

    /// The elements in an element with this tag.
    pub(crate) fn inside(&mut self, tag: u8) -> Option<Reader<'d>> {
        self.content(tag).map(Reader)
    }

    /// A bit string of whole bytes.
    pub(crate) fn bits(&mut self) -> Option<&'d [u8]> {
        let (unused, bits) = self.content(BIT_STRING)?.split_first()?;
        (*unused == 0).then_some(bits)
    }

    /// A time, in either of the two forms that certificates have.
    pub(crate) fn time(&mut self) -> Option<Timestamp> {
        let Element { tag, content, .. } = self.element()?;
        let digits = content.strip_suffix(b"Z")?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let pair =
            |at: usize| Some(i8::try_from(digits.get(at)? - b'0').ok()? * 10 + (digits.get(at + 1)? - b'0') as i8);
        let (year, rest) = match (tag, digits.len()) {
            // RFC 5280: years of two digits are 1950 to 2049.
            (UTC_TIME, 12) => {
                let year = i16::from(pair(0)?);
                (if year < 50 { 2000 + year } else { 1900 + year }, 2)
            }
            (GENERALIZED_TIME, 14) => (i16::from(pair(0)?) * 100 + i16::from(pair(2)?), 4),
            _ => return None,
        };
        let [month, day, hour, minute, second] = [0, 2, 4, 6, 8].map(|at| pair(rest + at));
        let time = DateTime::new(year, month?, day?, hour?, minute?, second?, 0).ok()?;
        // RFC 5280 writes "never expires" as 9999-12-31T23:59:59Z, which is some hours after `Timestamp::MAX`.
        let zoned = TimeZone::UTC.to_ambiguous_zoned(time).compatible();
        let limit = if year < 9999 { None } else { Some(Timestamp::MAX) };
        zoned.ok().map(|zoned| zoned.timestamp()).or(limit)
    }
}

/// An element of DER.
pub(crate) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut der = vec![tag];
    if let Ok(short @ 0..=0x7f) = u8::try_from(content.len()) {
        der.push(short);
    } else {
        let length = content.len().to_be_bytes();
        let length = &length[length.iter().position(|byte| *byte != 0).unwrap_or(0)..];
        der.push(0x80 | u8::try_from(length.len()).unwrap_or(0x7f));
        der.extend_from_slice(length);
    }
    der.extend_from_slice(content);
    der
}
