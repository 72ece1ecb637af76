//! Which token comes next, and which scalars and collections turn out to be keys.

use std::collections::{HashMap, VecDeque};

use super::{Kind, Mark, Problem, Reader, Token};

/// How deep flow collections, and blocks, may be inside each other.
const MAX_DEPTH: usize = 10_000;
const TOO_DEEP: &str = "exceeded max depth of 10000";

/// How far behind its beginning a key may end.
const LONGEST_KEY: usize = 1024;

const NO_COLON: &str = "could not find expected ':'";

/// What may turn out to be a key once a colon follows it.
#[derive(Clone, Copy, Debug, Default)]
struct SimpleKey {
    possible: bool,
    /// It stands where only a key may stand.
    required: bool,
    token: usize,
    mark: Mark,
}

pub(in crate::yaml) struct Scanner<'a> {
    pub(super) reader: Reader<'a>,
    tokens: VecDeque<Token>,
    /// How many tokens the parser took.
    taken: usize,
    is_ready: bool,
    is_started: bool,
    simple_key_allowed: bool,
    /// One for each flow collection that is open, and one for what is around them.
    simple_keys: Vec<SimpleKey>,
    simple_keys_by_token: HashMap<usize, usize>,
    pub(super) flow_level: usize,
    /// The column of the innermost block, and -1 outside of any.
    pub(super) indent: isize,
    indents: Vec<isize>,
}

impl<'a> Scanner<'a> {
    pub(in crate::yaml) fn new(bytes: &'a [u8]) -> Self {
        Self {
            reader: Reader::new(bytes),
            tokens: VecDeque::new(),
            taken: 0,
            is_ready: false,
            is_started: false,
            simple_key_allowed: true,
            simple_keys: vec![SimpleKey::default()],
            simple_keys_by_token: HashMap::new(),
            flow_level: 0,
            indent: -1,
            indents: Vec::new(),
        }
    }

    /// The next token, which stays.
    pub(in crate::yaml) fn peek(&mut self) -> Result<&Token, Problem> {
        if !self.is_ready {
            self.fetch_until_certain()?;
        }
        self.tokens
            .front()
            .ok_or(Problem::Scanner("found unexpected end of stream", 0))
    }

    /// Takes the token that was looked at.
    pub(in crate::yaml) fn take(&mut self) -> Option<Token> {
        self.is_ready = false;
        self.taken += 1;
        self.tokens.pop_front()
    }

    /// What is wrong at the place that was read up to.
    pub(super) fn problem<T>(&self, problem: &'static str) -> Result<T, Problem> {
        Err(Problem::Scanner(problem, self.reader.mark.line))
    }

    fn fetch_until_certain(&mut self) -> Result<(), Problem> {
        loop {
            if !self.tokens.is_empty() {
                match self.simple_keys_by_token.get(&self.taken).copied() {
                    Some(key) if self.is_possible(key)? => {}
                    _ => break,
                }
            }
            self.fetch()?;
        }
        self.is_ready = true;
        Ok(())
    }

