//! The kinds of the Go types beside this folder, written in Rust.
//! A file here is the twin of a file or package there.

#![allow(
    clippy::doc_markdown,
    unreachable_pub,
    reason = "the words are those of the Go types, and the types such as an operator has them"
)]

pub mod containers;
pub mod definitions;
pub mod derived;
pub mod described;
pub mod floats;
pub mod modes;
pub mod numbers;
pub mod plurals;
pub mod presence;
pub mod reference;
pub mod rules;
pub mod shapes;
pub mod texts;
pub mod topology;
pub mod types;
pub mod values;
pub mod versions;
