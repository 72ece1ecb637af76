//! Writes the modules of the built-in kinds (`src/apps/v1.rs` …), the table of fields that k8s-openapi always writes, and the list of
//! kinds for the tests, from the facts of `crates/schema` and `crates/kind-docs` and the names of the locked k8s-openapi package.
//!
//! Run it when any of them changes: `cargo run -p kubewright-apply --example generate_builders`. A test fails until then.

mod facts;
mod names;
#[path = "../../../kind-docs/examples/generate/package.rs"]
mod package;
mod render;

use std::error::Error;
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (path, text) in render::generate(&package::find()?)? {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, text)?;
        println!("wrote {}", path.display());
    }
    println!("the features of Cargo.toml:");
    for (group, needs) in render::needs() {
        println!("{group} = {:?}", Vec::from_iter(needs));
    }
    Ok(())
}
