//! Where the sources of the package are: Cargo knows, also for packages that are vendored.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const PACKAGE: &str = "k8s-openapi";

/// The package that the lock file names.
pub(crate) struct Package {
    /// Where its sources are.
    pub(crate) folder: PathBuf,
    pub(crate) version: String,
}

/// Asks Cargo, which downloads nothing: whoever built this program may have no network.
pub(crate) fn find() -> Result<Package, String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--offline",
            "--manifest-path",
        ])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(stderr.lines().last().unwrap_or("cargo metadata failed").to_owned());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.find(|package| package["name"] == PACKAGE).and_then(|package| {
        Some(Package {
            folder: Path::new(package["manifest_path"].as_str()?).parent()?.to_owned(),
            version: package["version"].as_str()?.to_owned(),
        })
    });
    package.ok_or_else(|| format!("the lock file names no {PACKAGE}"))
}
