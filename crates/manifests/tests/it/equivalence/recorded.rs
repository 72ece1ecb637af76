//! What controller-gen made of the Go types, as `record` wrote it down.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folder of this suite.
pub(crate) fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/equivalence")
}

/// All documents of a set, by file.
pub(crate) fn set(set: &str) -> Vec<Value> {
    let folder = home().join("expected").join(set);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}; run `record`", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().flat_map(|file| documents(file)).collect()
}

/// The definition of that kind in a set; that its name is the same is for others to see.
pub(crate) fn definition(set: &str, kind: &str) -> Value {
    let found = self::set(set)
        .into_iter()
        .find(|document| document["spec"]["names"]["kind"] == kind);
    found.unwrap_or_else(|| panic!("{kind} was not recorded in {set}"))
}

fn documents(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    let parts = text
        .split("\n---\n")
        .filter(|part| !part.trim_matches('-').trim().is_empty());
    parts
        .map(|part| {
            let decoded = kubewright_codec::yaml::decode(part.as_bytes());
            decoded
                .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
                .value
        })
        .collect()
}
