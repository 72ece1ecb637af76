//! Go's `%q`.

use std::fmt::Write as _;

/// A string in double quotes, escaped as Go's `strconv.Quote` does.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        push_escaped(c, &mut out);
    }
    out.push('"');
    out
}

/// Appends one character as it stands between Go's double quotes.
pub(crate) fn push_escaped(c: char, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = match c {
        '"' | '\\' => write!(out, "\\{c}"),
        '\x07' => out.write_str("\\a"),
        '\x08' => out.write_str("\\b"),
        '\x0c' => out.write_str("\\f"),
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        '\x0b' => out.write_str("\\v"),
        c if is_printable(c) => out.write_char(c),
        c if c.is_ascii() => write!(out, "\\x{:02x}", u32::from(c)),
        c if u32::from(c) < 0x1_0000 => write!(out, "\\u{:04x}", u32::from(c)),
        c => write!(out, "\\U{:08x}", u32::from(c)),
    };
}

/// Whether Go prints the character itself: letters, marks, numbers, punctuation, symbols and the ASCII space.
///
/// Rust's debug form decides by nearly the same table; it also escapes combining marks at the start of a string, which
/// is why one is asked for behind a letter.
fn is_printable(c: char) -> bool {
    match c {
        ' '..='~' => true,
        c if c.is_ascii() || c.is_whitespace() => false,
        c => {
            let mut bytes = [b'a'; 5];
            let length = c.encode_utf8(&mut bytes[1..]).len();
            std::str::from_utf8(&bytes[..=length]).is_ok_and(|text| !text.escape_debug().any(|c| c == '\\'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_quoted_as_go_quotes_it() {
        assert_eq!(
            quote("a\"b\\c\n\t\x07\x08\x0b\x0c\r\x01\x7f"),
            r#""a\"b\\c\n\t\a\b\v\f\r\x01\x7f""#
        );
        assert_eq!(quote("é😀e\u{301}'"), "\"é😀e\u{301}'\"");
        assert_eq!(
            quote("\u{a0}\u{ad}\u{2028}\u{feff}\u{e000}\u{10ffff}"),
            r#""\u00a0\u00ad\u2028\ufeff\ue000\U0010ffff""#
        );
        assert_eq!(quote("\u{fffd}"), "\"\u{fffd}\"");
    }
}
