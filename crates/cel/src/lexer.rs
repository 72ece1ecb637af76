//! Characters to tokens, longest match first.
//! What cannot be a token is reported the way cel-go's lexer does and skipped.

use crate::source::Source;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TokenKind {
    Eof,
    Equals,
    NotEquals,
    In,
    Less,
    LessEquals,
    GreaterEquals,
    Greater,
    And,
    Or,
    LBracket,
    RBracket,
    LBrace,
    RBrace,
    LParen,
    RParen,
    Dot,
    Comma,
    Minus,
    Exclam,
    Question,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    True,
    False,
    Null,
    Float,
    Int,
    Uint,
    String,
    Bytes,
    Ident,
    EscIdent,
}

impl TokenKind {
    /// How the token is named in a syntax error.
    pub(crate) fn display(self) -> &'static str {
        match self {
            TokenKind::Eof => "<EOF>",
            TokenKind::Equals => "'=='",
            TokenKind::NotEquals => "'!='",
            TokenKind::In => "'in'",
            TokenKind::Less => "'<'",
            TokenKind::LessEquals => "'<='",
            TokenKind::GreaterEquals => "'>='",
            TokenKind::Greater => "'>'",
            TokenKind::And => "'&&'",
            TokenKind::Or => "'||'",
            TokenKind::LBracket => "'['",
            TokenKind::RBracket => "']'",
            TokenKind::LBrace => "'{'",
            TokenKind::RBrace => "'}'",
            TokenKind::LParen => "'('",
            TokenKind::RParen => "')'",
            TokenKind::Dot => "'.'",
            TokenKind::Comma => "','",
            TokenKind::Minus => "'-'",
            TokenKind::Exclam => "'!'",
            TokenKind::Question => "'?'",
            TokenKind::Colon => "':'",
            TokenKind::Plus => "'+'",
            TokenKind::Star => "'*'",
            TokenKind::Slash => "'/'",
            TokenKind::Percent => "'%'",
            TokenKind::True => "'true'",
            TokenKind::False => "'false'",
            TokenKind::Null => "'null'",
            TokenKind::Float => "NUM_FLOAT",
            TokenKind::Int => "NUM_INT",
            TokenKind::Uint => "NUM_UINT",
            TokenKind::String => "STRING",
            TokenKind::Bytes => "BYTES",
            TokenKind::Ident => "IDENTIFIER",
            TokenKind::EscIdent => "ESC_IDENTIFIER",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Characters that are no token, from `start` to `end`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LexError {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Splits the text into tokens, the last of which is `Eof`.
pub(crate) fn tokens(source: &Source) -> (Vec<Token>, Vec<LexError>) {
    let chars = &source.chars;
    let mut out = Vec::with_capacity(chars.len() / 3 + 1);
    let mut errors = Vec::new();
    let mut at = 0;
    while let Some(c) = chars.get(at).copied() {
        if matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{c}') {
            at += 1;
            continue;
        }
        if c == '/' && chars.get(at + 1) == Some(&'/') {
            while chars.get(at).is_some_and(|c| *c != '\n') {
                at += 1;
            }
            continue;
        }
        match token(chars, at) {
            Ok((kind, end)) => {
                out.push(Token { kind, start: at, end });
                at = end;
            }
            Err(fail) => {
                let end = (fail + 1).min(chars.len());
                errors.push(LexError { start: at, end });
                at = end;
            }
        }
    }
    out.push(Token {
        kind: TokenKind::Eof,
        start: chars.len(),
        end: chars.len(),
    });
    (out, errors)
}

/// The token at `at` and its end, or the index of the character at which no token was possible any more.
fn token(chars: &[char], at: usize) -> Result<(TokenKind, usize), usize> {
    let c = chars[at];
    let next = chars.get(at + 1).copied();
    let one = |kind| Ok((kind, at + 1));
    let pair = |second: char, kind: TokenKind| {
        if next == Some(second) {
            Ok((kind, at + 2))
        } else {
            Err(at + 1)
        }
    };
    match c {
        '=' => pair('=', TokenKind::Equals),
        '&' => pair('&', TokenKind::And),
        '|' => pair('|', TokenKind::Or),
        '!' => pair('=', TokenKind::NotEquals).or_else(|_| one(TokenKind::Exclam)),
        '<' => pair('=', TokenKind::LessEquals).or_else(|_| one(TokenKind::Less)),
        '>' => pair('=', TokenKind::GreaterEquals).or_else(|_| one(TokenKind::Greater)),
        '[' => one(TokenKind::LBracket),
        ']' => one(TokenKind::RBracket),
        '{' => one(TokenKind::LBrace),
        '}' => one(TokenKind::RBrace),
        '(' => one(TokenKind::LParen),
        ')' => one(TokenKind::RParen),
        ',' => one(TokenKind::Comma),
        '-' => one(TokenKind::Minus),
        '?' => one(TokenKind::Question),
        ':' => one(TokenKind::Colon),
        '+' => one(TokenKind::Plus),
        '*' => one(TokenKind::Star),
        '/' => one(TokenKind::Slash),
        '%' => one(TokenKind::Percent),
        '.' if next.is_some_and(|c| c.is_ascii_digit()) => {
            Ok((TokenKind::Float, exponent(chars, digits(chars, at + 1))))
        }
        '.' => one(TokenKind::Dot),
        '0'..='9' => Ok(number(chars, at)),
        '"' | '\'' => string(chars, at, false).map(|end| (TokenKind::String, end)),
        '`' => escaped_identifier(chars, at),
        'a'..='z' | 'A'..='Z' | '_' => Ok(word(chars, at)),
        _ => Err(at),
    }
}

fn digits(chars: &[char], mut at: usize) -> usize {
    while chars.get(at).is_some_and(char::is_ascii_digit) {
        at += 1;
    }
    at
}

/// The end of an exponent at `at`, or `at` when there is none.
fn exponent(chars: &[char], at: usize) -> usize {
    if !matches!(chars.get(at), Some('e' | 'E')) {
        return at;
    }
    let from = if matches!(chars.get(at + 1), Some('+' | '-')) {
        at + 2
    } else {
        at + 1
    };
    let end = digits(chars, from);
    if end > from { end } else { at }
}

fn number(chars: &[char], at: usize) -> (TokenKind, usize) {
    let is_u = |at: usize| matches!(chars.get(at), Some('u' | 'U'));
    if chars[at] == '0' && chars.get(at + 1) == Some(&'x') {
        let mut end = at + 2;
        while chars.get(end).is_some_and(char::is_ascii_hexdigit) {
            end += 1;
        }
        if end > at + 2 {
            return if is_u(end) {
                (TokenKind::Uint, end + 1)
            } else {
                (TokenKind::Int, end)
            };
        }
    }
    let end = digits(chars, at);
    if chars.get(end) == Some(&'.') && chars.get(end + 1).is_some_and(char::is_ascii_digit) {
        return (TokenKind::Float, exponent(chars, digits(chars, end + 1)));
    }
    let with_exponent = exponent(chars, end);
    if with_exponent > end {
        return (TokenKind::Float, with_exponent);
    }
    if is_u(end) {
        (TokenKind::Uint, end + 1)
    } else {
        (TokenKind::Int, end)
    }
}

fn word(chars: &[char], at: usize) -> (TokenKind, usize) {
    let quote = |at: usize| matches!(chars.get(at), Some('"' | '\''));
    let raw = |at: usize| matches!(chars.get(at), Some('r' | 'R'));
    let bytes = matches!(chars[at], 'b' | 'B');
    let body = if bytes { at + 1 } else { at };
    let prefixed = if raw(body) && quote(body + 1) {
        string(chars, body + 1, true).ok()
    } else if bytes && quote(body) {
        string(chars, body, false).ok()
    } else {
        None
    };
    if let Some(end) = prefixed {
        return (if bytes { TokenKind::Bytes } else { TokenKind::String }, end);
    }
    let mut end = at;
    while chars.get(end).is_some_and(|c| c.is_ascii_alphanumeric() || *c == '_') {
        end += 1;
    }
    let is = |word: &str| word.chars().eq(chars[at..end].iter().copied());
    let kind = if is("in") {
        TokenKind::In
    } else if is("true") {
        TokenKind::True
    } else if is("false") {
        TokenKind::False
    } else if is("null") {
        TokenKind::Null
    } else {
        TokenKind::Ident
    };
    (kind, end)
}

fn escaped_identifier(chars: &[char], at: usize) -> Result<(TokenKind, usize), usize> {
    let mut end = at + 1;
    while chars
        .get(end)
        .is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' '))
    {
        end += 1;
    }
    if end > at + 1 && chars.get(end) == Some(&'`') {
        Ok((TokenKind::EscIdent, end + 1))
    } else {
        Err(end)
    }
}

