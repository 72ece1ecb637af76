//! The kinds of `v1`.

mod moon;
mod sighting;

pub use moon::*;
pub use sighting::*;
