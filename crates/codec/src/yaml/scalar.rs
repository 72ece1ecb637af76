//! What a scalar means by YAML 1.1's readings, as Go's `yaml` has them.

use kubewright_apimachinery::go::utf8::repair;

use super::error::YamlError;
use super::timestamp::is_timestamp;
use super::tree::Scalar;

/// The value that a scalar stands for, by its tag or its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ResolvedScalar {
    Null,
    Bool(bool),
    Integer(i64),
    /// Beyond the signed range.
    Unsigned(u64),
    Float(f64),
    /// A string to a reader, but one that a writer must quote.
    Timestamp,
    Text,
}

const CORE: &str = "tag:yaml.org,2002:";

impl ResolvedScalar {
    /// The name of the tag, as messages print it.
    fn tag(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Integer(_) | Self::Unsigned(_) => "int",
            Self::Float(_) => "float",
            Self::Timestamp => "timestamp",
            Self::Text => "str",
        }
    }
}

/// What a scalar of a document means; a `!!binary` one comes with its decoded text.
pub(super) fn resolve(scalar: &Scalar) -> Result<(ResolvedScalar, Option<String>), YamlError> {
    let Some(tag) = &scalar.tag else {
        let resolved = if scalar.implicit {
            of_plain(&scalar.text)
        } else {
            ResolvedScalar::Text
        };
        return Ok((resolved, None));
    };
    let tag = match tag.strip_prefix(CORE).or_else(|| tag.strip_prefix("!!")) {
        Some("binary") => return Ok((ResolvedScalar::Text, Some(binary(&scalar.text)?))),
        Some(tag @ ("bool" | "int" | "float" | "null" | "timestamp")) => tag,
        // `!!str` and unknown tags.
        _ => return Ok((ResolvedScalar::Text, None)),
    };
    let resolved = of_text(&scalar.text, tag == "timestamp");
    match (tag, &resolved) {
        (tag, resolved) if tag == resolved.tag() => {}
        ("float", ResolvedScalar::Integer(number)) => return Ok((ResolvedScalar::Float(*number as f64), None)),
        (tag, resolved) => {
            let found = resolved.tag();
            return Err(YamlError::yaml(format_args!(
                "cannot decode !!{found} `{}` as a !!{tag}",
                scalar.text
            )));
        }
    }
    Ok((resolved, None))
}

/// What a plain scalar without a tag means.
pub(super) fn of_plain(text: &str) -> ResolvedScalar {
    of_text(text, true)
}

fn of_text(text: &str, timestamps: bool) -> ResolvedScalar {
    let Some(&first) = text.as_bytes().first() else {
        return ResolvedScalar::Null;
    };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => of_word(text),
        b'.' => of_dotted(text),
        b'+' | b'-' | b'0'..=b'9' => of_digits(text, timestamps),
        _ => ResolvedScalar::Text,
    }
}

fn of_word(text: &str) -> ResolvedScalar {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => ResolvedScalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            ResolvedScalar::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => ResolvedScalar::Null,
        _ => ResolvedScalar::Text,
    }
}

fn of_dotted(text: &str) -> ResolvedScalar {
    match text {
        ".nan" | ".NaN" | ".NAN" => ResolvedScalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" => ResolvedScalar::Float(f64::INFINITY),
        text if is_decimal(text) => float(text),
        _ => ResolvedScalar::Text,
    }
}

fn of_digits(text: &str, timestamps: bool) -> ResolvedScalar {
    match text {
        "+.inf" | "+.Inf" | "+.INF" => return ResolvedScalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return ResolvedScalar::Float(f64::NEG_INFINITY),
        text if timestamps && is_timestamp(text) => return ResolvedScalar::Timestamp,
        _ => {}
    }
    let plain = if text.contains('_') {
        text.replace('_', "").into()
    } else {
        std::borrow::Cow::Borrowed(text)
    };
    match integer(&plain) {
        Some(resolved) => resolved,
        None if is_decimal(&plain) => float(&plain),
        None => ResolvedScalar::Text,
    }
}

/// An integer with Go's prefixes: `0x`, `0o`, `0b`, and a leading zero for octal.
fn integer(text: &str) -> Option<ResolvedScalar> {
    let (sign, magnitude) = match text.as_bytes().first() {
        Some(b'-') => (Some('-'), &text[1..]),
        Some(b'+') => (Some('+'), &text[1..]),
        _ => (None, text),
    };
    let (digits, radix) = match magnitude.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&magnitude[2..], 16),
        [b'0', b'o' | b'O', ..] => (&magnitude[2..], 8),
        [b'0', b'b' | b'B', ..] => (&magnitude[2..], 2),
        [b'0', _, ..] => (&magnitude[1..], 8),
        _ => (magnitude, 10),
    };
    // The standard library would read a second sign.
    if !digits.starts_with(|c: char| c.is_digit(radix)) {
        return None;
    }
    let number = u64::from_str_radix(digits, radix).ok()?;
    match sign {
        Some('-') => 0i64.checked_sub_unsigned(number).map(ResolvedScalar::Integer),
        sign => match i64::try_from(number) {
            Ok(number) => Some(ResolvedScalar::Integer(number)),
            // Go's unsigned parser takes no sign.
            Err(_) => sign.is_none().then_some(ResolvedScalar::Unsigned(number)),
        },
    }
}

/// Whether the text is a decimal number: digits, a point, an exponent.
fn is_decimal(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(m, e)| (m, Some(e)));
    let exponent_is_fine = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    let (whole, fraction) = mantissa.split_once('.').map_or((mantissa, None), |(w, f)| (w, Some(f)));
    let has_digits = !whole.is_empty() || fraction.is_some_and(|fraction| !fraction.is_empty());
    let all_digits = whole
        .bytes()
        .chain(fraction.unwrap_or_default().bytes())
        .all(|byte| byte.is_ascii_digit());
    exponent_is_fine && has_digits && all_digits
}

/// A decimal number; one too large for a float stays a string.
fn float(text: &str) -> ResolvedScalar {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => ResolvedScalar::Float(number),
        _ => ResolvedScalar::Text,
    }
}

/// Decodes base64 with padding; line breaks are skipped.
fn binary(text: &str) -> Result<String, YamlError> {
    let invalid = || YamlError::yaml("!!binary value contains invalid base64 data");
    let symbols: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    if !symbols.len().is_multiple_of(4) {
        return Err(invalid());
    }
    let padding = symbols.iter().rev().take_while(|&&byte| byte == b'=').count();
    if padding > 2 {
        return Err(invalid());
    }
    let mut bytes = Vec::with_capacity(symbols.len() / 4 * 3);
    for group in symbols[..symbols.len() - padding].chunks(4) {
        let mut bits = 0u32;
        for &symbol in group {
            bits = bits << 6 | sextet(symbol).ok_or_else(invalid)?;
        }
        bits <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Ok(repair(&bytes).into_owned())
}

fn sextet(symbol: u8) -> Option<u32> {
    Some(u32::from(match symbol {
        b'A'..=b'Z' => symbol - b'A',
        b'a'..=b'z' => symbol - b'a' + 26,
        b'0'..=b'9' => symbol - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}
