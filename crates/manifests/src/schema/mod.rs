//! From the JSON Schema of a Rust type, as `schemars` writes it, to the structural schema of a `CustomResourceDefinition`.
//! What cannot be said in one is an error that names the field and what to do instead, never a panic.

mod choice;
mod combine;
mod conditions;
mod declare;
mod defaults;
mod formats;
mod keywords;
mod known;
mod rewrite;
mod trace;

pub use rewrite::{Forms, structural, structural_with};
pub(crate) use trace::{Step, path_of, trace};

/// The keyword that tells where a type or a field is written, as `src/api/v1/tree.rs:12`. No definition shows it.
pub const SOURCE: &str = "x-kubewright-source";
