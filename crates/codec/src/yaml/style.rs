//! How a string is written: plain, quoted one way or the other, or as a literal block.

use super::scalar::{ResolvedScalar, of_plain};

/// A way to write a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

/// What a text allows; double quotes are always possible.
#[derive(Clone, Copy, Debug)]
struct Allowed {
    plain: bool,
    single_quoted: bool,
    literal: bool,
}

/// Whether a text spans lines, and so cannot be a simple key.
pub(super) fn is_multiline(text: &str) -> bool {
    text.chars().any(is_break)
}

/// The style of a string. As a simple key it stays on its line.
pub(super) fn of_string(text: &str, is_simple_key: bool) -> Style {
    let wanted = if text.contains('\n') {
        Style::Literal
    } else if of_plain(text) == ResolvedScalar::Text && !is_base_60(text) {
        Style::Plain
    } else {
        Style::DoubleQuoted
    };
    if is_simple_key && is_multiline(text) {
        return Style::DoubleQuoted;
    }
    let allowed = analyse(text);
    match wanted {
        Style::Plain if allowed.plain => Style::Plain,
        Style::Plain | Style::SingleQuoted if allowed.single_quoted => Style::SingleQuoted,
        Style::Literal if allowed.literal && !is_simple_key => Style::Literal,
        _ => Style::DoubleQuoted,
    }
}

/// Numbers in base 60, which YAML 1.1 has (`12:30:45`); Go's `yaml` does not read them, but quotes them for others.
fn is_base_60(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let first_fits = first.starts_with(|c: char| c.is_ascii_digit()) && first.bytes().all(is_digit_or_underscore);
    let mut rest = parts.peekable();
    first_fits && rest.peek().is_some() && rest.all(is_sexagesimal) && fraction.bytes().all(is_digit_or_underscore)
}

fn is_digit_or_underscore(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'_'
}

fn is_sexagesimal(part: &str) -> bool {
    matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9'])
}

/// Finds out what a text allows.
fn analyse(text: &str) -> Allowed {
    let mut allowed = Allowed {
        plain: true,
        single_quoted: true,
        literal: true,
    };
    if text.starts_with("---") || text.starts_with("...") {
        allowed.plain = false;
    }
    let mut previous: Option<char> = None;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let next = characters.peek().copied();
        if is_indicator(c, previous, next) {
            allowed.plain = false;
        }
        if !is_printable(c) {
            allowed = Allowed {
                plain: false,
                single_quoted: false,
                literal: false,
            };
        }
        let at_border = previous.is_none() || next.is_none();
        if c == ' ' {
            allowed.plain &= !at_border;
            allowed.literal &= next.is_some();
            // A space at the start of a line gets lost in the folding of quoted text.
            if previous.is_some_and(is_break) {
                allowed.plain = false;
                allowed.single_quoted = false;
            }
        }
        if is_break(c) {
            allowed.plain = false;
            // And so does one at its end, in blocks too.
            if previous == Some(' ') {
                allowed.single_quoted = false;
                allowed.literal = false;
            }
        }
        previous = Some(c);
    }
    allowed
}

/// Whether a character means something to the parser of a plain scalar in a block.
fn is_indicator(c: char, previous: Option<char>, next: Option<char>) -> bool {
    let is_followed_by_space = next.is_none_or(|next| next == ' ' || next == '\t');
    match previous {
        None => match c {
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => true,
            '?' | ':' | '-' => is_followed_by_space,
            _ => false,
        },
        Some(previous) => match c {
            ':' => is_followed_by_space,
            '#' => matches!(previous, ' ' | '\t' | '\0') || is_break(previous),
            _ => false,
        },
    }
}

/// Whether the character ends a line in YAML 1.1.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether the character is written as it is; those beyond the basic plane are not.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}
