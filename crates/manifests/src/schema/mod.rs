//! From the JSON Schema of a Rust type, as `schemars` writes it, to the structural schema of a `CustomResourceDefinition`.
//! What cannot be said in one is an error that names the field and what to do instead, never a panic.

mod choice;
mod keywords;
mod mistake;
mod numbers;
mod rewrite;

pub use mistake::Mistake;
pub use rewrite::structural;
