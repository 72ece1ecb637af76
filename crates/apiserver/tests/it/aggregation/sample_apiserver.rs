//! The real sample-apiserver, written with upstream's Go library, behind the embedded server: where `$KUBEWRIGHT_UPSTREAM_BIN` has it
//! and etcd (`conformance/upstream/build sample-apiserver etcd`), and `$KUBECTL` is there.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use kubewright_apiserver::{ApiServer, Options};
use kubewright_test_support::{free_port, skip};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

use super::support::{API_SERVICES, ask};

const GROUP: &str = "wardle.example.com";

/// A program of upstream; `None`, said on stderr, if it is not there.
pub(super) fn upstream(name: &str) -> Option<PathBuf> {
    let found = std::env::var_os("KUBEWRIGHT_UPSTREAM_BIN").map(|folder| Path::new(&folder).join(name));
    let found = found.filter(|program| program.exists());
    if found.is_none() {
        skip(&format!("$KUBEWRIGHT_UPSTREAM_BIN has no {name}"));
    }
    found
}

fn start(program: &Path, arguments: &[String]) -> Child {
    Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl Kubectl {
    async fn run(&self, arguments: &str, input: &str) -> Output {
        let mut command = Command::new(&self.program);
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(arguments.split(' '))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        child.wait_with_output().await.unwrap()
    }

    /// What a command prints that succeeds.
    async fn prints(&self, arguments: &str, input: &str) -> String {
        let output = self.run(arguments, input).await;
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments}: {complaint}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What a command complains about that fails.
    async fn fails(&self, arguments: &str, input: &str) -> String {
        let output = self.run(arguments, input).await;
        assert!(!output.status.success(), "kubectl {arguments} succeeds");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sample_apiserver_is_served() {
    let (Some(sample), Some(etcd)) = (upstream("sample-apiserver"), upstream("etcd")) else {
        return;
    };
    let Some(program) = kubewright_test_support::kubectl() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let server = ApiServer::new(Options::new());
    let listener = server.listen(0).await.unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, listener.kubeconfig()).unwrap();
    let (client, peer, port) = (free_port(), free_port(), free_port());
    let url = |port: u16| format!("http://127.0.0.1:{port}");
    let _etcd = start(
        &etcd,
        &[
            format!("--data-dir={}", at("etcd")),
            format!("--listen-client-urls={}", url(client)),
            format!("--advertise-client-urls={}", url(client)),
            format!("--listen-peer-urls={}", url(peer)),
            format!("--initial-advertise-peer-urls={}", url(peer)),
            format!("--initial-cluster=default={}", url(peer)),
        ],
    );
    let config = kubeconfig.display();
    let _sample = start(
        &sample,
        &[
            format!("--etcd-servers={}", url(client)),
            format!("--secure-port={port}"),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--cert-dir={}", at("certificates")),
            format!("--kubeconfig={config}"),
            format!("--authentication-kubeconfig={config}"),
            format!("--authorization-kubeconfig={config}"),
        ],
    );
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    server.serve_service("wardle", "api", 443, address);
    for (version, priority) in [("v1alpha1", 15), ("v1beta1", 20)] {
        let service = json!({
            "metadata": {"name": format!("{version}.{GROUP}")},
            "spec": {"group": GROUP, "version": version, "groupPriorityMinimum": 1000, "versionPriority": priority,
                     "insecureSkipTLSVerify": true, "service": {"namespace": "wardle", "name": "api"}},
        });
        assert_eq!(ask(&server, "POST", API_SERVICES, &service.to_string()).await.0, 201);
    }
    available(&server).await;

    let kubectl = Kubectl { program, kubeconfig };
    let resources = kubectl
        .prints("api-resources --api-group=wardle.example.com --no-headers", "")
        .await;
    let kinds: Vec<&str> = resources
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .collect();
    assert_eq!(kinds, ["Fischer", "Flunder"], "{resources}");

    let flunder = "apiVersion: wardle.example.com/v1alpha1\nkind: Flunder\nmetadata: {name: one, labels: {size: small}}\nspec: {}\n";
    assert_eq!(
        kubectl.prints("create -f -", flunder).await,
        "flunder.wardle.example.com/one created\n"
    );
    let listed = kubectl.prints("get flunders", "").await;
    assert!(listed.starts_with("NAME   CREATED AT\none    20"), "{listed}");
    let other = kubectl
        .prints(
            "get flunders.v1beta1.wardle.example.com one -o jsonpath={.apiVersion}",
            "",
        )
        .await;
    assert_eq!(other, "wardle.example.com/v1beta1");
    let explained = kubectl.prints("explain flunder", "").await;
    assert!(
        explained.contains("KIND:       Flunder") && explained.contains("spec"),
        "{explained}"
    );
    let frames = kubectl
        .prints(
            "get --raw /apis/wardle.example.com/v1alpha1/namespaces/default/flunders?watch=1&timeoutSeconds=1",
            "",
        )
        .await;
    let frame: Value = serde_json::from_str(frames.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&frame["type"], &frame["object"]["metadata"]["name"]),
        (&json!("ADDED"), &json!("one"))
    );

    let patched =
        "apiVersion: wardle.example.com/v1alpha1\nkind: Flunder\nmetadata: {name: one, labels: {size: large}}\n";
    let conflict = kubectl.fails("apply --server-side -f -", patched).await;
    assert!(conflict.contains(".metadata.labels.size"), "{conflict}");
    kubectl
        .prints("apply --server-side --force-conflicts -f -", patched)
        .await;
    assert_eq!(
        kubectl
            .prints("get flunder one -o jsonpath={.metadata.labels.size}", "")
            .await,
        "large"
    );

    let refused = kubectl.fails("get flunders --as jane", "").await;
    let words =
        r#"User "jane" cannot list resource "flunders" in API group "wardle.example.com" in the namespace "default""#;
    assert!(refused.contains(words), "{refused}");
    kubectl.prints("delete flunder one", "").await;
    assert_eq!(kubectl.prints("get flunders", "").await, "");
    kubectl.prints("get all", "").await;
}

async fn available(server: &ApiServer) {
    for _ in 0..600 {
        let (_, body) = ask(server, "GET", API_SERVICES, "").await;
        let services: Value = serde_json::from_str(&body).unwrap();
        let waits = services["items"]
            .as_array()
            .unwrap()
            .iter()
            .any(|service| service["status"]["conditions"][0]["status"] != "True");
        if !waits {
            // Discovery and OpenAPI follow.
            tokio::time::sleep(Duration::from_secs(3)).await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!(
        "the sample-apiserver is not available: {}",
        ask(server, "GET", API_SERVICES, "").await.1
    );
}