/// The end of the string whose opening quote stands at `at`, or where it stopped being one.
fn string(chars: &[char], at: usize, raw: bool) -> Result<usize, usize> {
    let quote = chars[at];
    let is_quote = |at: usize| chars.get(at) == Some(&quote);
    let triple = is_quote(at + 1) && is_quote(at + 2);
    let single = quoted(chars, at + 1, raw, |at| is_quote(at).then_some(at + 1), true);
    if !triple {
        return single;
    }
    let long = quoted(
        chars,
        at + 3,
        raw,
        |at| (is_quote(at) && is_quote(at + 1) && is_quote(at + 2)).then_some(at + 3),
        false,
    );
    // A triple quote that never closes still begins with an empty string.
    long.or(single)
}

fn quoted(
    chars: &[char],
    mut at: usize,
    raw: bool,
    close: impl Fn(usize) -> Option<usize>,
    one_line: bool,
) -> Result<usize, usize> {
    loop {
        let Some(c) = chars.get(at).copied() else {
            return Err(at);
        };
        if let Some(end) = close(at) {
            return Ok(end);
        }
        if one_line && matches!(c, '\n' | '\r') {
            return Err(at);
        }
        at = if c == '\\' && !raw { escape(chars, at)? } else { at + 1 };
    }
}

/// The end of the escape sequence at `at`, or the index of the character that made it impossible.
fn escape(chars: &[char], at: usize) -> Result<usize, usize> {
    let run = |from: usize, count: usize, allowed: fn(&char) -> bool| {
        (from..from + count)
            .find(|at| !chars.get(*at).is_some_and(allowed))
            .map_or(Ok(from + count), Err)
    };
    match chars.get(at + 1) {
        Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '"' | '\'' | '\\' | '?' | '`') => Ok(at + 2),
        Some('x' | 'X') => run(at + 2, 2, char::is_ascii_hexdigit),
        Some('u') => run(at + 2, 4, char::is_ascii_hexdigit),
        Some('U') => run(at + 2, 8, char::is_ascii_hexdigit),
        Some('0'..='3') => run(at + 2, 2, |c| matches!(c, '0'..='7')),
        _ => Err(at + 1),
    }
}
