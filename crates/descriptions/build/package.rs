//! Where the sources of the locked package are: unpacked by Cargo, or wherever `cargo metadata` says.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

const PACKAGE: &str = "k8s-openapi";

/// The folder of the package that the lock file names.
pub(crate) fn find() -> Result<PathBuf, String> {
    let here = env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?;
    let here = Path::new(&here);
    match unpacked(here) {
        Some(folder) => Ok(folder),
        None => ask_cargo(here),
    }
}

/// The folder into which Cargo unpacks what it downloads.
fn unpacked(here: &Path) -> Option<PathBuf> {
    let lock = here
        .ancestors()
        .map(|folder| folder.join("Cargo.lock"))
        .find(|lock| lock.is_file())?;
    println!("cargo::rerun-if-changed={}", lock.display());
    let lock = fs::read_to_string(lock).ok()?;
    let version = version_in(&lock)?;
    let home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cargo")))?;
    let registries = fs::read_dir(home.join("registry").join("src")).ok()?;
    registries
        .flatten()
        .map(|registry| registry.path().join(format!("{PACKAGE}-{version}")))
        .find(|folder| folder.join("Cargo.toml").is_file())
}

/// The version of the package in a lock file, if there is one version of it.
fn version_in(lock: &str) -> Option<&str> {
    let mut versions = lock.split("[[package]]").filter_map(|entry| {
        let field = |name: &str| {
            let line = entry.lines().find_map(|line| line.strip_prefix(name))?;
            line.strip_prefix(" = \"")?.strip_suffix('"')
        };
        field("version").filter(|_| field("name") == Some(PACKAGE))
    });
    let version = versions.next()?;
    versions.next().is_none().then_some(version)
}

/// Cargo downloads what is missing, and knows about vendored packages.
fn ask_cargo(here: &Path) -> Result<PathBuf, String> {
    let cargo = env::var_os("CARGO").ok_or("CARGO is not set")?;
    let answer = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked", "--manifest-path"])
        .arg(here.join("Cargo.toml"))
        .output()
        .map_err(|error| error.to_string())?;
    if !answer.status.success() {
        let said = String::from_utf8_lossy(&answer.stderr);
        return Err(said.lines().last().unwrap_or("cargo metadata failed").to_owned());
    }
    let metadata: Value = serde_json::from_slice(&answer.stdout).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    packages
        .iter()
        .find(|package| package["name"] == PACKAGE)
        .and_then(|package| Path::new(package["manifest_path"].as_str()?).parent())
        .map(Path::to_owned)
        .ok_or_else(|| format!("the lock file names no {PACKAGE}"))
}
