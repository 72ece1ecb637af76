//! String literals: escapes, lone surrogates and bytes that are not UTF-8.

use std::borrow::Cow;

use kubewright_apimachinery::go::utf8::repair;

use super::SyntaxError;
use super::number::unexpected;

/// The text being parsed: valid UTF-8 as a whole, or bytes whose strings need repair.
pub(super) struct Source<'a> {
    pub(super) bytes: &'a [u8],
    text: Option<&'a str>,
}

impl<'a> Source<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            text: std::str::from_utf8(bytes).ok(),
        }
    }

    /// Reads the string whose opening quote is at `quote`; returns it and where it ends (after the closing quote).
    pub(super) fn string(&self, quote: usize) -> Result<(Cow<'a, str>, usize), SyntaxError> {
        let start = quote + 1;
        let at = self.plain_run(start);
        if self.bytes.get(at) == Some(&b'"') {
            return Ok((self.slice(start, at), at + 1));
        }
        self.escaped_string(start, at)
    }

    /// The end of the run of characters that mean themselves.
    fn plain_run(&self, mut at: usize) -> usize {
        while let Some(&chunk) = self.bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
            let special = special_bytes(u64::from_le_bytes(chunk));
            if special != 0 {
                return at + special.trailing_zeros() as usize / 8;
            }
            at += 8;
        }
        while self.bytes.get(at).is_some_and(|&byte| is_plain(byte)) {
            at += 1;
        }
        at
    }

    /// Reads on from `at`, the first byte that is not plain; `start` is where the string's content begins.
    fn escaped_string(&self, start: usize, mut at: usize) -> Result<(Cow<'a, str>, usize), SyntaxError> {
        let mut out = String::from(self.slice(start, at));
        loop {
            match self.bytes.get(at) {
                None => return Err(SyntaxError::end_of_input(at)),
                Some(b'"') => return Ok((Cow::Owned(out), at + 1)),
                Some(b'\\') => at = self.escape(at + 1, &mut out)?,
                Some(_) => return Err(unexpected(self.bytes, at, "in string literal")),
            }
            let end = self.plain_run(at);
            out.push_str(&self.slice(at, end));
            at = end;
        }
    }

    /// Reads the escape whose backslash is before `at`; returns where it ends.
    fn escape(&self, at: usize, out: &mut String) -> Result<usize, SyntaxError> {
        let c = match self.bytes.get(at) {
            Some(b'b') => '\x08',
            Some(b'f') => '\x0c',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(&byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'u') => return self.unicode_escape(at + 1, out),
            _ => return Err(unexpected(self.bytes, at, "in string escape code")),
        };
        out.push(c);
        Ok(at + 1)
    }

    /// Reads four hexadecimal digits, and the second half of a surrogate pair if it follows. A lone half becomes U+FFFD.
    fn unicode_escape(&self, at: usize, out: &mut String) -> Result<usize, SyntaxError> {
        let unit = self.hex(at)?;
        let at = at + 4;
        if let Some(c) = char::from_u32(unit) {
            out.push(c);
            return Ok(at);
        }
        let is_high = unit < 0xDC00;
        if is_high && self.bytes.get(at) == Some(&b'\\') && self.bytes.get(at + 1) == Some(&b'u') {
            let low = self.hex(at + 2)?;
            if (0xDC00..0xE000).contains(&low) {
                let combined = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                out.push(char::from_u32(combined).unwrap_or(char::REPLACEMENT_CHARACTER));
                return Ok(at + 6);
            }
        }
        out.push(char::REPLACEMENT_CHARACTER);
        Ok(at)
    }

    fn hex(&self, at: usize) -> Result<u32, SyntaxError> {
        (at..at + 4).try_fold(0, |unit, at| {
            let digit = self.bytes.get(at).and_then(|&byte| char::from(byte).to_digit(16));
            // The end of the text is a space to Go's scanner, as in numbers.
            let digit = digit.ok_or_else(|| unexpected(self.bytes, at, "in \\u hexadecimal character escape"))?;
            Ok(unit * 16 + digit)
        })
    }

    /// The characters between two offsets that are known to be borders of characters in valid text.
    fn slice(&self, start: usize, end: usize) -> Cow<'a, str> {
        match self.text.and_then(|text| text.get(start..end)) {
            Some(text) => Cow::Borrowed(text),
            None => repair(&self.bytes[start..end]),
        }
    }
}

/// Marks, in the highest bit of each of eight bytes, those that are not plain. Above the lowest mark there may be false
/// ones, which is no matter to whoever looks for the first.
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    let quotes = is_zero(word ^ (ONES * 0x22));
    let backslashes = is_zero(word ^ (ONES * 0x5C));
    (controls | quotes | backslashes) & HIGHS
}

fn is_plain(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}
