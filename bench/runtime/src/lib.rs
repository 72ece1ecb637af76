//! Shared by the benchmark and the peers written in Rust: the protocol between them, the objects, and the counting of work.
//! `main.rs` is the benchmark. Each peer is a program of its own, so that its memory can be measured.

pub mod objects;
pub mod protocol;
pub mod tally;
pub mod task;

/// Any error.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
