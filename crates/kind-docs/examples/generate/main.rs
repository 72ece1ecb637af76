//! Writes `facts/v1.36/descriptions.facts` from the sources of the k8s-openapi package that the lock file names.
//!
//! Run it when the lock file names another version of the package, or when the table of types in `crates/schema/facts` changes:
//! `cargo run -p kubewright-kind-docs --example generate`. A test fails until then.

mod facts;
mod package;
mod source;

use std::error::Error;
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("facts/v1.36/descriptions.facts");
    fs::write(&path, facts::generate(&package::find()?)?)?;
    println!("wrote {}", path.display());
    Ok(())
}
