//! Why a text is not JSON, in Go's words.

use kubewright_apimachinery::go::json::quote_byte;

/// A syntax error; its text is that of Go's `encoding/json`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    message: String,
    /// How many bytes were read before the error.
    pub offset: usize,
}

impl SyntaxError {
    /// The text ends inside a value.
    pub(crate) fn end_of_input(offset: usize) -> Self {
        Self {
            message: "unexpected end of JSON input".to_owned(),
            offset,
        }
    }

    /// A byte that cannot stand where it stands. Go reads bytes, not characters: of a multi-byte character it names the
    /// first byte, as if that were Latin-1.
    pub(crate) fn invalid_character(byte: u8, context: impl std::fmt::Display, offset: usize) -> Self {
        Self {
            message: format!("invalid character {} {context}", quote_byte(byte)),
            offset,
        }
    }
}
