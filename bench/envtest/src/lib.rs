//! Builds a Go program that measures itself on envtest, and runs it. Benchmarks with such a peer have it in a folder `go/`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::de::DeserializeOwned;

/// Any error.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Builds the program in `go/` of a benchmark's package and runs it with these arguments, on the etcd and the kube-apiserver of the folder
/// `assets`. What it prints is JSON, one measured round in a line.
pub fn rounds<R: DeserializeOwned, A: AsRef<OsStr>>(
    package: &Path,
    assets: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Result<Vec<R>, Failure> {
    let assets = assets.canonicalize().map_err(|error| {
        format!(
            "{}: {error}; build etcd and kube-apiserver with conformance/upstream/build",
            assets.display()
        )
    })?;
    eprintln!("building envtest's peer");
    let peer = Peer::build(&package.join("go"))?;
    let output = Command::new(&peer.0)
        .args(arguments)
        .env("KUBEBUILDER_ASSETS", &assets)
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("envtest's peer ended: {}", output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let rounds: Result<Vec<R>, _> = text.lines().map(serde_json::from_str).collect();
    Ok(rounds?)
}

/// A program that was built, and is removed with this value.
struct Peer(PathBuf);

impl Peer {
    fn build(folder: &Path) -> Result<Self, Failure> {
        let program = std::env::temp_dir().join(format!("kubewright-bench-envtest-{}", std::process::id()));
        let built = Command::new("go")
            .args(["build", "-o"])
            .arg(&program)
            .arg(".")
            .current_dir(folder)
            .status();
        let built = built.map_err(|error| format!("go cannot be run: {error}"))?;
        if !built.success() {
            return Err(format!("the peer in {} does not build", folder.display()).into());
        }
        Ok(Peer(program))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // In a temporary folder: what cannot be removed is not worth an error.
        let _ = std::fs::remove_file(&self.0);
    }
}
