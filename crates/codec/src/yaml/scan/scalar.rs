//! Scalars: blocks, quoted and plain ones, with their lines folded.

use super::{Kind, Problem, Scanner, Token};

/// The line breaks and blanks between two parts of a scalar, which say what joins them.
#[derive(Default)]
struct Gap {
    first_break: Vec<u8>,
    further_breaks: Vec<u8>,
    blanks: Vec<u8>,
    has_break: bool,
}

impl Gap {
    /// Reads blanks and line breaks; those of one line stay.
    fn read(&mut self, scanner: &mut Scanner<'_>, plain_indent: Option<isize>) -> Result<(), Problem> {
        while scanner.reader.is_blank(0) || scanner.reader.is_break(0) {
            if scanner.reader.is_blank(0) {
                let is_tab = scanner.reader.byte(0) == b'\t';
                let outside = plain_indent.is_some_and(|indent| (scanner.reader.mark.column as isize) < indent);
                if self.has_break && is_tab && outside {
                    return scanner.problem("found a tab character that violates indentation");
                }
                if self.has_break {
                    scanner.reader.skip();
                } else {
                    scanner.reader.take(&mut self.blanks);
                }
            } else {
                scanner.reader.need(2)?;
                if self.has_break {
                    scanner.reader.take_line(&mut self.further_breaks);
                } else {
                    self.blanks.clear();
                    scanner.reader.take_line(&mut self.first_break);
                    self.has_break = true;
                }
            }
            scanner.reader.need(1)?;
        }
        Ok(())
    }

    /// Joins: a break becomes a blank, further ones stay.
    fn join(&mut self, text: &mut Vec<u8>) {
        if !self.has_break {
            text.append(&mut self.blanks);
            return;
        }
        if self.first_break.first() != Some(&b'\n') {
            text.append(&mut self.first_break);
            text.append(&mut self.further_breaks);
        } else if self.further_breaks.is_empty() {
            text.push(b' ');
        } else {
            text.append(&mut self.further_breaks);
        }
        self.first_break.clear();
        self.further_breaks.clear();
        self.has_break = false;
    }
}

