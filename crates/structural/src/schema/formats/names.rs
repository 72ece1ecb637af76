//! Names: hosts, and the names of Kubernetes objects.

use std::sync::LazyLock;

use regex::Regex;

/// A letter of any script.
fn is_letter(c: char) -> bool {
    static LETTER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\p{L}$").expect("a constant pattern"));
    if c.is_ascii() {
        c.is_ascii_alphabetic()
    } else {
        LETTER.is_match(c.encode_utf8(&mut [0; 4]))
    }
}

/// A letter, a digit or a symbol: emoji have host names too.
fn is_host_character(c: char) -> bool {
    static OTHER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^[\p{S}\p{L}]$").expect("a constant pattern"));
    c.is_ascii_alphanumeric() || OTHER.is_match(c.encode_utf8(&mut [0; 4]))
}

pub(super) fn is_hostname(text: &str) -> bool {
    text.len() <= 255 && text.split('.').all(|part| part.len() <= 63) && (is_single_label(text) || is_dotted(text))
}

/// One label: a dash may stand in its second place.
fn is_single_label(text: &str) -> bool {
    let mut chars = text.chars();
    if !chars.next().is_some_and(is_host_character) {
        return false;
    }
    let rest = chars.as_str();
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    rest.chars().count() <= 62 && rest.chars().all(is_host_character)
}

/// Labels, and a top level of letters.
fn is_dotted(text: &str) -> bool {
    let Some((labels, top)) = text.rsplit_once('.') else {
        return false;
    };
    let is_label = |label: &str| {
        label.starts_with(is_host_character)
            && label.ends_with(is_host_character)
            && label.chars().all(|c| c == '-' || is_host_character(c))
    };
    (2..=63).contains(&top.chars().count()) && top.chars().all(is_letter) && labels.split('.').all(is_label)
}

pub(super) fn is_short_name(text: &str) -> bool {
    text.len() <= 63 && is_segment(text)
}

pub(super) fn is_long_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_segment)
}

fn is_segment(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            is_inner(*first) && is_inner(*last) && bytes.iter().all(|byte| *byte == b'-' || is_inner(*byte))
        }
        _ => false,
    }
}
