//! The public items of a crate, one line each, read from its sources with `syn`.
//!
//! The lister walks the modules from `lib.rs`, follows `pub use`, and prints what another crate can name: functions with their
//! signatures, types with their public fields and variants, traits with their methods, implementations. It needs no nightly
//! compiler and no build of the crate, so the test that compares the lists in `docs/api` takes seconds.
//!
//! It does not resolve types: a signature is printed as it is written. Items that a macro writes are listed as the call of
//! that macro. A glob re-export of another crate is one line. Of a file that begins with `// @generated` only types are listed: a test
//! of its crate compares the rest with what it is generated from.

pub mod changelog;
mod crate_source;
mod print;
mod resolve;
mod visible;

use std::path::Path;

pub use crate_source::Error;

/// The crates whose public items are listed in `docs/api`.
pub const LISTED: [&str; 5] = ["apiserver", "apply", "kubewright", "runtime", "testing"];

/// Lists the public items of the library crate whose `Cargo.toml` is in `folder`, sorted by path.
pub fn public_items(folder: &Path) -> Result<Vec<String>, Error> {
    let source = crate_source::CrateSource::read(&folder.join("src/lib.rs"))?;
    Ok(visible::lines(&source))
}
