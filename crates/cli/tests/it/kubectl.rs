//! kubectl against the TLS listener. The tests use the binary in `$KUBECTL`; without it they are skipped, and say so.
#![cfg(unix)]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::Server;

/// A server, and the kubectl that talks to it.
struct Kubectl {
    binary: PathBuf,
    server: Server,
    home: tempfile::TempDir,
}

impl Kubectl {
    /// `None` when there is no kubectl.
    fn start() -> Option<Kubectl> {
        Some(Kubectl {
            binary: kubewright_test_support::kubectl()?,
            server: Server::start(),
            home: tempfile::tempdir().unwrap(),
        })
    }

    /// Runs kubectl with `input` on its standard input: whether it succeeded, and what it printed.
    fn run(&self, arguments: &[&str], input: &str) -> (bool, String) {
        let mut child = Command::new(&self.binary)
            .args(arguments)
            .env("KUBECONFIG", &self.server.kubeconfig)
            // Its cache of discovery documents.
            .env("HOME", self.home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    }

    fn does(&self, arguments: &[&str], input: &str) -> String {
        let (done, text) = self.run(arguments, input);
        assert!(done, "kubectl {arguments:?}: {text}");
        text
    }

    fn fails(&self, arguments: &[&str], input: &str) -> String {
        let (done, text) = self.run(arguments, input);
        assert!(!done, "kubectl {arguments:?} was to fail, and said: {text}");
        text
    }
}

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: nginx
";

#[test]
fn kubectl_reads_raw_paths() {
    let Some(kubectl) = Kubectl::start() else { return };
    assert_eq!(kubectl.does(&["get", "--raw", "/readyz"], ""), "ok");
    assert!(kubectl.does(&["get", "--raw", "/version"], "").contains("v1.36.3"));
    assert!(
        kubectl
            .does(&["get", "--raw", "/api/v1/namespaces/default"], "")
            .contains(r#""kind":"Namespace""#)
    );
    assert!(
        kubectl
            .does(&["get", "--raw", "/metrics"], "")
            .contains("apiserver_request_total{")
    );
    assert!(kubectl.fails(&["get", "--raw", "/nowhere"], "").contains("NotFound"));
    assert!(kubectl.does(&["version"], "").contains("Server Version: v1.36.3"));
    assert!(
        kubectl
            .does(&["api-resources", "--no-headers"], "")
            .contains("deployments")
    );
}

#[test]
fn kubectl_creates_and_deletes() {
    let Some(kubectl) = Kubectl::start() else { return };
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: team}}";
    assert_eq!(
        kubectl.does(&["create", "-f", "-"], namespace),
        "namespace/team created\n"
    );
    let create = ["create", "-n", "team", "-f", "-"];
    assert_eq!(kubectl.does(&create, DEPLOYMENT), "deployment.apps/web created\n");
    let again = kubectl.fails(&create, DEPLOYMENT);
    assert!(again.contains("Error from server (AlreadyExists)"), "{again}");
    assert_eq!(
        kubectl.does(&["get", "-n", "team", "deployments", "-o", "name"], ""),
        "deployment.apps/web\n"
    );
    let deleted = kubectl.does(&["delete", "-n", "team", "deployment", "web"], "");
    assert!(deleted.starts_with("deployment.apps \"web\" deleted"), "{deleted}");
    let gone = kubectl.fails(&["get", "-n", "team", "deployment", "web", "-o", "yaml"], "");
    assert_eq!(
        gone,
        "Error from server (NotFound): deployments.apps \"web\" not found\n"
    );
}

