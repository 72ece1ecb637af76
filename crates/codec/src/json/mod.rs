//! JSON as `sigs.k8s.io/json` reads it and `encoding/json` writes it.

mod error;
mod number;
mod observations;
mod order;
mod parse;
mod string;
mod write;

pub use error::SyntaxError;
pub(crate) use observations::{MAX_COMPLAINTS, Observations};
pub use order::positions;
pub use parse::{OnDuplicate, decode, decode_with};
pub use write::{indent, write, write_string};

/// How deep a document may nest, as upstream.
pub const MAX_DEPTH: usize = 10_000;
