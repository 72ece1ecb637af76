//! What Go's standard library prints and reads: quoted strings, numbers, JSON text, values in messages.
//!
//! `tests/recorded/` holds what Go itself does, written by `conformance/upstream/text`; the tests replay all of it.

pub mod float;
pub mod json;
mod output;
pub mod quote;
pub mod utf8;
pub mod value;

pub use output::Output;
pub use quote::quote;
