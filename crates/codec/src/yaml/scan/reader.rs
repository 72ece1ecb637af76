//! The characters of a text, read in pieces as Go's `yaml` reads them: what it cannot hold is found when its piece is needed, and not before.

use super::Problem;

/// How many bytes are read at once.
const PIECE: usize = 512;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A place in the text, counted from nought.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    /// In characters.
    pub(super) index: usize,
    pub(super) line: usize,
    pub(super) column: usize,
}

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Up to where the bytes are known to be characters that YAML can hold.
    checked: usize,
    /// Up to where bytes were read.
    read: usize,
    /// How many characters are checked and not consumed.
    unread: usize,
    is_at_end: bool,
    pub(super) mark: Mark,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let read = bytes.len().min(PIECE);
        // A byte order mark at the start says how the text is encoded and is no part of it.
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        Self {
            bytes,
            at: 0,
            checked: 0,
            read: read.min(bytes.len()),
            unread: 0,
            is_at_end: false,
            mark: Mark::default(),
        }
    }

    /// Makes sure that so many characters are there, or the end. Behind the end there are zeros.
    pub(super) fn need(&mut self, characters: usize) -> Result<(), Problem> {
        let mut first = true;
        while self.unread < characters {
            if (!first || self.checked == self.read) && !self.is_at_end {
                self.is_at_end = self.read == self.bytes.len();
                self.read = self.bytes.len().min(self.checked + PIECE);
            }
            first = false;
            while self.checked < self.read && self.check()? {}
            if self.is_at_end {
                self.unread += 1;
                break;
            }
        }
        Ok(())
    }

    /// Checks the next character; `false` if a part of it is not read yet.
    fn check(&mut self) -> Result<bool, Problem> {
        let rest = &self.bytes[self.checked..self.read];
        let width = match rest[0] {
            0x00..=0x7F => 1,
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            _ => return Err(Problem::Reader("invalid leading UTF-8 octet")),
        };
        let Some(bytes) = rest.get(..width) else {
            return if self.is_at_end {
                Err(Problem::Reader("incomplete UTF-8 octet sequence"))
            } else {
                Ok(false)
            };
        };
        if bytes[1..].iter().any(|byte| byte & 0xC0 != 0x80) {
            return Err(Problem::Reader("invalid trailing UTF-8 octet"));
        }
        let character = std::str::from_utf8(bytes).ok().and_then(|text| text.chars().next());
        match character {
            None if matches!(
                bytes,
                [0xED, 0xA0..=0xBF, _] | [0xF4, 0x90..=0xBF, ..] | [0xF5..=0xF7, ..]
            ) =>
            {
                Err(Problem::Reader("invalid Unicode character"))
            }
            None => Err(Problem::Reader("invalid length of a UTF-8 sequence")),
            Some(character) if is_forbidden(character) => Err(Problem::Reader("control characters are not allowed")),
            Some(_) => {
                self.checked += width;
                self.unread += 1;
                Ok(true)
            }
        }
    }

    /// The byte so many bytes further on, and zero behind what was read.
    pub(super) fn byte(&self, further: usize) -> u8 {
        let at = self.at + further;
        if at < self.checked { self.bytes[at] } else { 0 }
    }

    pub(super) fn is_at_start(&self) -> bool {
        self.at == 0
    }

    pub(super) fn is_end(&self) -> bool {
        self.byte(0) == 0
    }

    pub(super) fn is_blank(&self, further: usize) -> bool {
        matches!(self.byte(further), b' ' | b'\t')
    }

    pub(super) fn is_break(&self, further: usize) -> bool {
        self.break_width(further) > 0
    }

    pub(super) fn is_break_or_end(&self, further: usize) -> bool {
        self.byte(further) == 0 || self.is_break(further)
    }

    pub(super) fn is_blank_or_end(&self, further: usize) -> bool {
        self.is_blank(further) || self.is_break_or_end(further)
    }

    /// A letter, a digit, an underscore or a dash.
    pub(super) fn is_word(&self) -> bool {
        matches!(self.byte(0), b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'-')
    }

    /// Three times the character and a blank, at the beginning of a line.
    pub(super) fn is_marker(&self, of: u8) -> bool {
        self.mark.column == 0 && (0..3).all(|further| self.byte(further) == of) && self.is_blank_or_end(3)
    }

    fn break_width(&self, further: usize) -> usize {
        match (self.byte(further), self.byte(further + 1), self.byte(further + 2)) {
            (b'\r', b'\n', _) | (0xC2, 0x85, _) => 2,
            (b'\r' | b'\n', ..) => 1,
            (0xE2, 0x80, 0xA8 | 0xA9) => 3,
            _ => 0,
        }
    }

    /// Consumes a character.
    pub(super) fn skip(&mut self) {
        let width = match self.byte(0) {
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0.. => 4,
            _ => 1,
        };
        self.at = self.bytes.len().min(self.at + width);
        self.mark.index += 1;
        self.mark.column += 1;
        self.unread = self.unread.saturating_sub(1);
    }

    /// Consumes a character into a text.
    pub(super) fn take(&mut self, text: &mut Vec<u8>) {
        let from = self.at;
        self.skip();
        text.extend_from_slice(&self.bytes[from..self.at]);
    }

    /// Consumes a line break.
    pub(super) fn skip_line(&mut self) {
        let width = self.break_width(0);
        if width == 0 {
            return;
        }
        let characters = if self.byte(0) == b'\r' { width } else { 1 };
        self.at += width;
        self.mark.index += characters;
        self.mark.column = 0;
        self.mark.line += 1;
        self.unread = self.unread.saturating_sub(characters);
    }

    /// Consumes a line break into a text, where most become a newline.
    pub(super) fn take_line(&mut self, text: &mut Vec<u8>) {
        match self.byte(0) {
            0xE2 if self.is_break(0) => text.extend_from_slice(&self.bytes[self.at..self.at + 3]),
            _ if self.is_break(0) => text.push(b'\n'),
            _ => {}
        }
        self.skip_line();
    }
}

fn is_forbidden(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' => false,
        '\0'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => true,
        _ => false,
    }
}
