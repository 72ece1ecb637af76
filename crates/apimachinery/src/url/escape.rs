//! Percent-coding.

use std::borrow::Cow;
use std::fmt;

use crate::go::quote::{quote, quote_bytes};
use crate::go::utf8::repair;

/// An escape that is not two hexadecimal digits behind a percent sign, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EscapeError(String);

impl fmt::Display for EscapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EscapeError {}

/// A part of a URL: each has characters of its own that stand for themselves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    User,
    Host,
    Zone,
    Path,
    Segment,
    Query,
    Fragment,
}

/// Whether a byte must be escaped there.
fn must_escape(byte: u8, part: Part) -> bool {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => false,
        byte if matches!(part, Part::Host | Part::Zone) => !b"!$&'()*+,;=:[]<>\"".contains(&byte),
        b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'?' | b'@' => match part {
            Part::User => matches!(byte, b'@' | b'/' | b'?' | b':'),
            Part::Path => byte == b'?',
            Part::Segment => matches!(byte, b'/' | b';' | b',' | b'?'),
            Part::Query => true,
            Part::Host | Part::Zone | Part::Fragment => false,
        },
        b'!' | b'(' | b')' | b'*' => part != Part::Fragment,
        _ => true,
    }
}

pub(super) fn escape(bytes: &[u8], part: Part) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte == b' ' && part == Part::Query {
            out.push('+');
        } else if must_escape(byte, part) {
            let digit = |nibble: u8| char::from(HEX[usize::from(nibble)]);
            out.extend(['%', digit(byte >> 4), digit(byte & 0xF)]);
        } else {
            out.push(char::from(byte));
        }
    }
    out
}

/// One segment of a path with its escapes, as `url.PathEscape` writes it: a slash is escaped too.
pub fn path_escape(segment: &str) -> String {
    escape(segment.as_bytes(), Part::Segment)
}

/// A name or a value of a query with its escapes, as `url.QueryEscape` writes it: a space becomes `+`.
pub fn query_escape(text: &str) -> String {
    escape(text.as_bytes(), Part::Query)
}

/// A whole path with its escapes, as `URL.EscapedPath` writes one that has none.
pub fn escape_path(path: &str) -> String {
    if path == "*" {
        return path.to_owned();
    }
    escape(path.as_bytes(), Part::Path)
}

/// A path whose escapes are well-formed with the escapes that Go would choose.
pub(super) fn escape_unescaped_path(path: &str) -> String {
    let bytes = unescaped_bytes(path, Part::Path).unwrap_or(Cow::Borrowed(path.as_bytes()));
    escape(&bytes, Part::Path)
}

/// Whether a path may stand in a URL as it is: every byte is allowed there, or is part of an escape.
pub(super) fn is_valid_path(path: &str) -> bool {
    path.bytes()
        .all(|byte| b"!$&'()*+,;=:@[]%".contains(&byte) || !must_escape(byte, Part::Path))
}

/// Undoes the escapes of a path, as `url.PathUnescape` does. Text without escapes is borrowed.
pub fn path_unescape(text: &str) -> Result<Cow<'_, str>, EscapeError> {
    unescape(text, Part::Segment).map_err(EscapeError)
}

/// Undoes the escapes of a query, where `+` is a space, as `url.QueryUnescape` does. Text without escapes is borrowed.
pub fn query_unescape(text: &str) -> Result<Cow<'_, str>, EscapeError> {
    unescape(text, Part::Query).map_err(EscapeError)
}

/// Undoes the escapes that are well-formed and leaves the others as they are. Go has no such function: this is for showing
/// what somebody sent.
pub fn unescape_valid(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if let Some(value) = escaped_byte(rest) {
            out.push(value);
            rest = &rest[3..];
        } else {
            out.push(byte);
            rest = after;
        }
    }
    Cow::Owned(repair(&out).into_owned())
}

/// The names and values of a query in order, as `url.ParseQuery` finds them: a pair with a broken escape or a semicolon is
/// no pair.
pub fn query_pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';'));
    pairs.filter_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((query_unescape(name).ok()?, query_unescape(value).ok()?))
    })
}

pub(super) fn unescape(text: &str, part: Part) -> Result<Cow<'_, str>, String> {
    Ok(match unescaped_bytes(text, part)? {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Cow::Owned(text),
            Err(error) => Cow::Owned(repair(error.as_bytes()).into_owned()),
        },
    })
}

/// The bytes that a text with escapes stands for, borrowed if it has none.
pub(super) fn unescaped_bytes(text: &str, part: Part) -> Result<Cow<'_, [u8]>, String> {
    let bytes = text.as_bytes();
    if matches!(part, Part::Host | Part::Zone) {
        check_host(bytes, part)?;
    }
    let is_escape = |byte: &u8| *byte == b'%' || *byte == b'+' && part == Part::Query;
    let Some(first) = bytes.iter().position(is_escape) else {
        return Ok(Cow::Borrowed(bytes));
    };
    let mut out = Vec::with_capacity(bytes.len());
    out.extend_from_slice(&bytes[..first]);
    let mut rest = &bytes[first..];
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'%' => {
                out.push(escaped_byte(&bytes[bytes.len() - after.len() - 1..]).ok_or_else(|| broken(after))?);
                rest = &after[2..];
            }
            b'+' if part == Part::Query => out.push(b' '),
            byte => out.push(byte),
        }
    }
    Ok(Cow::Owned(out))
}

/// The byte that an escape at the beginning stands for.
fn escaped_byte(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(*high)? * 16 + digit(*low)?) as u8)
}

/// The refusal of the escape whose digits would stand at the beginning of `after`.
fn broken(after: &[u8]) -> String {
    let shown: Vec<u8> = std::iter::once(b'%').chain(after.iter().copied().take(2)).collect();
    format!("invalid URL escape {}", quote_bytes(&shown))
}

/// Hosts have rules of their own: in a name only bytes beyond ASCII and the percent sign may be escaped, in a zone also
/// what could stand for itself, and the space.
fn check_host(bytes: &[u8], part: Part) -> Result<(), String> {
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let whole = &bytes[bytes.len() - after.len() - 1..];
            let value = escaped_byte(whole).filter(|value| match part {
                Part::Zone => matches!(value, b'%' | b' ') || !must_escape(*value, Part::Host),
                _ => !value.is_ascii() || *value == b'%',
            });
            if value.is_none() {
                return Err(broken(after));
            }
            rest = &after[2..];
        } else if byte.is_ascii() && must_escape(byte, part) {
            let shown = char::from(byte);
            return Err(format!(
                "invalid character {} in host name",
                quote(shown.encode_utf8(&mut [0; 4]))
            ));
        }
    }
    Ok(())
}
