//! Files with YAML or JSON, and what is wrong with them.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use kubewright_codec::yaml;
use serde_json::Value as Json;

/// One document of a file.
pub(super) struct Document {
    /// Where it comes from, for messages.
    pub(super) name: String,
    pub(super) value: Json,
}

/// The reason why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum InputError {
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
pub(super) fn name_of(path: &Path) -> String {
    if is_stdin(path) {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

pub(super) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Standard input can be read once.
pub(super) fn one_stdin<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Result<(), InputError> {
    let count = paths.into_iter().filter(|path| is_stdin(path)).count();
    if count > 1 { Err(InputError::OneStdin) } else { Ok(()) }
}

/// The one document of a file, or of standard input for `-`.
pub(super) fn read_one(path: &Path) -> Result<Document, InputError> {
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
pub(super) fn read_all(path: &Path) -> Result<Vec<Document>, InputError> {
    let name = name_of(path);
    let read = if is_stdin(path) {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let bytes = read.map_err(|error| InputError::Read(name.clone(), error))?;
    let parts = split(&bytes);
    let several = parts.len() > 1;
    let mut documents = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        let name = if several {
            format!("{name} (document {})", at + 1)
        } else {
            name.clone()
        };
        let value = decode(part, &name)?;
        // A document of comments alone says nothing.
        if !value.is_null() {
            documents.push(Document { name, value });
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

/// The documents between lines that begin with `---`, as kubectl splits them.
fn split(bytes: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < bytes.len() {
        let end = bytes[at..]
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(bytes.len(), |length| at + length + 1);
        if bytes[at..end].starts_with(b"---") {
            parts.push(&bytes[start..at]);
            start = end;
        }
        at = end;
    }
    parts.push(&bytes[start..]);
    parts.retain(|part| !part.iter().all(u8::is_ascii_whitespace));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_split_at_their_separators() {
        let parts: Vec<&str> = split(b"---\na: 1\n--- # next\nb: 2\n---\n\n")
            .into_iter()
            .map(|part| std::str::from_utf8(part).unwrap())
            .collect();
        assert_eq!(parts, ["a: 1\n", "b: 2\n"]);
        assert!(split(b"\n---\n").is_empty());
    }
}
