//! Files with YAML or JSON, and what is wrong with them.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubewright_codec::yaml;
use serde_json::Value as Json;

/// One document of a file.
pub(crate) struct Document {
    /// Where it comes from, for messages.
    pub(crate) name: String,
    pub(crate) value: Json,
    /// The file it is in.
    pub(crate) file: String,
    /// The text of the whole file.
    pub(crate) text: Arc<str>,
    /// The lines of that text before it.
    pub(crate) lines_before: usize,
    /// And the lines it has.
    pub(crate) lines: usize,
}

impl Document {
    /// Its own part of the text.
    pub(crate) fn own_text(&self) -> &str {
        let start = line_start(&self.text, self.lines_before);
        let own = &self.text[start..];
        &own[..line_start(own, self.lines)]
    }
}

/// Where the line behind so many lines begins.
fn line_start(text: &str, lines: usize) -> usize {
    text.split_inclusive('\n').take(lines).map(str::len).sum()
}

/// The reason why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    #[error("cannot read {0}")]
    Read(String, #[source] io::Error),
    #[error("{0} is neither YAML nor JSON")]
    Syntax(String, #[source] yaml::YamlError),
    #[error("{name} sets a key twice: {complaint}")]
    Twice { name: String, complaint: String },
    #[error("{0} nests deeper than {depth} levels", depth = kubewright_codec::KEPT_DEPTH)]
    TooDeep(String),
    #[error("{0} is empty")]
    Empty(String),
    #[error("{name} holds {count} documents, and one is wanted")]
    Several { name: String, count: usize },
    #[error("only one file can be standard input")]
    OneStdin,
}

/// What a path is called in messages.
pub(crate) fn name_of(path: &Path) -> String {
    if is_stdin(path) {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Standard input can be read once.
pub(crate) fn one_stdin<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Result<(), InputError> {
    let count = paths.into_iter().filter(|path| is_stdin(path)).count();
    if count > 1 { Err(InputError::OneStdin) } else { Ok(()) }
}

/// The one document of a file, or of standard input for `-`.
pub(crate) fn read_one(path: &Path) -> Result<Document, InputError> {
    let mut documents = read_all(path)?;
    match documents.len() {
        1 => Ok(documents.remove(0)),
        count => Err(InputError::Several {
            name: name_of(path),
            count,
        }),
    }
}

/// All documents of a file, or of standard input for `-`.
pub(crate) fn read_all(path: &Path) -> Result<Vec<Document>, InputError> {
    let name = name_of(path);
    let read = if is_stdin(path) {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let bytes = read.map_err(|error| InputError::Read(name.clone(), error))?;
    let text: Arc<str> = String::from_utf8_lossy(&bytes).into();
    let count = |bytes: &[u8]| bytes.split_inclusive(|byte| *byte == b'\n').count();
    let parts = split(&bytes);
    let several = parts.len() > 1;
    let mut documents = Vec::new();
    for (at, (start, part)) in parts.into_iter().enumerate() {
        let file = name.clone();
        let name = if several {
            format!("{name} (document {})", at + 1)
        } else {
            name.clone()
        };
        let value = decode(part, &name)?;
        // A document of comments alone says nothing.
        if !value.is_null() {
            documents.push(Document {
                name,
                value,
                file,
                text: Arc::clone(&text),
                lines_before: count(&bytes[..start]),
                lines: count(part),
            });
        }
    }
    if documents.is_empty() {
        return Err(InputError::Empty(name));
    }
    Ok(documents)
}

fn decode(bytes: &[u8], name: &str) -> Result<Json, InputError> {
    let decoded = yaml::decode(bytes).map_err(|error| InputError::Syntax(name.to_owned(), error))?;
    if let Some(complaint) = decoded.already_set {
        let lines: Vec<&str> = complaint.lines().skip(1).map(str::trim).collect();
        return Err(InputError::Twice {
            name: name.to_owned(),
            complaint: lines.join("; "),
        });
    }
    if decoded.too_deep {
        return Err(InputError::TooDeep(name.to_owned()));
    }
    Ok(decoded.value)
}

/// The documents between lines that begin with `---`, as kubectl splits them, and where they begin.
fn split(bytes: &[u8]) -> Vec<(usize, &[u8])> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < bytes.len() {
        let end = bytes[at..]
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(bytes.len(), |length| at + length + 1);
        if bytes[at..end].starts_with(b"---") {
            parts.push((start, &bytes[start..at]));
            start = end;
        }
        at = end;
    }
    parts.push((start, &bytes[start..]));
    parts.retain(|(_, part)| !part.iter().all(u8::is_ascii_whitespace));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_split_at_their_separators() {
        let parts: Vec<&str> = split(b"---\na: 1\n--- # next\nb: 2\n---\n\n")
            .into_iter()
            .map(|(_, part)| std::str::from_utf8(part).unwrap())
            .collect();
        assert_eq!(parts, ["a: 1\n", "b: 2\n"]);
        assert!(split(b"\n---\n").is_empty());
    }
}