#[test]
fn kubectl_is_told_about_a_misspelt_field() {
    let Some(kubectl) = Kubectl::start() else { return };
    let text = kubectl.fails(&["create", "-f", "-"], &DEPLOYMENT.replace("selector:", "selectors:"));
    assert!(text.contains(r#"unknown field "spec.selectors""#), "{text}");
}

#[test]
fn kubectl_applies_on_the_server_and_on_its_own() {
    let Some(kubectl) = Kubectl::start() else { return };
    let apply = ["apply", "--server-side", "-f", "-"];
    assert_eq!(
        kubectl.does(&apply, DEPLOYMENT),
        "deployment.apps/web serverside-applied\n"
    );
    assert_eq!(
        kubectl.does(&apply, DEPLOYMENT),
        "deployment.apps/web serverside-applied\n"
    );
    let theirs = ["apply", "--server-side", "--field-manager", "other", "-f", "-"];
    let conflict = kubectl.fails(&theirs, &DEPLOYMENT.replace("image: nginx", "image: caddy"));
    assert!(
        conflict.contains("conflict with \"kubectl\": .spec.template.spec.containers[name=\"web\"].image"),
        "{conflict}"
    );

    let own = DEPLOYMENT.replace("name: web\nspec", "name: mine\nspec");
    assert_eq!(
        kubectl.does(&["apply", "-f", "-"], &own),
        "deployment.apps/mine created\n"
    );
    assert_eq!(
        kubectl.does(&["apply", "-f", "-"], &own),
        "deployment.apps/mine unchanged\n"
    );
    let changed = own.replace("image: nginx", "image: caddy");
    assert_eq!(
        kubectl.does(&["apply", "-f", "-"], &changed),
        "deployment.apps/mine configured\n"
    );
}

#[test]
fn kubectl_patches_in_every_way() {
    let Some(kubectl) = Kubectl::start() else { return };
    kubectl.does(&["create", "-f", "-"], DEPLOYMENT);
    let patch = |kind: &str, patch: &str, path: &str| {
        let arguments = ["patch", "deployment", "web", "--type", kind, "-p", patch];
        assert_eq!(kubectl.does(&arguments, ""), "deployment.apps/web patched\n");
        kubectl.does(&["get", "deployment", "web", "-o", &format!("jsonpath={path}")], "")
    };
    let replicas = "{.spec.replicas}";
    assert_eq!(
        patch(
            "json",
            r#"[{"op":"replace","path":"/spec/replicas","value":2}]"#,
            replicas
        ),
        "2"
    );
    assert_eq!(patch("merge", r#"{"spec":{"replicas":3}}"#, replicas), "3");
    let sidecar = r#"{"spec":{"template":{"spec":{"containers":[{"name":"log","image":"busybox"}]}}}}"#;
    assert_eq!(
        patch("strategic", sidecar, "{.spec.template.spec.containers[*].name}"),
        "log web"
    );
    let scaled = kubectl.does(&["scale", "deployment", "web", "--replicas=4"], "");
    assert_eq!(scaled, "deployment.apps/web scaled\n");
    assert_eq!(
        kubectl.does(&["get", "deployment", "web", "-o", "jsonpath={.spec.replicas}"], ""),
        "4"
    );
    let missing = kubectl.fails(&["patch", "deployment", "nobody", "-p", "{}"], "");
    assert_eq!(
        missing,
        "Error from server (NotFound): deployments.apps \"nobody\" not found\n"
    );
}

#[test]
fn kubectl_waits_for_what_it_watches() {
    let Some(kubectl) = Kubectl::start() else { return };
    let settings = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {color: blue}}";
    assert_eq!(
        kubectl.does(&["create", "-f", "-"], settings),
        "configmap/settings created\n"
    );
    let wait = [
        "wait",
        "configmap/settings",
        "--for=jsonpath={.data.color}=red",
        "--timeout=30s",
    ];
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| kubectl.does(&wait, ""));
        kubectl.does(
            &["patch", "configmap", "settings", "-p", r#"{"data":{"color":"red"}}"#],
            "",
        );
        assert_eq!(waiting.join().unwrap(), "configmap/settings condition met\n");
    });
}

#[test]
fn kubectl_tells_who_one_is_and_what_one_may_do() {
    let Some(kubectl) = Kubectl::start() else { return };
    let whoami = kubectl.does(&["auth", "whoami"], "");
    assert!(whoami.contains("[system:masters system:authenticated]"), "{whoami}");
    assert_eq!(kubectl.does(&["auth", "can-i", "delete", "pods"], ""), "yes\n");
    assert_eq!(
        kubectl.fails(&["auth", "can-i", "list", "pods", "--as", "jane"], ""),
        "no\n"
    );
    kubectl.does(&["create", "serviceaccount", "robot"], "");
    kubectl.does(&["create", "role", "reader", "--verb=get,list", "--resource=pods"], "");
    let subject = "--serviceaccount=default:robot";
    kubectl.does(&["create", "rolebinding", "robot", "--role=reader", subject], "");
    let account = "--as=system:serviceaccount:default:robot";
    assert_eq!(kubectl.does(&["auth", "can-i", "list", "pods", account], ""), "yes\n");
    let list = kubectl.does(&["auth", "can-i", "--list", account], "");
    assert!(
        list.lines()
            .any(|line| line.starts_with("pods ") && line.ends_with("[get list]")),
        "{list}"
    );
    let refusal = kubectl.fails(&["get", "secrets", account], "");
    assert_eq!(
        refusal,
        "Error from server (Forbidden): secrets is forbidden: User \"system:serviceaccount:default:robot\" cannot list \
         resource \"secrets\" in API group \"\" in the namespace \"default\"\n"
    );
    let token = kubectl.does(&["create", "token", "robot", "--duration=10m"], "");
    assert_eq!(token.trim().split('.').count(), 3);
}
