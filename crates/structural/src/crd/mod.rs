//! `CustomResourceDefinitions` (`apiextensions.k8s.io/v1`): what the server fills in, what it refuses and in which words,
//! which names and conditions a definition gets (C1–C5, C16, C17, C19), and the view that serving reads.

mod access;
mod conditions;
mod default;
mod definition;
pub mod deletion;
mod embedded_defaults;
pub mod names;
mod prepare;
mod priority;
mod validate;
mod warnings;

pub use default::default;
pub use definition::{Column, Conversion, Definition, Names, Version};
pub use deletion::{FINALIZER, prepare_delete};
pub use prepare::{prepare_create, prepare_status_update, prepare_update};
pub use priority::compare_versions;
pub use validate::{validate_create, validate_status_update, validate_update};
pub use warnings::{warnings_on_create, warnings_on_update};
