//! Records what the real controllers do: `cargo run -p kubewright-controllers --example record -- [SCENARIO…]`.
//!
//! It needs a real kube-apiserver (`conformance/upstream/start`), `KUBECONFIG` for it, and a kube-controller-manager of the
//! same version beside it: `kube-controller-manager --kubeconfig $KUBECONFIG --leader-elect=false --controllers
//! deployment-controller,replicaset-controller,job-controller,garbage-collector-controller`.

#[path = "../tests/recorded/driver.rs"]
mod driver;
#[path = "../tests/recorded/scenarios.rs"]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod scenarios;

use std::path::Path;
use std::time::Duration;

use driver::{Act, Driver, Recording, Step};
use jiff::Timestamp;

/// It is quiet when nothing has changed for this long.
const QUIET: Duration = Duration::from_millis(2500);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let kube = kube::Client::try_default().await.expect("a server, by KUBECONFIG");
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    for (name, acts) in scenarios::all() {
        if !wanted.is_empty() && !wanted.iter().any(|other| other == name) {
            continue;
        }
        let driver = Driver::new(kube.clone(), name).await;
        let mut steps = Vec::new();
        for act in acts {
            driver.act(&act, Timestamp::now()).await;
            if let Act::Wait(seconds) = act {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
            }
            quiet(&driver).await;
            let state = driver.look().await;
            steps.push(Step { act, state });
        }
        let recording = Recording {
            name: name.to_owned(),
            steps,
        };
        let text = serde_json::to_string_pretty(&recording).expect("a recording is JSON");
        std::fs::write(folder.join(format!("{name}.json")), text + "\n").expect("the folder of the recordings");
        println!("{name}");
    }
}

/// Waits until nothing changes any more.
async fn quiet(driver: &Driver) {
    let mut before = driver.versions().await;
    loop {
        tokio::time::sleep(QUIET).await;
        let now = driver.versions().await;
        if now == before {
            return;
        }
        before = now;
    }
}
