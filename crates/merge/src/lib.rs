//! How a change meets an object: JSON patch, merge patch, strategic merge patch and server-side apply.
//!
//! Everything here is a pure function over [`serde_json::Value`]; what a place in the document means for merging comes
//! from a [`Topology`].

mod topology;

pub use topology::{ListKind, PatchStrategy, Shape, Topology};
