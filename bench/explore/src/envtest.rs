//! The scenario without controllers on the real etcd and kube-apiserver, by Go's envtest, which the program in `go/` measures.

use std::path::Path;
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
    eprintln!("{rounds} runs by envtest");
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let arguments = [package.join(DEFINITION).into_os_string(), rounds.to_string().into()];
    let rounds: Vec<Round> = kubewright_bench_envtest::rounds(package, assets, arguments)?;
    let mut took = Vec::new();
    for Round { start, steps, stop } in rounds {
        took.push(Duration::try_from_secs_f64(start + steps + stop)?);
    }
    took.sort();
    Ok(took)
}
