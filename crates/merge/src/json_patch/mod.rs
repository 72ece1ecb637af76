//! JSON patch (RFC 6902) as upstream applies it (W3), quirks included.

mod apply;
mod decode;
mod size;

pub use apply::MAX_COPIED_BYTES;
pub use decode::{JsonPatch, MAX_OPERATIONS};
