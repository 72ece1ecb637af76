//! A validating walk over JSON text that copies what it passes, without whitespace, and builds nothing.
//! It neither recurses nor allocates more than a bit per open bracket.

use memchr::memchr2;

/// As Go's decoder: deeper text is refused.
const MAX_DEPTH: usize = 10_000;

/// Why some text is not JSON, or not the JSON that was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// The text ended too early.
    #[error("the text ends in the middle of a value")]
    Ended,
    /// A byte that cannot stand where it stands.
    #[error("unexpected byte at offset {0}")]
    Unexpected(usize),
    /// The text is not UTF-8.
    #[error("not UTF-8 at offset {0}")]
    NotUtf8(usize),
    /// Too many brackets are open.
    #[error("nested too deeply")]
    TooDeep,
    /// The text is too long for a cache entry.
    #[error("longer than 4 GiB")]
    TooLong,
}

/// Where the text that was passed goes.
pub(super) trait Output {
    fn put(&mut self, text: &[u8]);
}

impl Output for Vec<u8> {
    fn put(&mut self, text: &[u8]) {
        self.extend_from_slice(text);
    }
}

/// Goes nowhere.
pub(super) struct Ignore;

impl Output for Ignore {
    fn put(&mut self, _: &[u8]) {}
}

pub(super) struct Scanner<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(input: &'a [u8]) -> Result<Self, ScanError> {
        match std::str::from_utf8(input) {
            Ok(_) => Ok(Scanner { input, at: 0 }),
            Err(error) => Err(ScanError::NotUtf8(error.valid_up_to())),
        }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn text(&self, from: usize) -> &'a [u8] {
        &self.input[from..self.at]
    }

    /// The next byte that is not whitespace.
    pub(super) fn peek(&mut self) -> Result<u8, ScanError> {
        while let Some(byte) = self.input.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Ok(*byte),
            }
        }
        Err(ScanError::Ended)
    }

    /// Passes one punctuation byte.
    pub(super) fn expect(&mut self, byte: u8) -> Result<(), ScanError> {
        if self.peek()? == byte {
            self.at += 1;
            Ok(())
        } else {
            Err(ScanError::Unexpected(self.at))
        }
    }

    /// Nothing but whitespace may follow.
    pub(super) fn end(&mut self) -> Result<(), ScanError> {
        match self.peek() {
            Err(ScanError::Ended) => Ok(()),
            _ => Err(ScanError::Unexpected(self.at)),
        }
    }

    /// Passes a string and returns it with its quotes.
    pub(super) fn string(&mut self) -> Result<&'a [u8], ScanError> {
        self.expect(b'"')?;
        let start = self.at - 1;
        loop {
            let rest = &self.input[self.at..];
            let stop = memchr2(b'"', b'\\', rest).ok_or(ScanError::Ended)?;
            if let Some(control) = rest[..stop].iter().position(|byte| *byte < 0x20) {
                return Err(ScanError::Unexpected(self.at + control));
            }
            self.at += stop + 1;
            if rest[stop] == b'"' {
                return Ok(self.text(start));
            }
            self.escape()?;
        }
    }

    fn escape(&mut self) -> Result<(), ScanError> {
        match self.input.get(self.at).ok_or(ScanError::Ended)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
            b'u' => {
                let digits = self.input.get(self.at + 1..self.at + 5).ok_or(ScanError::Ended)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(ScanError::Unexpected(self.at));
                }
                self.at += 5;
            }
            _ => return Err(ScanError::Unexpected(self.at)),
        }
        Ok(())
    }

    /// Walks over the members of an object. `member` gets each key with its quotes and must pass the value.
    pub(super) fn members<E: From<ScanError>>(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.expect(b'{')?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            let key = {
                self.peek()?;
                self.string()?
            };
            self.expect(b':')?;
            member(self, key)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(ScanError::Unexpected(self.at).into()),
            }
        }
    }

    /// Walks over the elements of an array. `element` must pass each.
    pub(super) fn elements<E: From<ScanError>>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.expect(b'[')?;
        if self.peek()? == b']' {
            self.at += 1;
            return Ok(());
        }
        loop {
            element(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(ScanError::Unexpected(self.at).into()),
            }
        }
    }

    /// Passes any value and puts it, without whitespace.
    pub(super) fn value(&mut self, out: &mut impl Output) -> Result<(), ScanError> {
        // True for an object, false for an array.
        let mut open: Vec<bool> = Vec::new();
        loop {
            match self.peek()? {
                bracket @ (b'{' | b'[') => {
                    self.at += 1;
                    out.put(&[bracket]);
                    let is_object = bracket == b'{';
                    let close = if is_object { b'}' } else { b']' };
                    if self.peek()? == close {
                        self.at += 1;
                        out.put(&[close]);
                    } else {
                        if open.len() == MAX_DEPTH {
                            return Err(ScanError::TooDeep);
                        }
                        open.push(is_object);
                        if is_object {
                            self.key(out)?;
                        }
                        continue;
                    }
                }
                b'"' => out.put(self.string()?),
                b'-' | b'0'..=b'9' => out.put(self.number()?),
                b't' => out.put(self.literal(b"true")?),
                b'f' => out.put(self.literal(b"false")?),
                b'n' => out.put(self.literal(b"null")?),
                _ => return Err(ScanError::Unexpected(self.at)),
            }
            // A value was passed: close brackets until another value is due.
            loop {
                let Some(is_object) = open.last().copied() else {
                    return Ok(());
                };
                let byte = self.peek()?;
                let close = if is_object { b'}' } else { b']' };
                if byte != b',' && byte != close {
                    return Err(ScanError::Unexpected(self.at));
                }
                self.at += 1;
                out.put(&[byte]);
                if byte == b',' {
                    if is_object {
                        self.key(out)?;
                    }
                    break;
                }
                open.pop();
            }
        }
    }

    fn key(&mut self, out: &mut impl Output) -> Result<(), ScanError> {
        self.peek()?;
        out.put(self.string()?);
        self.expect(b':')?;
        out.put(b":");
        Ok(())
    }

    fn literal(&mut self, word: &'static [u8]) -> Result<&'static [u8], ScanError> {
        for (offset, byte) in word.iter().enumerate() {
            match self.input.get(self.at + offset) {
                Some(found) if found == byte => {}
                Some(_) => return Err(ScanError::Unexpected(self.at + offset)),
                None => return Err(ScanError::Ended),
            }
        }
        self.at += word.len();
        Ok(word)
    }

    fn number(&mut self) -> Result<&'a [u8], ScanError> {
        let start = self.at;
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(self.text(start))
    }

    fn byte(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    fn digits(&mut self) -> Result<(), ScanError> {
        let count = self.input[self.at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if count == 0 {
            return Err(self.byte().map_or(ScanError::Ended, |_| ScanError::Unexpected(self.at)));
        }
        self.at += count;
        Ok(())
    }
}

/// Whether a key, with its quotes, says `name`; escapes count as what they stand for.
pub(super) fn key_is(quoted: &[u8], name: &str) -> bool {
    let inner = &quoted[1..quoted.len() - 1];
    if inner.contains(&b'\\') {
        serde_json::from_slice::<String>(quoted).is_ok_and(|text| text == name)
    } else {
        inner == name.as_bytes()
    }
}
