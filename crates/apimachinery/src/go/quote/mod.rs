//! Strings in quotes: `strconv.Quote`, which is also `%q` and what `%#v` makes of a string.

mod printable;

use std::fmt::Write as _;

use printable::PRINTABLE;

/// A string as `strconv.Quote` and `%q` quote it.
///
/// Rust's `{:?}` is another form: it writes `\u{7f}` where Go writes `\x7f`, and knows another version of Unicode.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_quote(text, &mut out);
    out
}

/// Appends a string as [`quote()`] quotes it.
pub fn write_quote(text: &str, out: &mut String) {
    out.push('"');
    write_escaped(text, out);
    out.push('"');
}

/// A Go string that need not be UTF-8 as `strconv.Quote` quotes it: bytes of no character become `\xNN`.
pub fn quote_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        write_escaped(chunk.valid(), &mut out);
        for byte in chunk.invalid() {
            // Writing to a string cannot fail, here and below.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}

/// A list of strings as `%q` prints it: `["a" "b"]`.
pub fn quote_list(items: &[impl AsRef<str>]) -> String {
    let mut out = String::from("[");
    write_joined(items, " ", &mut out);
    out.push(']');
    out
}

/// A `[]string` as `%#v` prints it: `[]string{"a", "b"}`, and `[]string(nil)` for no strings at all.
pub fn list_syntax(items: &[impl AsRef<str>]) -> String {
    if items.is_empty() {
        return "[]string(nil)".to_owned();
    }
    let mut out = String::from("[]string{");
    write_joined(items, ", ", &mut out);
    out.push('}');
    out
}

fn write_joined(items: &[impl AsRef<str>], separator: &str, out: &mut String) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        write_quote(item.as_ref(), out);
    }
}

/// A string as the errors of package `time` quote it: everything that is not printable ASCII byte by byte.
pub fn quote_for_time(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=0x7f => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out.push('"');
    out
}

/// A character as `%#U` prints it: `U+0023 '#'`, and only its number where it is not printable.
pub fn code_point(c: char) -> String {
    let code = u32::from(c);
    if is_printable(c) {
        format!("U+{code:04X} '{c}'")
    } else {
        format!("U+{code:04X}")
    }
}

/// Whether Go prints the character itself (`strconv.IsPrint`): letters, marks, numbers, punctuation, symbols and the
/// ASCII space, as the version of Unicode that Go knows has them.
pub fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    let after = PRINTABLE.partition_point(|(first, _)| *first <= c);
    after > 0 && c <= PRINTABLE[after - 1].1
}

/// Appends a text with every character escaped that cannot stand between double quotes.
fn write_escaped(text: &str, out: &mut String) {
    let mut written = 0;
    for (at, c) in text.char_indices() {
        if c != '"' && c != '\\' && is_printable(c) {
            continue;
        }
        out.push_str(&text[written..at]);
        written = at + c.len_utf8();
        write_escape(c, out);
    }
    out.push_str(&text[written..]);
}

/// Appends one character that does not stand for itself.
fn write_escape(c: char, out: &mut String) {
    let letter = match c {
        '"' | '\\' => c,
        '\x07' => 'a',
        '\x08' => 'b',
        '\x0c' => 'f',
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\x0b' => 'v',
        c => {
            let code = u32::from(c);
            let _ = match code {
                ..0x80 => write!(out, "\\x{code:02x}"),
                0x80..0x1_0000 => write!(out, "\\u{code:04x}"),
                _ => write!(out, "\\U{code:08x}"),
            };
            return;
        }
    };
    out.extend(['\\', letter]);
}
