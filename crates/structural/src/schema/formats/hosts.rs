//! Host names.

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

/// A letter, a digit or a symbol: host names with emoji exist.
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