impl Scanner<'_> {
    pub(super) fn block_scalar(&mut self, literal: bool) -> Result<Token, Problem> {
        let start = self.reader.mark;
        self.reader.skip();
        let (keeps, increment) = self.block_header()?;
        self.skip_blanks()?;
        self.skip_comment()?;
        if !self.reader.is_break_or_end(0) {
            return self.problem("did not find expected comment or line break");
        }
        if self.reader.is_break(0) {
            self.reader.need(2)?;
            self.reader.skip_line();
        }
        let mut indent = increment.map_or(0, |increment| self.indent.max(0) as usize + increment);
        let (mut text, mut first_break, mut breaks) = (Vec::new(), Vec::new(), Vec::new());
        self.block_breaks(&mut indent, &mut breaks)?;
        self.reader.need(1)?;
        let mut began_blank = false;
        while self.reader.mark.column == indent && !self.reader.is_end() {
            let begins_blank = self.reader.is_blank(0);
            if !literal && !began_blank && !begins_blank && first_break.first() == Some(&b'\n') {
                if breaks.is_empty() {
                    text.push(b' ');
                }
                first_break.clear();
            }
            text.append(&mut first_break);
            text.append(&mut breaks);
            began_blank = begins_blank;
            while !self.reader.is_break_or_end(0) {
                self.reader.take(&mut text);
                self.reader.need(1)?;
            }
            self.reader.need(2)?;
            self.reader.take_line(&mut first_break);
            self.block_breaks(&mut indent, &mut breaks)?;
        }
        if keeps != Some(false) {
            text.append(&mut first_break);
        }
        if keeps == Some(true) {
            text.append(&mut breaks);
        }
        Ok(Token::with_text(Kind::Scalar { plain: false }, start, text))
    }

    /// Whether the breaks at the end are kept (all, none or one), and the indentation if it is said, in any order.
    fn block_header(&mut self) -> Result<(Option<bool>, Option<usize>), Problem> {
        let (mut keeps, mut increment) = (None, None);
        self.reader.need(1)?;
        for _ in 0..2 {
            match self.reader.byte(0) {
                sign @ (b'+' | b'-') if keeps.is_none() => keeps = Some(sign == b'+'),
                b'0' if increment.is_none() => return self.problem("found an indentation indicator equal to 0"),
                digit @ b'1'..=b'9' if increment.is_none() => increment = Some(usize::from(digit - b'0')),
                _ => break,
            }
            self.reader.skip();
            self.reader.need(1)?;
        }
        Ok((keeps, increment))
    }

    /// Reads empty lines and the indentation of the next one, which says that of all if nothing else did.
    fn block_breaks(&mut self, indent: &mut usize, breaks: &mut Vec<u8>) -> Result<(), Problem> {
        let mut widest = 0;
        loop {
            self.reader.need(1)?;
            while (*indent == 0 || self.reader.mark.column < *indent) && self.reader.byte(0) == b' ' {
                self.reader.skip();
                self.reader.need(1)?;
            }
            widest = widest.max(self.reader.mark.column);
            if (*indent == 0 || self.reader.mark.column < *indent) && self.reader.byte(0) == b'\t' {
                return self.problem("found a tab character where an indentation space is expected");
            }
            if !self.reader.is_break(0) {
                break;
            }
            self.reader.need(2)?;
            self.reader.take_line(breaks);
        }
        if *indent == 0 {
            *indent = widest.max((self.indent + 1) as usize).max(1);
        }
        Ok(())
    }

    pub(super) fn quoted_scalar(&mut self, quote: u8) -> Result<Token, Problem> {
        let start = self.reader.mark;
        self.reader.skip();
        let mut text = Vec::new();
        loop {
            self.reader.need(4)?;
            if self.reader.is_marker(b'-') || self.reader.is_marker(b'.') {
                return self.problem("found unexpected document indicator");
            }
            if self.reader.is_end() {
                return self.problem("found unexpected end of stream");
            }
            let mut gap = Gap {
                has_break: self.quoted_part(quote, &mut text)?,
                ..Gap::default()
            };
            self.reader.need(1)?;
            if self.reader.byte(0) == quote {
                break;
            }
            gap.read(self, None)?;
            if gap.has_break && gap.first_break.is_empty() {
                // An escaped break joins without a blank.
                text.append(&mut gap.further_breaks);
            } else {
                gap.join(&mut text);
            }
        }
        self.reader.skip();
        Ok(Token::with_text(Kind::Scalar { plain: false }, start, text))
    }

    /// Reads a quoted scalar up to a blank or its end; whether that is an escaped line break.
    fn quoted_part(&mut self, quote: u8, text: &mut Vec<u8>) -> Result<bool, Problem> {
        while !self.reader.is_blank_or_end(0) {
            match (quote, self.reader.byte(0)) {
                (b'\'', b'\'') if self.reader.byte(1) == b'\'' => {
                    text.push(b'\'');
                    self.reader.skip();
                    self.reader.skip();
                }
                (quote, byte) if quote == byte => break,
                (b'"', b'\\') if self.reader.is_break(1) => {
                    self.reader.need(3)?;
                    self.reader.skip();
                    self.reader.skip_line();
                    return Ok(true);
                }
                (b'"', b'\\') => self.escape(text)?,
                _ => self.reader.take(text),
            }
            self.reader.need(2)?;
        }
        Ok(false)
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Result<(), Problem> {
        let digits = match self.reader.byte(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            escaped => {
                let character = match escaped {
                    b'0' => '\0',
                    b'a' => '\x07',
                    b'b' => '\x08',
                    b't' | b'\t' => '\t',
                    b'n' => '\n',
                    b'v' => '\x0b',
                    b'f' => '\x0c',
                    b'r' => '\r',
                    b'e' => '\x1b',
                    b' ' | b'"' | b'\'' | b'\\' => char::from(escaped),
                    b'N' => '\u{85}',
                    b'_' => '\u{a0}',
                    b'L' => '\u{2028}',
                    b'P' => '\u{2029}',
                    _ => return self.problem("found unknown escape character"),
                };
                push(text, character);
                0
            }
        };
        self.reader.skip();
        self.reader.skip();
        if digits == 0 {
            return Ok(());
        }
        self.reader.need(digits)?;
        let mut value = 0_u32;
        for at in 0..digits {
            let Some(digit) = char::from(self.reader.byte(at)).to_digit(16) else {
                return self.problem("did not find expected hexdecimal number");
            };
            value = (value << 4) + digit;
        }
        let Some(character) = char::from_u32(value) else {
            return self.problem("found invalid Unicode character escape code");
        };
        push(text, character);
        for _ in 0..digits {
            self.reader.skip();
        }
        Ok(())
    }

    /// A scalar without quotes, and whether it went on to the end of its line, so that a key may follow.
    pub(super) fn plain_scalar(&mut self) -> Result<(Token, bool), Problem> {
        let start = self.reader.mark;
        let indent = self.indent + 1;
        let (mut text, mut gap) = (Vec::new(), Gap::default());
        loop {
            self.reader.need(4)?;
            if self.reader.is_marker(b'-') || self.reader.is_marker(b'.') || self.reader.byte(0) == b'#' {
                break;
            }
            while !self.reader.is_blank_or_end(0) {
                let ends = match self.reader.byte(0) {
                    b':' => self.reader.is_blank_or_end(1),
                    b',' | b'?' | b'[' | b']' | b'{' | b'}' => self.flow_level > 0,
                    _ => false,
                };
                if ends {
                    break;
                }
                gap.join(&mut text);
                self.reader.take(&mut text);
                self.reader.need(2)?;
            }
            if !self.reader.is_blank(0) && !self.reader.is_break(0) {
                break;
            }
            self.reader.need(1)?;
            gap.read(self, Some(indent))?;
            if self.flow_level == 0 && (self.reader.mark.column as isize) < indent {
                break;
            }
        }
        Ok((
            Token::with_text(Kind::Scalar { plain: true }, start, text),
            gap.has_break,
        ))
    }
}

fn push(text: &mut Vec<u8>, character: char) {
    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}
