//! Addresses. Upstream reads IPv4 numbers with leading zeros for the sake of data it once accepted.

use std::net::Ipv6Addr;

pub(super) fn is_ipv4(text: &str) -> bool {
    text.contains('.') && is_sloppy_ip(text)
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// Any address that Go's own parser takes.
pub(super) fn is_ip(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let most = if is_sloppy_v4(address) {
        32
    } else if is_sloppy_v6(address) {
        128
    } else {
        return false;
    };
    matches!(decimal(bits), Some((bits, "")) if bits <= most)
}

fn is_sloppy_ip(text: &str) -> bool {
    match text.find(['.', ':']).map(|at| text.as_bytes()[at]) {
        Some(b'.') => is_sloppy_v4(text),
        Some(_) => is_sloppy_v6(text),
        None => false,
    }
}

/// A number of at most 24 bits and what follows it.
fn number(text: &str, radix: u32) -> Option<(u32, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii() || !c.is_digit(radix))
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let value = digits.chars().try_fold(0u32, |value, digit| {
        let value = value * radix + digit.to_digit(radix)?;
        (value < 0x00ff_ffff).then_some(value)
    });
    value.filter(|_| end > 0).map(|value| (value, rest))
}

fn decimal(text: &str) -> Option<(u32, &str)> {
    number(text, 10)
}

fn is_sloppy_v4(text: &str) -> bool {
    let mut parts = 0;
    for part in text.split('.') {
        parts += 1;
        if parts > 4 || !matches!(decimal(part), Some((value, "")) if value <= 255) {
            return false;
        }
    }
    parts == 4
}

fn is_sloppy_v6(text: &str) -> bool {
    let mut rest = text;
    let mut bytes = 0;
    let mut ellipsis = false;
    if let Some(after) = rest.strip_prefix("::") {
        ellipsis = true;
        rest = after;
        if rest.is_empty() {
            return true;
        }
    }
    while bytes < 16 {
        let Some((_, after)) = number(rest, 16).filter(|(value, _)| *value <= 0xffff) else {
            return false;
        };
        if after.starts_with('.') {
            if (!ellipsis && bytes != 12) || bytes + 4 > 16 || !is_sloppy_v4(rest) {
                return false;
            }
            rest = "";
            bytes += 4;
            break;
        }
        bytes += 2;
        rest = after;
        if rest.is_empty() {
            break;
        }
        match rest.strip_prefix(':') {
            None | Some("") => return false,
            Some(after) => rest = after,
        }
        if let Some(after) = rest.strip_prefix(':') {
            if ellipsis {
                return false;
            }
            ellipsis = true;
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
    }
    rest.is_empty() && ellipsis == (bytes < 16)
}

/// Six, eight or twenty bytes: in pairs with colons or dashes, in fours with dots, or without separators.
pub(super) fn is_mac(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < 12 {
        return false;
    }
    let (group, separator) = match (bytes[2], bytes[4]) {
        (separator @ (b':' | b'-'), _) => (2, Some(separator)),
        (_, b'.') => (4, Some(b'.')),
        _ => (2, None),
    };
    let step = group + usize::from(separator.is_some());
    let padded = bytes.len() + usize::from(separator.is_some());
    let count = padded / step * group / 2;
    padded.is_multiple_of(step)
        && matches!(count, 6 | 8 | 20)
        && bytes.iter().enumerate().all(|(index, byte)| match separator {
            Some(separator) if index % step == group => *byte == separator,
            _ => byte.is_ascii_hexdigit(),
        })
}
