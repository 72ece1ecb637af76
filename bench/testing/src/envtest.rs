//! Runs rounds of Go's envtest, which the program in `go/` measures.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Failure;
use crate::report::Round;

/// The folder in which a command of ours stands in for etcd and kube-apiserver.
pub(crate) fn drop_in(kubewright: &Path) -> Result<PathBuf, Failure> {
    let output = Command::new(kubewright).args(["envtest", "path"]).output();
    let output = output.map_err(|error| {
        format!(
            "{}: {error}; build it with cargo build --profile dist -p kubewright-cli",
            kubewright.display()
        )
    })?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim_end().into());
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().into())
}

pub(crate) fn measure(assets: &Path, rounds: usize) -> Result<Vec<Round>, Failure> {
    let assets = assets.canonicalize().map_err(|error| {
        format!(
            "{}: {error}; build etcd and kube-apiserver with conformance/upstream/build",
            assets.display()
        )
    })?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("go");
    eprintln!("building envtest's peer");
    let peer = std::env::temp_dir().join(format!("kubewright-bench-envtest-{}", std::process::id()));
    let built = Command::new("go")
        .args(["build", "-o"])
        .arg(&peer)
        .arg(".")
        .current_dir(&folder)
        .status();
    let built = built.map_err(|error| format!("go cannot be run: {error}"))?;
    if !built.success() {
        return Err("the peer in go/ does not build".into());
    }
    eprintln!("{rounds} rounds of envtest");
    let output = Command::new(&peer)
        .arg(rounds.to_string())
        .env("KUBEBUILDER_ASSETS", &assets)
        .stderr(Stdio::inherit())
        .output();
    // The program is not used again, whether it succeeded or not.
    let _ = std::fs::remove_file(&peer);
    let output = output?;
    if !output.status.success() {
        return Err(format!("envtest's peer ended: {}", output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let rounds: Result<Vec<Round>, _> = text.lines().map(serde_json::from_str).collect();
    Ok(rounds?)
}
