//! The value of a string or bytes literal.
//! The lexer let only well-formed escape sequences through; code points are checked here.

/// The value of a string literal with its quotes and prefix.
pub(crate) fn string(literal: &str) -> Result<String, String> {
    let (body, raw) = body(literal);
    if raw || !body.contains('\\') {
        return Ok(body.to_owned());
    }
    let mut out = String::with_capacity(body.len());
    unescape(body, |piece| {
        match piece {
            Piece::Char(c) => out.push(c),
            // In a string `\xff` and `\377` are code points.
            Piece::Byte(byte) => out.push(char::from(byte)),
        }
    })?;
    Ok(out)
}

/// The value of a bytes literal without its `b`.
pub(crate) fn bytes(literal: &str) -> Result<Vec<u8>, String> {
    let (body, raw) = body(literal);
    if raw {
        return Ok(body.as_bytes().to_vec());
    }
    if body_has_unicode_escape(body) {
        return Err("unable to unescape string".to_owned());
    }
    let mut out = Vec::with_capacity(body.len());
    unescape(body, |piece| match piece {
        Piece::Char(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        Piece::Byte(byte) => out.push(byte),
    })?;
    Ok(out)
}

fn body_has_unicode_escape(body: &str) -> bool {
    let mut chars = body.chars();
    while let Some(c) = chars.next() {
        if c == '\\' && matches!(chars.next(), Some('u' | 'U')) {
            return true;
        }
    }
    false
}

enum Piece {
    Char(char),
    Byte(u8),
}

fn body(literal: &str) -> (&str, bool) {
    let raw = literal.starts_with(['r', 'R']);
    let quoted = if raw { &literal[1..] } else { literal };
    let width = if quoted.len() >= 6 && (quoted.starts_with("\"\"\"") || quoted.starts_with("'''")) {
        3
    } else {
        1
    };
    (
        quoted
            .get(width..quoted.len().saturating_sub(width))
            .unwrap_or_default(),
        raw,
    )
}

fn unescape(body: &str, mut emit: impl FnMut(Piece)) -> Result<(), String> {
    let mut chars = body.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            // A carriage return before a line feed is one line end.
            if c == '\r' && chars.as_str().starts_with('\n') {
                continue;
            }
            emit(Piece::Char(if c == '\r' { '\n' } else { c }));
            continue;
        }
        let bad = || "unable to unescape string".to_owned();
        let kind = chars.next().ok_or_else(bad)?;
        let mut number = |count: usize, radix: u32, first: Option<char>| {
            let digits: String = first.into_iter().chain(chars.by_ref().take(count)).collect();
            u32::from_str_radix(&digits, radix).map_err(|_| bad())
        };
        emit(match kind {
            'a' => Piece::Char('\u{7}'),
            'b' => Piece::Char('\u{8}'),
            'f' => Piece::Char('\u{c}'),
            'n' => Piece::Char('\n'),
            'r' => Piece::Char('\r'),
            't' => Piece::Char('\t'),
            'v' => Piece::Char('\u{b}'),
            'x' | 'X' => Piece::Byte(u8::try_from(number(2, 16, None)?).map_err(|_| bad())?),
            'u' => Piece::Char(code_point(number(4, 16, None)?)?),
            'U' => Piece::Char(code_point(number(8, 16, None)?)?),
            '0'..='3' => Piece::Byte(u8::try_from(number(2, 8, Some(kind))?).map_err(|_| bad())?),
            other => Piece::Char(other),
        });
    }
    Ok(())
}

fn code_point(value: u32) -> Result<char, String> {
    char::from_u32(value).ok_or_else(|| "invalid unicode code point".to_owned())
}
