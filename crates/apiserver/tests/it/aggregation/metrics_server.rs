//! The real metrics-server behind the embedded server: kubectl says the same of `metrics.k8s.io` as behind the real kube-apiserver. It is
//! tried where `$KUBEWRIGHT_UPSTREAM_BIN` has the programs (`conformance/upstream/build metrics-server answering-kubelet`).

use std::path::Path;
use std::process::Stdio;

use kubewright_apiserver::{ApiServer, Options};
use kubewright_test_support::free_port;
use tokio::process::Command;

use super::sample_apiserver::upstream;

#[tokio::test(flavor = "multi_thread")]
async fn the_metrics_server_is_served_as_behind_the_real_server() {
    let (Some(_), Some(_)) = (upstream("metrics-server"), upstream("answering-kubelet")) else {
        return;
    };
    let Some(kubectl) = kubewright_test_support::kubectl() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let server = ApiServer::new(Options::new());
    let listener = server.listen(0).await.unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, listener.kubeconfig()).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/upstream/metrics-server");
    let output = Command::new(here.join("script"))
        .args([free_port().to_string(), free_port().to_string()])
        .env("KUBECONFIG", &kubeconfig)
        .env("KUBECTL", kubectl)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    let recorded = std::fs::read_to_string(here.join("recorded.txt")).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), recorded);
}
