//! From the JSON Schema of a Rust type, as `schemars` writes it, to the structural schema of a `CustomResourceDefinition`.
//! A type that no structural schema can describe is a [`crate::Problem`] with the field and what to do instead, never a panic.

mod choice;
mod combine;
mod conditions;
mod declare;
mod defaults;
mod find_type;
mod formats;
mod keywords;
mod known;
mod rewrite;

pub(crate) use find_type::{PathSegment, field_path, find_type};
pub use rewrite::{SchemaOptions, structural, structural_with};

/// The keyword with the file and line of a type or a field, as `src/api/v1/tree.rs:12`. It is left out of definitions.
pub const SOURCE: &str = "x-kubewright-source";
