//! The type `Quantity`: a decimal number and the format in which it is written.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::decimal::Decimal;

/// The format in which a quantity is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `12e6`
    DecimalExponent,
    /// `12Mi`
    BinarySi,
    /// `12M`
    DecimalSi,
}

/// The reason why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text is not a number with an optional suffix.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// There are no digits.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// The suffix is none of the known ones.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// An amount of a resource. Equality and order are by value: `1000m` equals `1`.
#[derive(Clone, Debug)]
pub struct Quantity {
    amount: Decimal,
    format: Format,
    /// The text it was parsed from, where upstream prints that text again without making it canonical.
    verbatim: Option<Box<str>>,
}

/// The power of ten below which everything is rounded up: a billionth.
const NANO: i32 = -9;
/// The power of ten of a thousandth.
const MILLI: i32 = -3;
/// Up to this many digits upstream computes in an int64 and repeats the text it parsed.
const INT64_DIGITS: usize = 18;

impl Quantity {
    /// Parses a quantity as it stands in JSON, without its quotes. Surrounding white space is ignored.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse(text.trim())
    }

    /// A whole number.
    pub fn from_int(value: i64) -> Self {
        Quantity {
            amount: Decimal::from_int(value),
            format: Format::DecimalSi,
            verbatim: None,
        }
    }

    /// The format in which the quantity is written.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether the value is zero.
    pub fn is_zero(&self) -> bool {
        self.amount.is_zero()
    }

    /// The sign: -1, 0 or 1.
    pub fn sign(&self) -> i32 {
        self.amount.sign()
    }

    /// Whether the value is below zero.
    pub fn is_negative(&self) -> bool {
        self.sign() < 0
    }

    /// Whether the value has no fractional part.
    pub fn is_integer(&self) -> bool {
        self.amount.is_multiple_of_power(0)
    }

    /// The value as a whole number, rounded away from zero; the nearest bound where an i64 cannot hold it.
    pub fn value(&self) -> i64 {
        self.amount.scaled(0)
    }

    /// The value in thousandths, rounded away from zero; the nearest bound where an i64 cannot hold it.
    pub fn milli_value(&self) -> i64 {
        self.amount.scaled(MILLI)
    }

    /// The value as an i64, if it is a whole number that fits.
    pub fn as_i64(&self) -> Option<i64> {
        let value = self.value();
        (Self::from_int(value) == *self).then_some(value)
    }

    /// Rounds away from zero to a multiple of `10^power`: what the defaults of a resource list do with power -3.
    pub fn round_up(&mut self, power: i32) {
        if !self.amount.is_multiple_of_power(power) {
            self.amount = self.amount.rounded_up(power);
            self.verbatim = None;
        }
    }

    /// Adds `other`. A zero takes over the format of what is added to it.
    pub fn add(&mut self, other: &Quantity) {
        if self.is_zero() {
            self.format = other.format;
        }
        self.amount = self.amount.plus(&other.amount);
        self.verbatim = None;
    }

    /// Subtracts `other`. A zero takes over the format of what is subtracted from it.
    pub fn sub(&mut self, other: &Quantity) {
        let mut negated = other.clone();
        negated.amount = negated.amount.negated();
        self.add(&negated);
    }
}

impl FromStr for Quantity {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.amount.compare(&other.amount)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.verbatim {
            Some(text) => f.write_str(text),
            None => f.write_str(&canonical(self)),
        }
    }
}

/// The canonical text: no fraction, the largest suffix that leaves a whole number.
fn canonical(quantity: &Quantity) -> String {
    let amount = &quantity.amount;
    if amount.is_zero() {
        return "0".to_owned();
    }
    if quantity.format == Format::BinarySi
        && amount.magnitude_at_least(1024)
        && quantity.is_integer()
        && let Some(text) = amount.in_powers_of_1024()
    {
        return text;
    }
    let (digits, exponent) = amount.in_powers_of_1000();
    let suffix = match quantity.format {
        Format::DecimalExponent if exponent == 0 => String::new(),
        Format::DecimalExponent => format!("e{exponent}"),
        // Upstream prints no suffix beyond E: it prints 1000E as 1.
        _ => DECIMAL_SUFFIXES
            .iter()
            .find(|(_, power)| *power == exponent)
            .map_or_else(String::new, |(suffix, _)| (*suffix).to_owned()),
    };
    digits + &suffix
}

const DECIMAL_SUFFIXES: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

