//! How a change meets an object: JSON patch, merge patch, strategic merge patch and server-side apply.
//!
//! Everything here is a pure function over [`serde_json::Value`]; what a place in the document means for merging comes
//! from a [`Topology`].

mod apply;
mod json_patch;
pub mod managed;
pub mod merge_patch;
mod patch_error;
pub mod strategic;
mod topology;

pub use apply::{
    ApplyError, ConflictCause, Conflicts, ConversionError, FieldManager, Versions, apply, extract,
    keep_times_of_a_no_op, update,
};
pub use json_patch::{JsonPatch, MAX_COPIED_BYTES, MAX_OPERATIONS};
pub use managed::{FieldFilter, FieldSet};
pub use patch_error::PatchError;
pub use topology::{ListKind, PatchStrategy, ScalarKind, Shape, Topology};
