//! The parser: one pass, no recursion, straight into values.

use std::fmt::Write as _;

use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::number::{Scanned, scan, unexpected};
use super::observations::Observations;
use super::string::Source;
use super::{MAX_DEPTH, SyntaxError};
use crate::{Decoded, KEPT_DEPTH};

/// What becomes of a field that is given twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// The last one stands, as in Go's untyped values.
    #[default]
    LastWins,
    /// Objects are merged field by field and lists item by item, as in Go's structs, whose decoder writes the second
    /// occurrence over the first.
    Merge,
}

/// Reads one JSON document; of a field given twice the last stands.
pub fn decode(bytes: &[u8]) -> Result<Decoded, SyntaxError> {
    decode_with(bytes, OnDuplicate::LastWins)
}

/// Reads one JSON document.
pub fn decode_with(bytes: &[u8], on_duplicate: OnDuplicate) -> Result<Decoded, SyntaxError> {
    Parser {
        source: Source::new(bytes),
        at: 0,
        stack: Vec::with_capacity(16),
        observations: Observations::new(),
        on_duplicate,
    }
    .document()
}

/// A collection that is not finished.
enum OpenCollection {
    List(Vec<Value>),
    /// `key` is the field whose value is being read, and stands at `key_at`.
    Object {
        fields: Map<String, Value>,
        key: String,
        key_at: usize,
    },
}

struct Parser<'a> {
    source: Source<'a>,
    at: usize,
    stack: Vec<OpenCollection>,
    observations: Observations,
    on_duplicate: OnDuplicate,
}

