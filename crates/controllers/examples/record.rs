//! Records what the real controllers do: `cargo run -p kubewright-controllers --example record -- [SCENARIO…]`.
//!
//! It needs a real kube-apiserver (`conformance/upstream/start DIR PORT`), `KUBECONFIG` for it, and a
//! kube-controller-manager of the same version beside it, built from `k8s.io/kubernetes/cmd/kube-controller-manager`:
//!
//! ```text
//! kube-controller-manager --kubeconfig $KUBECONFIG --leader-elect=false --secure-port=0 --root-ca-file DIR/client-ca.crt
//!   --controllers deployment-controller,replicaset-controller,job-controller,cronjob-controller,
//!     ttl-after-finished-controller,garbage-collector-controller,namespace-controller,serviceaccount-controller,
//!     root-ca-certificate-publisher-controller,clusterrole-aggregation-controller,endpointslice-controller,
//!     node-lifecycle-controller,taint-eviction-controller,validatingadmissionpolicy-status-controller,
//!     certificatesigningrequest-approving-controller,
//!     certificatesigningrequest-signing-controller,certificatesigningrequest-cleaner-controller,
//!     persistentvolumeclaim-protection-controller,persistentvolume-protection-controller,
//!     volumeattributesclass-protection-controller,
//!     persistentvolume-binder-controller,resourcequota-controller --pvclaimbinder-sync-period 2s
//!   --cluster-signing-cert-file CA.crt --cluster-signing-key-file CA.key
//! ```
//!
//! The authority of the last line has to be valid for longer than a certificate, a year: else certificates end with it.
//!
//! The scenarios about nodes have `pod-garbage-collector-controller` too. It is off for the others: their Pods are on nodes
//! that do not exist.
//!
//! Without names, what is not recorded yet is recorded, several scenarios at a time.

#[path = "../tests/it/recorded/driver/mod.rs"]
mod driver;
#[path = "../tests/it/recorded/scenarios/mod.rs"]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod scenarios;

use std::path::{Path, PathBuf};
use std::time::Duration;

use driver::{Driver, RecordedStep, Recording};
use futures_util::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, Patch, PatchParams};
use scenarios::Scenario;
use serde_json::json;

/// It is quiet when nothing has changed for this long.
const QUIET: Duration = Duration::from_millis(2500);
/// So many scenarios are recorded side by side.
const AT_ONCE: usize = 6;
/// How often nodes say that they are alive.
const HEARTBEAT: Duration = Duration::from_secs(10);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let kube = kube::Client::try_default().await.expect("a server, by KUBECONFIG");
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let due: Vec<Scenario> = scenarios::all()
        .into_iter()
        .filter(|scenario| {
            let is_new = !folder.join(format!("{}.json", scenario.name)).exists();
            (wanted.is_empty() && is_new) || wanted.iter().any(|name| name == scenario.name)
        })
        .collect();
    let hearts = tokio::spawn(beat(kube.clone()));
    futures_util::stream::iter(due)
        // On its own, so that one that goes wrong does not end the others.
        .map(|scenario| tokio::spawn(record(kube.clone(), scenario, folder.clone())))
        .buffer_unordered(AT_ONCE)
        .for_each(async |recorded| recorded.unwrap_or_else(|error| eprintln!("{error}")))
        .await;
    hearts.abort();
}

async fn record(kube: kube::Client, scenario: Scenario, folder: PathBuf) {
    let name = scenario.name;
    let driver = Driver::new(kube, name, scenario.shows).await;
    quiet(&driver).await;
    let mut steps = Vec::new();
    for act in scenario.acts {
        let refused = driver.act(&act, Timestamp::now()).await;
        if let Some(seconds) = act.lasts(Timestamp::now()) {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
        }
        quiet(&driver).await;
        let state = driver.look(refused).await;
        steps.push(RecordedStep { act, state });
    }
    let recording = Recording {
        name: name.to_owned(),
        steps,
    };
    let text = serde_json::to_string_pretty(&recording).expect("a recording is JSON");
    std::fs::write(folder.join(format!("{name}.json")), text + "\n").expect("the folder of the recordings");
    println!("{name}");
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

/// Renews the lease of every node that has not failed, as its kubelet would.
async fn beat(kube: kube::Client) {
    let nodes: Api<Node> = Api::all(kube.clone());
    let leases: Api<Lease> = Api::namespaced(kube, "kube-node-lease");
    loop {
        let found = nodes.list(&ListParams::default()).await.map(|list| list.items);
        for node in found.unwrap_or_default() {
            let annotations = node.metadata.annotations.unwrap_or_default();
            let name = node.metadata.name.unwrap_or_default();
            if annotations.contains_key("kubewright.dev/failed") {
                continue;
            }
            let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": name },
                "spec": { "holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now },
            });
            let (force, lease) = (PatchParams::apply("record").force(), Patch::Apply(lease));
            leases.patch(&name, &force, &lease).await.expect("a lease of a node");
        }
        tokio::time::sleep(HEARTBEAT).await;
    }
}
