//! JSON and YAML the way the API machinery of Kubernetes reads and writes them.
//!
//! Bytes become a [`Decoded`]: a value plus what Go's decoders noticed on the way. Values become bytes again as Go's
//! encoders print them.

mod decoded;
mod go;
pub mod json;
pub mod strict;
pub mod yaml;

pub use decoded::{Decoded, KEPT_DEPTH, NumberLiteral};
pub use go::{float as go_float, float_32 as go_float_32, quote};
