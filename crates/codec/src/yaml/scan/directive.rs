//! Directives, anchors, aliases and tags.

use super::{Kind, Mark, Problem, Scanner, Token, text_of};

/// How many digits a number of a version may have.
const LONGEST_NUMBER: usize = 2;

impl Scanner<'_> {
    pub(super) fn directive(&mut self) -> Result<Token, Problem> {
        let start = self.reader.mark;
        self.reader.skip();
        let mut name = Vec::new();
        self.reader.need(1)?;
        self.words(&mut name)?;
        if name.is_empty() {
            return self.problem("could not find expected directive name");
        }
        if !self.reader.is_blank_or_end(0) {
            return self.problem("found unexpected non-alphabetical character");
        }
        let token = match name.as_slice() {
            b"YAML" => self.version(start)?,
            b"TAG" => self.tag_directive(start)?,
            _ => return self.problem("found unknown directive name"),
        };
        self.reader.need(1)?;
        self.skip_blanks()?;
        self.skip_comment()?;
        if !self.reader.is_break_or_end(0) {
            return self.problem("did not find expected comment or line break");
        }
        if self.reader.is_break(0) {
            self.reader.need(2)?;
            self.reader.skip_line();
        }
        Ok(token)
    }

    fn words(&mut self, text: &mut Vec<u8>) -> Result<(), Problem> {
        while self.reader.is_word() {
            self.reader.take(text);
            self.reader.need(1)?;
        }
        Ok(())
    }

    pub(super) fn skip_blanks(&mut self) -> Result<(), Problem> {
        while self.reader.is_blank(0) {
            self.reader.skip();
            self.reader.need(1)?;
        }
        Ok(())
    }

    fn version(&mut self, start: Mark) -> Result<Token, Problem> {
        self.reader.need(1)?;
        self.skip_blanks()?;
        let major = self.version_number()?;
        if self.reader.byte(0) != b'.' {
            return self.problem("did not find expected digit or '.' character");
        }
        self.reader.skip();
        let minor = self.version_number()?;
        Ok(Token::new(Kind::Version((major, minor) == (1, 1)), start))
    }

    fn version_number(&mut self) -> Result<u32, Problem> {
        self.reader.need(1)?;
        let (mut number, mut digits) = (0, 0);
        while let digit @ b'0'..=b'9' = self.reader.byte(0) {
            digits += 1;
            if digits > LONGEST_NUMBER {
                return self.problem("found extremely long version number");
            }
            number = number * 10 + u32::from(digit - b'0');
            self.reader.skip();
            self.reader.need(1)?;
        }
        match digits {
            0 => self.problem("did not find expected version number"),
            _ => Ok(number),
        }
    }

    fn tag_directive(&mut self, start: Mark) -> Result<Token, Problem> {
        self.reader.need(1)?;
        self.skip_blanks()?;
        let handle = self.tag_handle(true)?;
        self.reader.need(1)?;
        if !self.reader.is_blank(0) {
            return self.problem("did not find expected whitespace");
        }
        self.skip_blanks()?;
        let prefix = self.tag_uri(&[])?;
        self.reader.need(1)?;
        if !self.reader.is_blank_or_end(0) {
            return self.problem("did not find expected whitespace or line break");
        }
        let mut token = Token::with_text(Kind::TagDirective, start, handle);
        token.suffix = text_of(prefix);
        Ok(token)
    }

    /// An anchor or an alias.
    pub(super) fn anchor(&mut self, kind: Kind) -> Result<Token, Problem> {
        let start = self.reader.mark;
        self.reader.skip();
        self.reader.need(1)?;
        let mut name = Vec::new();
        self.words(&mut name)?;
        let ends = self.reader.is_blank_or_end(0)
            || matches!(
                self.reader.byte(0),
                b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'
            );
        if name.is_empty() || !ends {
            return self.problem("did not find expected alphabetic or numeric character");
        }
        Ok(Token::with_text(kind, start, name))
    }

    pub(super) fn tag(&mut self) -> Result<Token, Problem> {
        let start = self.reader.mark;
        self.reader.need(2)?;
        let (handle, suffix) = if self.reader.byte(1) == b'<' {
            self.reader.skip();
            self.reader.skip();
            let suffix = self.tag_uri(&[])?;
            if self.reader.byte(0) != b'>' {
                return self.problem("did not find the expected '>'");
            }
            self.reader.skip();
            (Vec::new(), suffix)
        } else {
            let handle = self.tag_handle(false)?;
            if handle.len() > 1 && handle.ends_with(b"!") {
                let suffix = self.tag_uri(&[])?;
                (handle, suffix)
            } else {
                match self.tag_uri(&handle)? {
                    suffix if suffix.is_empty() => (suffix, b"!".to_vec()),
                    suffix => (b"!".to_vec(), suffix),
                }
            }
        };
        self.reader.need(1)?;
        if !self.reader.is_blank_or_end(0) {
            return self.problem("did not find expected whitespace or line break");
        }
        let mut token = Token::with_text(Kind::Tag, start, handle);
        token.suffix = text_of(suffix);
        Ok(token)
    }

    fn tag_handle(&mut self, of_directive: bool) -> Result<Vec<u8>, Problem> {
        const NO_MARK: &str = "did not find expected '!'";
        self.reader.need(1)?;
        if self.reader.byte(0) != b'!' {
            return self.problem(NO_MARK);
        }
        let mut handle = Vec::new();
        self.reader.take(&mut handle);
        self.reader.need(1)?;
        self.words(&mut handle)?;
        if self.reader.byte(0) == b'!' {
            self.reader.take(&mut handle);
        } else if of_directive && handle != b"!" {
            return self.problem(NO_MARK);
        }
        Ok(handle)
    }

    /// What stands behind a handle; a handle that turned out to be none is its beginning.
    fn tag_uri(&mut self, head: &[u8]) -> Result<Vec<u8>, Problem> {
        let mut uri = head.get(1..).unwrap_or_default().to_vec();
        let mut is_there = !head.is_empty();
        self.reader.need(1)?;
        while self.reader.is_word() || b";/?:@&=+$,.!~*'()[]%".contains(&self.reader.byte(0)) {
            if self.reader.byte(0) == b'%' {
                self.uri_escapes(&mut uri)?;
            } else {
                self.reader.take(&mut uri);
            }
            self.reader.need(1)?;
            is_there = true;
        }
        if is_there {
            Ok(uri)
        } else {
            self.problem("did not find expected tag URI")
        }
    }

    /// The escaped octets of one character.
    fn uri_escapes(&mut self, uri: &mut Vec<u8>) -> Result<(), Problem> {
        let mut left = None;
        while left != Some(0) {
            self.reader.need(3)?;
            let digits = [self.reader.byte(1), self.reader.byte(2)].map(|digit| char::from(digit).to_digit(16));
            let (b'%', [Some(high), Some(low)]) = (self.reader.byte(0), digits) else {
                return self.problem("did not find URI escaped octet");
            };
            let octet = (high * 16 + low) as u8;
            let width = match (left, octet) {
                (Some(left), 0x80..=0xBF) => left,
                (Some(_), _) => return self.problem("found an incorrect trailing UTF-8 octet"),
                (None, 0x00..=0x7F) => 1,
                (None, 0xC0..=0xDF) => 2,
                (None, 0xE0..=0xEF) => 3,
                (None, 0xF0..=0xF7) => 4,
                (None, _) => return self.problem("found an incorrect leading UTF-8 octet"),
            };
            uri.push(octet);
            for _ in 0..3 {
                self.reader.skip();
            }
            left = Some(width - 1);
        }
        Ok(())
    }
}
