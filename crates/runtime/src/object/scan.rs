//! A validating walk over JSON text that copies what it passes, without whitespace, and builds nothing.
//! It neither recurses nor allocates more than a bit per open bracket.

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
    /// Whether what is put is wanted.
    const KEEPS: bool;

    fn put(&mut self, text: &[u8]);
}

impl Output for Vec<u8> {
    const KEEPS: bool = true;

    fn put(&mut self, text: &[u8]) {
        self.extend_from_slice(text);
    }
}

/// Goes nowhere.
pub(super) struct Ignore;

impl Output for Ignore {
    const KEEPS: bool = false;

    fn put(&mut self, _: &[u8]) {}
}

/// The brackets that are open, a bit each: set for an object. No real object is deeper than the bits of a number.
#[derive(Default)]
struct Brackets {
    depth: usize,
    /// The innermost up to 64.
    innermost: u64,
    deeper: Vec<u64>,
}

impl Brackets {
    fn push(&mut self, is_object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.deeper.push(std::mem::take(&mut self.innermost));
        }
        self.innermost = self.innermost << 1 | u64::from(is_object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.innermost >>= 1;
        self.depth = self.depth.saturating_sub(1);
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.innermost = self.deeper.pop().unwrap_or_default();
        }
    }

    fn innermost(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.innermost & 1 == 1)
    }
}

pub(super) struct Scanner<'a> {
    input: &'a [u8],
    at: usize,
    /// How many bytes of whitespace were passed.
    skipped: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(input: &'a [u8]) -> Result<Self, ScanError> {
        match std::str::from_utf8(input) {
            Ok(_) => Ok(Scanner {
                input,
                at: 0,
                skipped: 0,
            }),
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
        loop {
            match self.input.get(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => {
                    self.at += 1;
                    self.skipped += 1;
                }
                Some(byte) => return Ok(*byte),
                None => return Err(ScanError::Ended),
            }
        }
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
            self.at += plain(&self.input[self.at..]);
            match self.input.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(self.text(start));
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(_) => return Err(ScanError::Unexpected(self.at)),
                None => return Err(ScanError::Ended),
            }
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
    ///
    /// Servers write none, so that the whole value can be put at once. Where there is some, it is passed again in pieces.
    pub(super) fn value<O: Output>(&mut self, out: &mut O) -> Result<(), ScanError> {
        self.peek()?;
        let (start, skipped) = (self.at, self.skipped);
        self.walk(&mut Ignore)?;
        if !O::KEEPS {
            return Ok(());
        }
        if self.skipped == skipped {
            out.put(self.text(start));
            return Ok(());
        }
        self.at = start;
        self.walk(out)
    }

    fn walk(&mut self, out: &mut impl Output) -> Result<(), ScanError> {
        let mut open = Brackets::default();
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
                        if open.depth == MAX_DEPTH {
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
                let Some(is_object) = open.innermost() else {
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

/// How many bytes of a string stand for themselves: up to a quote, a backslash or a control character. Eight are looked at at a
/// time; most strings are too short for anything wider.
pub(super) fn plain(text: &[u8]) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH_BITS: u64 = ONES << 7;
    // The lowest mark of each is true; marks above a true one may not be.
    let below = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word & HIGH_BITS;
    let equal = |word: u64, byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let mut at = 0;
    while let Some(chunk) = text[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let marks = below(word, 0x20) | equal(word, b'"') | equal(word, b'\\');
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = &text[at..];
    let ends = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
    at + rest.iter().position(ends).unwrap_or(rest.len())
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
