//! Runs rounds of Go's envtest, which the program in `go/` measures.

use std::path::{Path, PathBuf};
use std::process::Command;

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
    eprintln!("{rounds} rounds of envtest");
    kubewright_bench_envtest::rounds(Path::new(env!("CARGO_MANIFEST_DIR")), assets, [rounds.to_string()])
}
