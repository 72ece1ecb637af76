//! Reads the descriptions out of the sources of the locked k8s-openapi package and packs them into one compressed text.
//! Without the package there are no descriptions, and nothing else is missing.

#[path = "build/package.rs"]
mod package;
#[path = "build/words.rs"]
mod words;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The level of the table of facts.
const LEVEL: &str = "v1_36";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    let mut types = Vec::new();
    match package::find() {
        Ok(root) => collect(&root.join("src").join(LEVEL), &mut types)?,
        Err(why) => println!("cargo::warning=documents will have no descriptions: {why}"),
    }
    types.sort();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("descriptions");
    let mut packed = flate2::write::DeflateEncoder::new(fs::File::create(out)?, flate2::Compression::best());
    packed.write_all(words::write(&types).as_bytes())?;
    packed.finish()?;
    Ok(())
}

fn collect(folder: &Path, types: &mut Vec<words::Type>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, types)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            types.extend(words::read(&fs::read_to_string(&path)?));
        }
    }
    Ok(())
}