    fn fetch(&mut self) -> Result<(), Problem> {
        self.reader.need(1)?;
        if !self.is_started {
            self.is_started = true;
            self.push(Kind::StreamStart, self.reader.mark);
            return Ok(());
        }
        self.skip_to_token()?;
        self.unroll_indent(self.reader.mark.column as isize);
        self.reader.need(4)?;
        let reader = &self.reader;
        let in_flow = self.flow_level > 0;
        match reader.byte(0) {
            0 => self.fetch_stream_end(),
            b'%' if reader.mark.column == 0 => self.fetch_directive(),
            b'-' if reader.is_marker(b'-') => self.fetch_document_marker(Kind::DocumentStart),
            b'.' if reader.is_marker(b'.') => self.fetch_document_marker(Kind::DocumentEnd),
            b'[' => self.fetch_flow_start(Kind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(Kind::FlowMappingStart),
            b']' => self.fetch_flow_end(Kind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(Kind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if reader.is_blank_or_end(1) => self.fetch_block_entry(),
            b'?' if in_flow || reader.is_blank_or_end(1) => self.fetch_key(),
            b':' if in_flow || reader.is_blank_or_end(1) => self.fetch_value(),
            b'*' => self.fetch_scanned(|scanner| scanner.anchor(Kind::Alias)),
            b'&' => self.fetch_scanned(|scanner| scanner.anchor(Kind::Anchor)),
            b'!' => self.fetch_scanned(Self::tag),
            b'|' if !in_flow => self.fetch_block_scalar(true),
            b'>' if !in_flow => self.fetch_block_scalar(false),
            quote @ (b'\'' | b'"') => self.fetch_scanned(|scanner| scanner.quoted_scalar(quote)),
            b'-' if !reader.is_blank(1) => self.fetch_plain_scalar(),
            b'?' | b':' if !in_flow && !reader.is_blank_or_end(1) => self.fetch_plain_scalar(),
            b'-' | b'?' | b':' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`' => self.cannot_start(),
            _ if reader.is_blank_or_end(0) => self.cannot_start(),
            _ => self.fetch_plain_scalar(),
        }
    }

    fn cannot_start(&self) -> Result<(), Problem> {
        self.problem("found character that cannot start any token")
    }

    /// Goes past blanks, comments and line breaks. A tab is no indentation where a key of a block may begin.
    fn skip_to_token(&mut self) -> Result<(), Problem> {
        loop {
            self.reader.need(1)?;
            if self.reader.is_at_start() && [0xEF, 0xBB, 0xBF] == [0, 1, 2].map(|further| self.reader.byte(further)) {
                self.reader.skip();
            }
            self.reader.need(1)?;
            let tabs = self.flow_level > 0 || !self.simple_key_allowed;
            while self.reader.byte(0) == b' ' || tabs && self.reader.byte(0) == b'\t' {
                self.reader.skip();
                self.reader.need(1)?;
            }
            self.skip_comment()?;
            if !self.reader.is_break(0) {
                return Ok(());
            }
            self.reader.need(2)?;
            self.reader.skip_line();
            if self.flow_level == 0 {
                self.simple_key_allowed = true;
            }
        }
    }

    pub(super) fn skip_comment(&mut self) -> Result<(), Problem> {
        if self.reader.byte(0) == b'#' {
            while !self.reader.is_break_or_end(0) {
                self.reader.skip();
                self.reader.need(1)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, kind: Kind, start: Mark) {
        self.tokens.push_back(Token::new(kind, start));
    }

    /// Puts a token before one that is there already.
    fn insert(&mut self, number: usize, kind: Kind, start: Mark) {
        let at = number.saturating_sub(self.taken).min(self.tokens.len());
        self.tokens.insert(at, Token::new(kind, start));
    }

    /// A token of one character.
    fn push_character(&mut self, kind: Kind) {
        let start = self.reader.mark;
        self.reader.skip();
        self.push(kind, start);
    }

    fn is_possible(&mut self, key: usize) -> Result<bool, Problem> {
        let now = self.reader.mark;
        let Some(key) = self.simple_keys.get_mut(key) else {
            return Ok(false);
        };
        if key.possible && (key.mark.line < now.line || key.mark.index + LONGEST_KEY < now.index) {
            if key.required {
                return self.problem(NO_COLON);
            }
            key.possible = false;
        }
        Ok(key.possible)
    }

    fn innermost_key(&mut self) -> &mut SimpleKey {
        if self.simple_keys.is_empty() {
            self.simple_keys.push(SimpleKey::default());
        }
        let last = self.simple_keys.len() - 1;
        &mut self.simple_keys[last]
    }

    fn save_simple_key(&mut self) -> Result<(), Problem> {
        if !self.simple_key_allowed {
            return Ok(());
        }
        let key = SimpleKey {
            possible: true,
            required: self.flow_level == 0 && self.indent == self.reader.mark.column as isize,
            token: self.taken + self.tokens.len(),
            mark: self.reader.mark,
        };
        self.remove_simple_key()?;
        *self.innermost_key() = key;
        self.simple_keys_by_token.insert(key.token, self.simple_keys.len() - 1);
        Ok(())
    }

    fn remove_simple_key(&mut self) -> Result<(), Problem> {
        let key = *self.innermost_key();
        if !key.possible {
            return Ok(());
        }
        if key.required {
            return self.problem(NO_COLON);
        }
        self.innermost_key().possible = false;
        self.simple_keys_by_token.remove(&key.token);
        Ok(())
    }

    /// Opens a block at a column, if none is open there: before the token of a number, or here.
    fn roll_indent(&mut self, number: Option<usize>, kind: Kind, start: Mark) -> Result<(), Problem> {
        let column = start.column as isize;
        if self.flow_level > 0 || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_DEPTH {
            return self.problem(TOO_DEEP);
        }
        match number {
            Some(number) => self.insert(number, kind, start),
            None => self.push(kind, start),
        }
        Ok(())
    }

    /// Closes the blocks that are further to the right.
    fn unroll_indent(&mut self, column: isize) {
        if self.flow_level > 0 {
            return;
        }
        while self.indent > column {
            self.push(Kind::BlockEnd, self.reader.mark);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn fetch_stream_end(&mut self) -> Result<(), Problem> {
        if self.reader.mark.column != 0 {
            self.reader.mark.column = 0;
            self.reader.mark.line += 1;
        }
        self.end_blocks()?;
        self.push(Kind::StreamEnd, self.reader.mark);
        Ok(())
    }

    fn end_blocks(&mut self) -> Result<(), Problem> {
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        Ok(())
    }

    fn fetch_directive(&mut self) -> Result<(), Problem> {
        self.end_blocks()?;
        let token = self.directive()?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_document_marker(&mut self, kind: Kind) -> Result<(), Problem> {
        self.end_blocks()?;
        let start = self.reader.mark;
        for _ in 0..3 {
            self.reader.skip();
        }
        self.push(kind, start);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: Kind) -> Result<(), Problem> {
        self.save_simple_key()?;
        self.simple_keys.push(SimpleKey {
            token: self.taken + self.tokens.len(),
            mark: self.reader.mark,
            ..SimpleKey::default()
        });
        self.flow_level += 1;
        if self.flow_level > MAX_DEPTH {
            return self.problem(TOO_DEEP);
        }
        self.simple_key_allowed = true;
        self.push_character(kind);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: Kind) -> Result<(), Problem> {
        self.remove_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            if let Some(key) = self.simple_keys.pop() {
                self.simple_keys_by_token.remove(&key.token);
            }
        }
        self.simple_key_allowed = false;
        self.push_character(kind);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Result<(), Problem> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_character(Kind::FlowEntry);
        Ok(())
    }

    /// Opens a block for an indicator, if one is needed and may begin here.
    fn begin_block(&mut self, kind: Kind, problem: &'static str) -> Result<(), Problem> {
        if self.flow_level > 0 {
            return Ok(());
        }
        if !self.simple_key_allowed {
            return self.problem(problem);
        }
        self.roll_indent(None, kind, self.reader.mark)
    }

    fn fetch_block_entry(&mut self) -> Result<(), Problem> {
        let problem = "block sequence entries are not allowed in this context";
        self.begin_block(Kind::BlockSequenceStart, problem)?;
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_character(Kind::BlockEntry);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), Problem> {
        self.begin_block(Kind::BlockMappingStart, "mapping keys are not allowed in this context")?;
        self.remove_simple_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        self.push_character(Kind::Key);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), Problem> {
        let last = self.simple_keys.len().saturating_sub(1);
        if self.is_possible(last)? {
            let key = *self.innermost_key();
            self.insert(key.token, Kind::Key, key.mark);
            self.roll_indent(Some(key.token), Kind::BlockMappingStart, key.mark)?;
            self.innermost_key().possible = false;
            self.simple_keys_by_token.remove(&key.token);
            self.simple_key_allowed = false;
        } else {
            self.begin_block(
                Kind::BlockMappingStart,
                "mapping values are not allowed in this context",
            )?;
            self.simple_key_allowed = self.flow_level == 0;
        }
        self.push_character(Kind::Value);
        Ok(())
    }

    /// What may be a key, or belong to one.
    fn fetch_scanned(&mut self, scan: impl FnOnce(&mut Self) -> Result<Token, Problem>) -> Result<(), Problem> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let token = scan(self)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_block_scalar(&mut self, literal: bool) -> Result<(), Problem> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        let token = self.block_scalar(literal)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_plain_scalar(&mut self) -> Result<(), Problem> {
        let mut ends_line = false;
        self.fetch_scanned(|scanner| {
            let (token, ends) = scanner.plain_scalar()?;
            ends_line = ends;
            Ok(token)
        })?;
        self.simple_key_allowed |= ends_line;
        Ok(())
    }
}
