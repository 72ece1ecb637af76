//! The real sample-apiserver, written with upstream's Go library, behind the embedded server: kubectl says the same of `wardle.example.com` as
//! behind the real kube-apiserver. It is tried where `$KUBEWRIGHT_UPSTREAM_BIN` has the programs (`conformance/upstream/build sample-apiserver
//! etcd`), and `$KUBECTL` is there.

use std::path::Path;
use std::process::Stdio;

use kubewright_apiserver::{ApiServer, Options};
use kubewright_test_support::{free_port, upstream};
use tokio::process::Command;

/// Runs the script of a folder of `conformance/upstream` against the embedded server: it prints what was recorded of the real one.
pub(super) async fn prints_what_was_recorded(folder: &str, ports: usize) {
    let Some(kubectl) = kubewright_test_support::kubectl() else {
        return;
    };
    let run = tempfile::tempdir().unwrap();
    let server = ApiServer::new(Options::new());
    let listener = server.listen(0).await.unwrap();
    let kubeconfig = run.path().join("kubeconfig");
    std::fs::write(&kubeconfig, listener.kubeconfig()).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../conformance/upstream")
        .join(folder);
    let output = Command::new(here.join("script"))
        .args((0..ports).map(|_| free_port().to_string()))
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

#[tokio::test(flavor = "multi_thread")]
async fn the_sample_apiserver_is_served_as_behind_the_real_server() {
    if let (Some(_), Some(_)) = (upstream("sample-apiserver"), upstream("etcd")) {
        prints_what_was_recorded("sample-apiserver", 3).await;
    }
}
