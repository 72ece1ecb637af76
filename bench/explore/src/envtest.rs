//! The scenario without controllers on the real etcd and kube-apiserver, by Go's envtest, which the program in `go/` measures.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;

use crate::Failure;

/// The definition of the example, as its operator generates it.
const DEFINITION: &str = "../../examples/markdown-view/config/crd/bases";

/// The seconds that each part of a run took.
#[derive(Deserialize)]
struct Round {
    start: f64,
    steps: f64,
    stop: f64,
}

/// Makes so many runs, with the etcd and the kube-apiserver of a folder; how long each took, the shortest first.
pub(crate) fn measure(assets: &Path, rounds: usize) -> Result<Vec<Duration>, Failure> {
    let assets = assets.canonicalize().map_err(|error| {
        format!(
            "{}: {error}; build etcd and kube-apiserver with conformance/upstream/build",
            assets.display()
        )
    })?;
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    eprintln!("building envtest's peer");
    let peer = std::env::temp_dir().join(format!("kubewright-bench-explore-{}", std::process::id()));
    let built = Command::new("go")
        .args(["build", "-o"])
        .arg(&peer)
        .arg(".")
        .current_dir(package.join("go"))
        .status();
    let built = built.map_err(|error| format!("go cannot be run: {error}"))?;
    if !built.success() {
        return Err("the peer in go/ does not build".into());
    }
    eprintln!("{rounds} runs by envtest");
    let output = Command::new(&peer)
        .arg(package.join(DEFINITION))
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
    let mut took = Vec::new();
    for line in text.lines() {
        let Round { start, steps, stop } = serde_json::from_str(line)?;
        took.push(Duration::try_from_secs_f64(start + steps + stop)?);
    }
    took.sort();
    Ok(took)
}
