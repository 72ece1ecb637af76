//! `uri`: what an HTTP request line could name, as Go reads it.

use std::net::Ipv6Addr;

/// An absolute URI, or an absolute path.
pub(super) fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let Some((scheme, rest)) = split_scheme(text) else {
        return false;
    };
    let rest = rest.split_once('?').map_or(rest, |(before, _)| before);
    if !rest.starts_with('/') {
        // Behind a scheme, a path without a root is opaque.
        return !scheme.is_empty();
    }
    match rest.strip_prefix("//") {
        Some(after) if !scheme.is_empty() => {
            let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
            is_authority(&scheme.to_ascii_lowercase(), authority) && is_escaped(path)
        }
        _ => is_escaped(rest),
    }
}

/// `None` if the scheme is missing before its colon.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return None,
            b':' => return Some((&text[..at], &text[at + 1..])),
            _ => return Some(("", text)),
        }
    }
    Some(("", text))
}

/// Every `%` is followed by two hexadecimal digits.
fn is_escaped(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let bytes = after.as_bytes();
        bytes.len() >= 2 && bytes[0].is_ascii_hexdigit() && bytes[1].is_ascii_hexdigit()
    })
}

fn is_authority(scheme: &str, authority: &str) -> bool {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    is_host(scheme, host) && user.is_none_or(is_user)
}

fn is_user(user: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    user.chars().all(is_allowed) && user.splitn(2, ':').all(is_escaped)
}

fn is_host(scheme: &str, host: &str) -> bool {
    match host.rfind('[') {
        Some(0) => {
            let Some(end) = host.rfind(']') else { return false };
            let (inside, port) = (&host[1..end], &host[end + 1..]);
            is_port(port) && is_ip_literal(inside)
        }
        Some(_) => false,
        None => {
            let first = host.find(':');
            let last = host.rfind(':');
            let colon = if matches!(scheme, "http" | "https") {
                first
            } else {
                last
            };
            colon.is_none_or(|colon| is_port(&host[colon..])) && is_host_text(host)
        }
    }
}

fn is_port(port: &str) -> bool {
    port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Characters that stand for themselves in a host.
fn is_plain_in_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || br#"-_.~!$&'()*+,;=:[]<>""#.contains(&byte)
}

/// In a host only bytes beyond ASCII may be escaped, and the percent sign itself.
fn is_host_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    let plain = text.split('%').enumerate().all(|(index, part)| {
        let part = if index == 0 {
            part
        } else {
            part.get(2..).unwrap_or_default()
        };
        part.bytes().all(|byte| byte >= 0x80 || is_plain_in_host(byte))
    });
    let escapes = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'%')
        .all(|(at, _)| bytes[at + 1..].first().is_some_and(|digit| *digit >= b'8') || bytes[at..].starts_with(b"%25"));
    is_escaped(text) && plain && escapes
}

/// In brackets only IPv6 addresses stand, with a zone behind `%25`.
fn is_ip_literal(text: &str) -> bool {
    let (address, zone) = match text.find("%25") {
        Some(at) => (&text[..at], Some(&text[at..])),
        None => (text, None),
    };
    if !is_host_text(address) {
        return false;
    }
    let zone_is_good = zone.is_none_or(|zone| is_zone(zone) && zone.len() > 3);
    zone_is_good && address.parse::<Ipv6Addr>().is_ok()
}

/// In a zone everything may be escaped that could stand for itself, and the space.
fn is_zone(zone: &str) -> bool {
    let mut rest = zone.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'%' {
            if *first < 0x80 && !is_plain_in_host(*first) {
                return false;
            }
            rest = after;
            continue;
        }
        let Some((digits, after)) = after.split_at_checked(2) else {
            return false;
        };
        let value = std::str::from_utf8(digits)
            .ok()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match value {
            Some(b'%' | b' ') => {}
            Some(byte) if is_plain_in_host(byte) => {}
            _ => return false,
        }
        rest = after;
    }
    true
}
