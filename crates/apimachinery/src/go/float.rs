//! Floats: the shortest digits that read back as the same number, or a fixed count of them.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use super::output::Output;

/// A float as `%v`, `%g` and `FormatFloat(f, 'g', -1, 64)` print it: scientific from `1e+06` up and below `1e-04`, with at
/// least two digits of exponent.
pub fn general(number: f64) -> String {
    let mut out = String::new();
    write_general(number, &mut out);
    out
}

/// Appends a float as [`general`] prints it.
pub fn write_general(number: f64, out: &mut impl Output) {
    match unprintable(number) {
        Some(name) => out.push_str(name),
        None => write_shortest(number, out),
    }
}

/// A `float32` as `%v` prints it: like [`general`], with the digits that suffice for 32 bits.
pub fn general_32(number: f32) -> String {
    let mut out = String::new();
    match unprintable(f64::from(number)) {
        Some(name) => out.push_str(name),
        None => write_shortest(number, &mut out),
    }
    out
}

/// A float as `FormatFloat(f, 'f', -1, 64)` prints it: never scientific.
pub fn positional(number: f64) -> String {
    if let Some(name) = unprintable(number) {
        return name.to_owned();
    }
    let text = number.to_string();
    even_positional(number, &text).map_or(text, |even| even.as_str().to_owned())
}

/// A float as `%.Nf` prints it: `digits` of them behind the point.
pub fn fixed(number: f64, digits: usize) -> String {
    unprintable(number).map_or_else(|| format!("{number:.digits$}"), str::to_owned)
}

/// A float as `%.Ne` prints it: one digit before the point, `digits` behind it, and an exponent of at least two.
pub fn scientific(number: f64, digits: usize) -> String {
    if let Some(name) = unprintable(number) {
        return name.to_owned();
    }
    let mut out = String::new();
    write_exponent(&format!("{number:.digits$e}"), 2, &mut out);
    out
}

/// Appends a float as `encoding/json` prints it: scientific from `1e21` up and below `1e-6`. The number must be finite:
/// JSON has no others, and Go refuses them.
pub fn write_json(number: f64, out: &mut impl Output) {
    let magnitude = number.abs();
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        write_positional(number, out);
    } else {
        write_exponent(Buffer::of(format_args!("{number:e}")).as_str(), 1, out);
    }
}

fn unprintable(number: f64) -> Option<&'static str> {
    if number.is_nan() {
        Some("NaN")
    } else if number.is_infinite() {
        Some(if number > 0.0 { "+Inf" } else { "-Inf" })
    } else {
        None
    }
}

fn write_shortest(number: impl Binary, out: &mut impl Output) {
    let scientific = Buffer::of(format_args!("{number:e}"));
    if (-4..6).contains(&exponent_of(scientific.as_str()).1) {
        write_positional(number, out);
    } else if let Some(even) = even_scientific(number, scientific.as_str()) {
        write_exponent(even.as_str(), 2, out);
    } else {
        write_exponent(scientific.as_str(), 2, out);
    }
}

fn write_positional(number: impl Binary, out: &mut impl Output) {
    let text = Buffer::of(format_args!("{number}"));
    match even_positional(number, text.as_str()) {
        Some(even) => out.push_str(even.as_str()),
        None => out.push_str(text.as_str()),
    }
}

/// A binary floating-point number.
///
/// Some lie exactly halfway between two texts of the same shortest length (2^50 + 0.25 between `….2` and `….3`). There Go
/// ends in the even digit and Rust in the greater one.
trait Binary: Copy + fmt::Display + fmt::LowerExp + FromStr + PartialEq {
    /// The fewest digits that such a text has.
    const DIGITS: usize;

    /// Whether the number can lie halfway: it has a fraction, of few bits.
    fn has_short_fraction(self) -> bool;
}

impl Binary for f64 {
    const DIGITS: usize = 16;

    fn has_short_fraction(self) -> bool {
        self.fract() != 0.0 && (self * f64::from(1 << 25)).fract() == 0.0
    }
}

impl Binary for f32 {
    const DIGITS: usize = 7;

    fn has_short_fraction(self) -> bool {
        f64::from(self).has_short_fraction()
    }
}

fn even_positional<B: Binary>(number: B, shortest: &str) -> Option<Buffer> {
    if !number.has_short_fraction() || shortest.len() < B::DIGITS {
        return None;
    }
    let (_, fraction) = shortest.split_once('.')?;
    even(number, Buffer::of(format_args!("{number:.*}", fraction.len())))
}

fn even_scientific<B: Binary>(number: B, shortest: &str) -> Option<Buffer> {
    if !number.has_short_fraction() || shortest.len() < B::DIGITS {
        return None;
    }
    let (_, fraction) = exponent_of(shortest).0.split_once('.')?;
    even(number, Buffer::of(format_args!("{number:.*e}", fraction.len())))
}

/// A text of a fixed length, which Rust rounds to the even digit, if it still means the number.
fn even<B: Binary>(number: B, rounded: Buffer) -> Option<Buffer> {
    (rounded.as_str().parse().ok() == Some(number)).then_some(rounded)
}

/// The digits and the exponent of a number that Rust wrote scientifically.
fn exponent_of(scientific: &str) -> (&str, i32) {
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    (digits, exponent.parse().unwrap_or(0))
}

/// Appends a number that Rust wrote scientifically (`1e21`, `1e-7`) with a sign and at least `width` digits of exponent.
fn write_exponent(scientific: &str, width: usize, out: &mut impl Output) {
    let (digits, exponent) = exponent_of(scientific);
    out.push_str(digits);
    out.push_str(if exponent < 0 { "e-" } else { "e+" });
    if width > 1 && exponent.abs() < 10 {
        out.push_str("0");
    }
    out.push_str(itoa::Buffer::new().format(exponent.unsigned_abs()));
}

/// A number's text without an allocation. The longest that is written here is `-2.2250738585072014e-308`.
struct Buffer {
    bytes: [u8; 40],
    length: usize,
}

impl Buffer {
    fn of(text: fmt::Arguments<'_>) -> Self {
        let mut buffer = Buffer {
            bytes: [0; 40],
            length: 0,
        };
        let written = buffer.write_fmt(text);
        debug_assert!(written.is_ok(), "no number is that long");
        buffer
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl fmt::Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        let free = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        free.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}
