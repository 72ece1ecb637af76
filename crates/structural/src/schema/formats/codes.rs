//! Numbers and codes: UUID, ISBN, credit card, social security number, colours, base64.

use std::sync::LazyLock;

use regex::Regex;

fn pattern(source: &str) -> Regex {
    Regex::new(source).expect("a constant pattern")
}

/// With a version, its digit is checked too, and for 4 and 5 the variant.
pub(super) fn is_uuid(text: &str, version: Option<u8>) -> bool {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    let mut rest = text.as_bytes();
    for (index, length) in GROUPS.into_iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix(b"-").unwrap_or(rest);
        }
        let Some((group, after)) = rest.split_at_checked(length) else {
            return false;
        };
        let first = group[0].to_ascii_lowercase();
        let fits = match (index, version) {
            (2, Some(version)) => first == version,
            (3, Some(b'4' | b'5')) => matches!(first, b'8' | b'9' | b'a' | b'b'),
            _ => true,
        };
        if !fits || !group.iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

/// Without the white space and dashes between its digits.
fn without_separators(text: &str) -> Vec<u8> {
    text.bytes()
        .filter(|byte| !matches!(byte, b'\t' | b'\n' | 0xc | b'\r' | b' ' | b'-'))
        .collect()
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let code = without_separators(text);
    let Some((last, digits)) = code.split_last().filter(|_| code.len() == 10) else {
        return false;
    };
    let last = match last {
        b'X' => 10,
        digit if digit.is_ascii_digit() => u32::from(digit - b'0'),
        _ => return false,
    };
    let sum: u32 = digits
        .iter()
        .zip(1..)
        .map(|(digit, weight)| weight * value(*digit))
        .sum();
    digits.iter().all(u8::is_ascii_digit) && (sum + 10 * last).is_multiple_of(11)
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let code = without_separators(text);
    let Some((last, digits)) = code.split_last().filter(|_| code.len() == 13) else {
        return false;
    };
    let weights = [1, 3].into_iter().cycle();
    let sum: u32 = digits
        .iter()
        .zip(weights)
        .map(|(digit, weight)| weight * value(*digit))
        .sum();
    code.iter().all(u8::is_ascii_digit) && value(*last) == (10 - sum % 10) % 10
}

fn value(digit: u8) -> u32 {
    u32::from(digit.wrapping_sub(b'0'))
}

pub(super) fn is_credit_card(text: &str) -> bool {
    static CARD: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|\
             3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$",
        )
    });
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(index, digit)| match value(digit) * (1 + index as u32 % 2) {
            doubled @ 10.. => doubled % 10 + 1,
            single => single,
        })
        .sum();
    CARD.is_match(&digits) && sum.is_multiple_of(10)
}

pub(super) fn is_ssn(text: &str) -> bool {
    static SSN: LazyLock<Regex> = LazyLock::new(|| pattern("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$"));
    text.len() == 11 && SSN.is_match(text)
}

pub(super) fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn is_rgb_color(text: &str) -> bool {
    static COLOR: LazyLock<Regex> = LazyLock::new(|| {
        const SPACE: &str = r"[\t\n\x0c\r ]*";
        const PART: &str = "(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])";
        pattern(&format!(
            r"^rgb\({SPACE}{PART}{SPACE},{SPACE}{PART}{SPACE},{SPACE}{PART}{SPACE}\)$"
        ))
    });
    COLOR.is_match(text)
}

/// Base64 in whole groups of four, with padding only at the end. The empty text is not base64.
pub(super) fn is_base64(text: &str) -> bool {
    let bytes = text.as_bytes();
    let padding = bytes.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
    !bytes.is_empty()
        && bytes.len().is_multiple_of(4)
        && bytes[..bytes.len() - padding]
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}
