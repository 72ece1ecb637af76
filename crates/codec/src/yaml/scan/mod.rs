//! From characters to tokens, by the rules of Go's `yaml`: YAML 1.1, one token as soon as it is certain that it is no key.
//!
//! Which of several mistakes of a text is named depends on how far this half has read when the [parser](super::parse) asks; so it reads as far as
//! Go's does, and no further.

mod directive;
mod reader;
mod scalar;
mod tokens;

use reader::{Mark, Reader};

pub(super) use tokens::Scanner;

/// Why a text is not YAML. Lines are counted from nought.
#[derive(Clone, Copy, Debug)]
pub(super) enum Problem {
    /// Of bytes.
    Reader(&'static str),
    /// Of tokens.
    Scanner(&'static str, usize),
    /// Of what tokens say together.
    Parser(&'static str, usize),
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    StreamStart,
    StreamEnd,
    /// `%YAML`, and whether of the version that is understood.
    Version(bool),
    /// `%TAG`: a handle, and what it stands for.
    TagDirective,
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias,
    Anchor,
    /// A handle and what stands behind it.
    Tag,
    Scalar {
        /// Neither quoted nor a block.
        plain: bool,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// Where it begins, counted from nought.
    pub(super) line: usize,
    pub(super) text: String,
    /// The second part of a tag.
    pub(super) suffix: String,
}

impl Token {
    fn new(kind: Kind, start: Mark) -> Self {
        Self::with_text(kind, start, Vec::new())
    }

    fn with_text(kind: Kind, start: Mark, text: Vec<u8>) -> Self {
        Self {
            kind,
            line: start.line,
            text: text_of(text),
            suffix: String::new(),
        }
    }
}

/// Only an escaped octet of a tag can be no UTF-8.
fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
