//! What the bench and the peers written in Rust share: the protocol between them, the objects, and the counting of work.
//! The bench itself is `main.rs`; each peer is a binary of its own, so that its memory is its own.

pub mod objects;
pub mod protocol;
pub mod tally;
pub mod task;

/// Whatever went wrong.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
