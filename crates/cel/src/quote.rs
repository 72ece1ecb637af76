//! Texts in quotes, as Go's `%q` writes them.

use std::sync::LazyLock;

/// Letters, marks, numbers, punctuation, symbols and the space.
static PRINTABLE: LazyLock<Option<regex::Regex>> =
    LazyLock::new(|| regex::Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$").ok());

/// A string as Go quotes it.
pub(crate) fn quote(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            ' '..='~' => out.push(c),
            c if c < ' ' || c == '\u{7f}' => drop(write!(out, "\\x{:02x}", u32::from(c))),
            c => {
                let printable = PRINTABLE
                    .as_ref()
                    .is_some_and(|set| set.is_match(c.encode_utf8(&mut [0; 4])));
                match u32::from(c) {
                    _ if printable => out.push(c),
                    code @ ..=0xffff => drop(write!(out, "\\u{code:04x}")),
                    code => drop(write!(out, "\\U{code:08x}")),
                }
            }
        }
    }
    out.push('"');
    out
}
