//! The type model of Kubernetes objects and the table of facts of the built-in kinds: decode, normalise, default, merge topology.
//! Everything here is pure: values in, values out, no I/O.

mod decode;
mod default;
pub mod field;
mod model;
pub mod openapi;
pub mod protobuf;
mod resources;
mod table;
mod type_ref;
mod types;

pub use decode::{Decoded, Source, TypeError, decode};
pub use default::default;
pub use model::{Omit, Scalar};
pub use resources::{GroupVersion, Resource, Resources, Subresource, resources};
pub use type_ref::{FieldRef, TypeRef};
pub use types::{Types, fingerprint};