impl Parser<'_> {
    fn document(mut self) -> Result<Decoded, SyntaxError> {
        let value = self.value()?;
        if self.peek().is_ok() {
            return Err(unexpected(self.source.bytes, self.at, "after top-level value"));
        }
        Ok(self.observations.finish(value))
    }

    /// Reads a whole value. Each turn of the outer loop opens a collection or finishes a value; each turn of the inner
    /// one puts the finished value where it belongs and closes the collection it completes.
    fn value(&mut self) -> Result<Value, SyntaxError> {
        loop {
            let Some(mut done) = self.begin()? else { continue };
            loop {
                match self.stack.last_mut() {
                    None => return Ok(done),
                    Some(OpenCollection::List(items)) => items.push(done),
                    Some(OpenCollection::Object { fields, key, .. }) => match fields.entry(std::mem::take(key)) {
                        Entry::Vacant(entry) => drop(entry.insert(done)),
                        Entry::Occupied(mut entry) => {
                            let name = entry.key().clone();
                            match self.on_duplicate {
                                OnDuplicate::LastWins => drop(entry.insert(done)),
                                OnDuplicate::Merge => write_over(entry.into_mut(), done),
                            }
                            self.record_duplicate(name);
                        }
                    },
                }
                match self.after_item()? {
                    Some(closed) => done = closed,
                    None => break,
                }
            }
        }
    }

    /// Starts a value: returns a scalar or an empty collection, or `None` when a collection was opened.
    fn begin(&mut self) -> Result<Option<Value>, SyntaxError> {
        let bytes = self.source.bytes;
        match self.peek()? {
            b'"' => {
                let (text, end) = self.source.string(self.at)?;
                self.at = end;
                Ok(Some(Value::String(text.into_owned())))
            }
            b'{' => self.begin_object(),
            b'[' => self.begin_list(),
            b'-' | b'0'..=b'9' => self.number().map(Some),
            b't' => self.literal("true", Value::Bool(true)),
            b'f' => self.literal("false", Value::Bool(false)),
            b'n' => self.literal("null", Value::Null),
            _ => Err(unexpected(bytes, self.at, "looking for beginning of value")),
        }
    }

    fn begin_object(&mut self) -> Result<Option<Value>, SyntaxError> {
        self.open(OpenCollection::Object {
            fields: Map::new(),
            key: String::new(),
            key_at: 0,
        })?;
        if self.peek()? == b'}' {
            self.at += 1;
            self.stack.pop();
            return Ok(Some(Value::Object(Map::new())));
        }
        self.key()?;
        Ok(None)
    }

    fn begin_list(&mut self) -> Result<Option<Value>, SyntaxError> {
        self.open(OpenCollection::List(Vec::new()))?;
        if self.peek()? == b']' {
            self.at += 1;
            self.stack.pop();
            return Ok(Some(Value::Array(Vec::new())));
        }
        Ok(None)
    }

    fn open(&mut self, open: OpenCollection) -> Result<(), SyntaxError> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(unexpected(self.source.bytes, self.at, "exceeded max depth"));
        }
        self.at += 1;
        self.stack.push(open);
        Ok(())
    }

    /// Reads a field's name and the colon behind it.
    fn key(&mut self) -> Result<(), SyntaxError> {
        if self.peek()? != b'"' {
            return Err(unexpected(
                self.source.bytes,
                self.at,
                "looking for beginning of object key string",
            ));
        }
        let position = self.at;
        let (name, end) = self.source.string(position)?;
        self.at = end;
        if self.peek()? != b':' {
            return Err(unexpected(self.source.bytes, self.at, "after object key"));
        }
        self.at += 1;
        if let Some(OpenCollection::Object { key, key_at, .. }) = self.stack.last_mut() {
            *key = name.into_owned();
            *key_at = position;
        }
        Ok(())
    }

    /// Records that the innermost open object already had the field that was just read.
    fn record_duplicate(&mut self, name: String) {
        if let Some(OpenCollection::Object { key, key_at, .. }) = self.stack.last_mut() {
            *key = name;
            let position = *key_at;
            let stack = &self.stack;
            self.observations.record_duplicate(position, || path(stack));
        }
    }

    /// After an item: `None` when another follows, or the collection that has just been closed.
    fn after_item(&mut self) -> Result<Option<Value>, SyntaxError> {
        let next = self.peek()?;
        let in_list = matches!(self.stack.last(), Some(OpenCollection::List(_)));
        match next {
            b',' => {
                self.at += 1;
                if !in_list {
                    self.key()?;
                }
                Ok(None)
            }
            b']' if in_list => Ok(self.close()),
            b'}' if !in_list => Ok(self.close()),
            _ => {
                let context = if in_list {
                    "after array element"
                } else {
                    "after object key:value pair"
                };
                Err(unexpected(self.source.bytes, self.at, context))
            }
        }
    }

    fn close(&mut self) -> Option<Value> {
        self.at += 1;
        let open = self.stack.pop()?;
        if self.stack.len() >= KEPT_DEPTH {
            self.observations.mark_too_deep();
            return Some(Value::Null);
        }
        Some(match open {
            OpenCollection::List(items) => Value::Array(items),
            OpenCollection::Object { fields, .. } => Value::Object(fields),
        })
    }

    fn number(&mut self) -> Result<Value, SyntaxError> {
        let (scanned, end) = scan(self.source.bytes, self.at)?;
        self.at = end;
        Ok(match scanned {
            Scanned::Integer(number) => Value::from(number),
            Scanned::Float {
                number,
                text,
                out_of_range,
            } => {
                let stack = &self.stack;
                self.observations.record_number(text, out_of_range, || path(stack));
                Value::Number(number)
            }
        })
    }

    fn literal(&mut self, word: &str, value: Value) -> Result<Option<Value>, SyntaxError> {
        let rest = &self.source.bytes[self.at..];
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(Some(value));
        }
        let agree = word.bytes().zip(rest).take_while(|(a, b)| a == *b).count();
        let expected = char::from(word.as_bytes()[agree]);
        let context = format_args!("in literal {word} (expecting '{expected}')");
        Err(unexpected(self.source.bytes, self.at + agree, context))
    }

    /// The next byte that is not space.
    fn peek(&mut self) -> Result<u8, SyntaxError> {
        while let Some(&byte) = self.source.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Ok(byte);
            }
            self.at += 1;
        }
        Err(SyntaxError::end_of_input(self.at))
    }
}

/// The path of the place the parser is at, as upstream prints it: fields joined by dots, items in brackets.
fn path(stack: &[OpenCollection]) -> String {
    let mut path = String::new();
    for (depth, open) in stack.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = match open {
            OpenCollection::List(items) => write!(path, "[{}]", items.len()),
            OpenCollection::Object { key, .. } if depth == 0 => path.write_str(key),
            OpenCollection::Object { key, .. } => write!(path, ".{key}"),
        };
    }
    path
}

/// Writes the second occurrence of a value over the first, as Go decodes into a struct that is already filled.
fn write_over(first: &mut Value, second: Value) {
    match (first, second) {
        (Value::Object(first), Value::Object(second)) => {
            for (name, value) in second {
                match first.entry(name) {
                    Entry::Vacant(entry) => drop(entry.insert(value)),
                    Entry::Occupied(entry) => write_over(entry.into_mut(), value),
                }
            }
        }
        (Value::Array(first), Value::Array(second)) => {
            let mut before = std::mem::take(first).into_iter();
            first.extend(second.into_iter().map(|item| match before.next() {
                Some(mut old) => {
                    write_over(&mut old, item);
                    old
                }
                None => item,
            }));
        }
        (first, second) => *first = second,
    }
}
