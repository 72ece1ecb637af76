//! A project of an operator as files: what `kubewright init`, `create`, `delete` and `edit` write. Everything here is pure:
//! from the PROJECT file and the files there are to a plan of what to write.

mod code;
pub mod command;
pub mod config;
mod file;
mod foreign;
mod merge;
pub mod names;
pub mod plan;
// The macro that writes a definition must come to the same plural.
#[path = "../../macros/src/plural.rs"]
mod plural;
pub mod project;
mod template;

pub use code::{Source, SourceError, manifest, places, webhook_places};
pub use file::File;
pub use project::{Project, Resource};
