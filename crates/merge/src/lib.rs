//! How changes are merged into an object: JSON patch, merge patch, strategic merge patch and server-side apply.
//!
//! Everything here is a pure function over [`serde_json::Value`]; what a place in the document means for merging comes
//! from a [`Topology`].
//!
//! ```
//! use kubewright_merge::{FieldSet, JsonPatch, merge_patch};
//! use serde_json::json;
//!
//! let live = json!({ "metadata": { "name": "app" }, "data": { "colour": "blue", "size": "1" } });
//!
//! // A merge patch: members replace, null removes.
//! let patched = merge_patch::apply(live.clone(), json!({ "data": { "colour": "red", "size": null } }), true).unwrap();
//! assert_eq!(patched["data"], json!({ "colour": "red" }));
//!
//! // A JSON patch: operations in order, all or none.
//! let patch = json!([
//!     { "op": "test", "path": "/data/colour", "value": "blue" },
//!     { "op": "move", "from": "/data/colour", "path": "/data/hue" },
//! ]);
//! let patched = JsonPatch::decode(patch, true).unwrap().apply(live).unwrap();
//! assert_eq!(patched["data"], json!({ "hue": "blue", "size": "1" }));
//!
//! // What managers own are sets of fields, which are added and taken away.
//! let mine = FieldSet::from_fields_v1(&json!({ "f:data": { "f:hue": {}, "f:size": {} } })).unwrap();
//! let theirs = FieldSet::from_fields_v1(&json!({ "f:data": { "f:size": {} } })).unwrap();
//! assert!(mine.intersects(&theirs));
//! assert_eq!(mine.difference(&theirs).to_fields_v1(), json!({ "f:data": { "f:hue": {} } }));
//! ```

mod apply;
mod json_patch;
pub mod managed;
pub mod merge_patch;
mod patch_error;
pub mod strategic;
mod topology;

pub use apply::{
    ApplyError, ConflictCause, Conflicts, ConversionError, FieldManager, Versions, apply, configure, extract,
    keep_times_of_a_no_op, update,
};
pub use json_patch::{JsonPatch, MAX_COPIED_BYTES, MAX_OPERATIONS};
pub use managed::{FieldFilter, FieldSet};
pub use patch_error::PatchError;
pub use topology::{ListKind, PatchStrategy, ScalarKind, Shape, Topology};