/// The binary suffixes, each the power of two it stands for.
const BINARY_SUFFIXES: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

#[derive(Clone, Copy)]
enum Suffix {
    Decimal(i32),
    Exponent(i32),
    Binary(u32),
}

fn read_suffix(text: &str) -> Result<Suffix, ParseError> {
    if let Some((_, power)) = DECIMAL_SUFFIXES.iter().find(|(suffix, _)| *suffix == text) {
        return Ok(Suffix::Decimal(*power));
    }
    if let Some((_, power)) = BINARY_SUFFIXES.iter().find(|(suffix, _)| *suffix == text) {
        return Ok(Suffix::Binary(*power));
    }
    let exponent = text.strip_prefix(['e', 'E']).ok_or(ParseError::Suffix)?;
    // The exponent wraps to 32 bits, as it does upstream.
    exponent
        .parse::<i64>()
        .map(|exponent| Suffix::Exponent(exponent as i32))
        .map_err(|_| ParseError::Suffix)
}

/// The parts of a quantity's text: the sign, the digits before the point without leading zeros, those after it, the suffix.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
    /// Whether the numeric part has a digit at all.
    has_digits: bool,
}

fn split(text: &str) -> Result<Parts<'_>, ParseError> {
    fn digits_end(text: &str) -> usize {
        text.bytes()
            .position(|byte| !byte.is_ascii_digit())
            .unwrap_or(text.len())
    }
    if text.is_empty() {
        return Err(ParseError::Format);
    }
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (all_whole, rest) = unsigned.split_at(digits_end(unsigned));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits_end(rest)),
        None => ("", rest),
    };
    let tail = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let tail = tail.strip_prefix(['-', '+']).unwrap_or(tail);
    if digits_end(tail) != tail.len() {
        return Err(ParseError::Format);
    }
    let whole = all_whole.trim_start_matches('0');
    let has_digits = !all_whole.is_empty() || !fraction.is_empty();
    Ok(Parts {
        negative,
        whole: if whole.is_empty() { "0" } else { whole },
        fraction,
        suffix,
        has_digits,
    })
}

fn parse(text: &str) -> Result<Quantity, ParseError> {
    let parts = split(text)?;
    let suffix = read_suffix(parts.suffix)?;
    let digits = [parts.whole, parts.fraction].concat();
    let places = parts.fraction.len() as i32;
    match suffix {
        Suffix::Decimal(power) | Suffix::Exponent(power) => {
            let format = if matches!(suffix, Suffix::Decimal(_)) {
                Format::DecimalSi
            } else {
                Format::DecimalExponent
            };
            let power = power.wrapping_sub(places);
            let amount = Decimal::new(parts.negative, &digits, power);
            if digits.len() <= INT64_DIGITS && power >= NANO {
                let repeats = power % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0');
                return Ok(Quantity {
                    amount,
                    format,
                    verbatim: repeats.then(|| text.into()),
                });
            }
            require_digits(&parts)?;
            Ok(Quantity {
                amount: amount.rounded_up(NANO),
                format,
                verbatim: None,
            })
        }
        Suffix::Binary(power) => {
            let factor = 1u64 << power;
            let amount = Decimal::new(parts.negative, &digits, -places).times(factor);
            // A binary exponent of e has about 3e/10 decimal digits.
            let fits = parts.whole.len() + (power as usize * 3 / 10) < 15;
            if fits && parts.fraction.is_empty() {
                let low_bits = parts.whole.parse::<u64>().unwrap_or_default() & 7;
                let verbatim = (low_bits != 0).then(|| text.into());
                return Ok(Quantity {
                    amount,
                    format: Format::BinarySi,
                    verbatim,
                });
            }
            require_digits(&parts)?;
            let amount = amount.rounded_up(NANO).capped(i64::MAX);
            let small = !amount.is_zero() && !amount.magnitude_at_least(1);
            let format = if small { Format::DecimalSi } else { Format::BinarySi };
            Ok(Quantity {
                amount,
                format,
                verbatim: None,
            })
        }
    }
}

/// Refuses a number without digits, as upstream's slow path does. Its fast path reads such a number as zero.
fn require_digits(parts: &Parts<'_>) -> Result<(), ParseError> {
    if parts.has_digits {
        Ok(())
    } else {
        Err(ParseError::Numeric)
    }
}

#[cfg(test)]
#[path = "quantity_tests.rs"]
mod tests;
