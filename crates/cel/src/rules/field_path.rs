//! `fieldPath`: a path of fields and map keys below a node.

use std::vec::IntoIter;

use serde_json::Value as Json;

/// The path as errors print it, or the reason why it is malformed.
pub(super) fn normalize(path: &str, schema: &Json) -> Result<String, String> {
    let mut out = String::new();
    let mut schema = schema;
    for name in FieldPath::new(path, true) {
        let name = name?;
        if let Some(properties) = schema.get("properties") {
            schema = properties.get(&name).ok_or("does not refer to a valid field")?;
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&name);
        } else if let Some(values) = schema.get("additionalProperties") {
            schema = values;
            out.push('[');
            out.push_str(&name);
            out.push(']');
        } else {
            return Err("does not refer to a valid field".to_owned());
        }
    }
    Ok(out)
}

/// The names in a path such as `.spec['a.b'].c`, one after the other; an error is upstream's sentence and ends it.
///
/// ```
/// use kubewright_cel::rules::FieldPath;
///
/// let names: Result<Vec<String>, String> = FieldPath::new(".spec['a.b'].c", true).collect();
/// assert_eq!(names.unwrap(), ["spec", "a.b", "c"]);
/// assert!(FieldPath::new(".spec['a']", false).any(|name| name.is_err()));
/// ```
#[derive(Debug)]
pub struct FieldPath<'p> {
    tokens: IntoIter<&'p str>,
    allow_brackets: bool,
    /// A name in brackets was given out, and its bracket is still to be closed.
    open: bool,
}

impl<'p> FieldPath<'p> {
    /// Reads a path; `allow_brackets` lets it name fields in quotes.
    pub fn new(path: &'p str, allow_brackets: bool) -> Self {
        FieldPath {
            tokens: tokens(path).into_iter(),
            allow_brackets,
            open: false,
        }
    }

    fn read(&mut self) -> Result<Option<String>, String> {
        let end = || "unexpected end of JSON path".to_owned();
        if std::mem::take(&mut self.open) {
            match self.tokens.next() {
                Some("]") => {}
                Some(other) => return Err(format!("expected ] but got {other}")),
                None => return Err(end()),
            }
        }
        match self.tokens.next() {
            None => Ok(None),
            Some(".") => self.tokens.next().map(|name| Some(name.to_owned())).ok_or_else(end),
            Some("[") if !self.allow_brackets => Err("array notation is not allowed".to_owned()),
            Some("[") => {
                let quoted = self.tokens.next().ok_or_else(end)?;
                let inner = quoted.strip_prefix('\'').and_then(|inner| inner.strip_suffix('\''));
                let inner = inner.ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                self.open = true;
                unescape(inner).map(Some)
            }
            Some(other) => Err(format!("expected [ or . but got: {other}")),
        }
    }
}

impl Iterator for FieldPath<'_> {
    type Item = Result<String, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read().transpose();
        if matches!(read, Some(Err(_))) {
            self.tokens = Vec::new().into_iter();
            self.open = false;
        }
        read
    }
}

/// Dots and brackets alone, quoted strings whole, everything between them together.
fn tokens(path: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let bytes = rest.as_bytes();
        let end = match bytes[0] {
            b'.' | b'[' | b']' => 1,
            b'\'' => (1..bytes.len())
                .find(|at| bytes[*at] == b'\'' && bytes[at - 1] != b'\\')
                .map_or(rest.len(), |at| at + 1),
            _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
        };
        out.push(&rest[..end]);
        rest = &rest[end..];
    }
    out
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some('\'') => '\'',
            Some('\\') | None => '\\',
            Some(other) => return Err(format!("invalid string literal: invalid escape char \\{other}")),
        });
    }
    Ok(out)
}
