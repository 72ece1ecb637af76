//! An operator with an aggregated API, run on this machine and deployed: the API server finds it, serves its kinds as any, and forgets it
//! when it goes. What only kubectl sees is looked at where there is one.
#![cfg(unix)]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use kube::api::{Api, DynamicObject, ObjectMeta, Patch, PatchParams, PostParams};
use kubewright_test_support::free_port;
use serde_json::json;

use crate::operator_project::{ClusterClient, Running, TestProject, own_ports};
use crate::support::{Server, kubewright};

const API_SERVICE: &str = "v1.hire.example.com";
pub(crate) const AVAILABLE: &str = "apiservice.apiregistration.k8s.io/v1.hire.example.com is available";

fn program() -> PathBuf {
    kubewright_test_support::example_program(
        env!("CARGO_MANIFEST_DIR"),
        "hire_operator",
        "tests/it/operator_project/aggregated.rs",
    )
}

/// A project whose operator serves boats and piers itself.
pub(crate) fn project() -> TestProject {
    let project = TestProject::new();
    let own_ports = own_ports(&["extension-port="]);
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" != describe ]; then\n{own_ports}fi\nexec '{}' \"$@\"\n",
        program().display()
    );
    project.script("src/operator.sh", &script);
    project
}

fn api_services(cluster: &ClusterClient) -> Api<DynamicObject> {
    cluster.of_kind("apiregistration.k8s.io", "v1", "APIService", None)
}

fn boats(cluster: &ClusterClient) -> Api<DynamicObject> {
    cluster.of_kind("hire.example.com", "v1", "Boat", Some("default"))
}

async fn is_there(api: &Api<DynamicObject>, name: &str) -> bool {
    api.get_opt(name).await.unwrap().is_some()
}

/// Reads, writes, applies and is refused, through the API server.
async fn is_served(cluster: &ClusterClient) {
    let piers = cluster.of_kind("hire.example.com", "v1", "Pier", None);
    assert_eq!(cluster.names(&piers).await, ["north", "south"]);
    let boats = boats(cluster);
    let boat = json!({ "apiVersion": "hire.example.com/v1", "kind": "Boat", "metadata": { "name": "a" }, "spec": { "colour": "red" } });
    let applied = boats
        .patch("a", &PatchParams::apply("painter"), &Patch::Apply(&boat))
        .await
        .unwrap();
    assert_eq!(applied.managed_fields()[0].manager.as_deref(), Some("painter"));
    let mut other = boat.clone();
    other["spec"]["colour"] = "blue".into();
    let conflict = boats
        .patch("a", &PatchParams::apply("other"), &Patch::Apply(&other))
        .await
        .unwrap_err();
    let said = conflict.to_string();
    assert!(said.contains("conflict with \"painter\": .spec.colour"), "{said}");
    let no_seat = DynamicObject {
        types: None,
        metadata: ObjectMeta {
            name: Some("b".to_owned()),
            ..ObjectMeta::default()
        },
        data: json!({ "apiVersion": "hire.example.com/v1", "kind": "Boat", "spec": { "colour": "red", "seats": 0 } }),
    };
    let refused = boats.create(&PostParams::default(), &no_seat).await.unwrap_err();
    assert!(refused.to_string().contains("spec.seats"), "{refused}");
}

trait ManagedFields {
    fn managed_fields(&self) -> &[k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry];
}

impl ManagedFields for DynamicObject {
    fn managed_fields(&self) -> &[k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry] {
        self.metadata.managed_fields.as_deref().unwrap_or_default()
    }
}

/// What kubectl makes of the kinds, where there is one.
fn kubectl_shows_it(kubeconfig: &Path) {
    let Some(kubectl) = kubewright_test_support::kubectl() else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let says = |arguments: &str| {
        let mut command = Command::new(&kubectl);
        command.args(arguments.split(' ')).env("KUBECONFIG", kubeconfig);
        let output = command.env("HOME", home.path()).output().unwrap();
        assert!(output.status.success(), "kubectl {arguments}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let table = says("get boats");
    assert_eq!(
        table.split_whitespace().take(4).collect::<Vec<_>>(),
        ["NAME", "COLOUR", "a", "red"]
    );
    // The API server reads the schemas of an API a little after it has found it.
    let explain = || {
        let mut command = Command::new(&kubectl);
        command
            .args(["explain", "boat.spec.seats"])
            .env("KUBECONFIG", kubeconfig);
        let output = command.env("HOME", home.path()).output().unwrap();
        output
            .status
            .success()
            .then(|| String::from_utf8(output.stdout).unwrap())
    };
    let explained = (0..100)
        .find_map(|_| {
            let explained = explain();
            if explained.is_none() {
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            explained
        })
        .expect("kubectl explains a boat within ten seconds");
    assert!(explained.contains("How many people it carries."), "{explained}");
    let described = says("describe boat a");
    assert!(described.contains("Colour:  red"), "{described}");
    let watched = says("get boats --watch --request-timeout=1s --output-watch-events");
    assert!(watched.contains("ADDED"), "{watched}");
    let listed = says("api-resources --api-group=hire.example.com -o wide");
    let piers = listed.lines().find(|line| line.starts_with("piers")).unwrap();
    assert!(piers.contains("get,list,watch"), "{listed}");
}

/// The kubeconfig of an embedded API server, which is told to the user.
fn exported(run: &mut Running) -> PathBuf {
    let line = run.until("export KUBECONFIG=");
    line.trim().trim_start_matches("export KUBECONFIG=").into()
}

#[tokio::test]
async fn a_cluster_finds_the_api_of_a_run_and_forgets_it_afterwards() {
    let (server, project) = (Server::start(), project());
    let mut run = project.start(Some(&server.kubeconfig), &["run", "--", "--debug-bind-address=0"]);
    run.until(AVAILABLE);
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let services = cluster.of_kind("", "v1", "Service", Some("default"));
    let announced = api_services(&cluster).get(API_SERVICE).await.unwrap();
    let spec = &announced.data["spec"];
    assert_eq!(spec["service"]["name"], "shop-extension-run");
    assert!(
        spec["caBundle"].is_string() && spec["insecureSkipTLSVerify"].is_null(),
        "its certificate is verified: {spec}"
    );
    let service = services.get("shop-extension-run").await.unwrap();
    assert_eq!(service.data["spec"]["externalName"], "localhost");
    is_served(&cluster).await;
    kubectl_shows_it(&server.kubeconfig);

    run.signal("INT");
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(!is_there(&api_services(&cluster), API_SERVICE).await, "{said}");
    assert!(!is_there(&services, "shop-extension-run").await, "{said}");
    let gone = said
        .find("v1.hire.example.com deleted: it was there for this run")
        .unwrap();
    let service_gone = said
        .find("shop-extension-run deleted: it was there for this run")
        .unwrap();
    assert!(gone < service_gone, "{said}");
}

#[tokio::test]
async fn the_embedded_server_verifies_the_api_of_a_run_which_has_its_own_rights() {
    let project = project();
    let mut run = project.start(None, &["run", "--embedded", "--", "--debug-bind-address=0"]);
    let kubeconfig = exported(&mut run);
    run.until(AVAILABLE);
    let cluster = ClusterClient::of(&kubeconfig).await;
    let announced = api_services(&cluster).get(API_SERVICE).await.unwrap();
    let spec = &announced.data["spec"];
    assert_eq!(spec["service"]["namespace"], "shop-system");
    assert!(
        spec["caBundle"].is_string() && spec["insecureSkipTLSVerify"].is_null(),
        "{spec}"
    );
    is_served(&cluster).await;
    run.signal("INT");
    let (_, said) = run.end();
    assert!(!said.contains("may not"), "its role lets it ask about clients: {said}");
}

#[tokio::test]
async fn an_api_that_is_switched_off_is_not_announced() {
    let (server, project) = (Server::start(), project());
    let flags = ["run", "--", "--extension-port=0", "--debug-bind-address=0"];
    let mut run = project.start(Some(&server.kubeconfig), &flags);
    run.until("The operator runs");
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    assert!(!is_there(&api_services(&cluster), API_SERVICE).await);
}

#[tokio::test]
async fn the_api_of_a_deployed_operator_stays_with_it_and_a_deploy_takes_over_that_of_a_run() {
    let (server, project) = (Server::start(), project());
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let mut run = project.start(Some(&server.kubeconfig), &["run", "--", "--debug-bind-address=0"]);
    run.until(AVAILABLE);
    project.run(&server.kubeconfig, &["deploy", "--no-wait"]).fine();
    let is_deployed = async || {
        let spec = api_services(&cluster).get(API_SERVICE).await.unwrap().data["spec"].clone();
        assert_eq!(spec["service"]["namespace"], "shop-system", "{spec}");
        assert!(spec["caBundle"].is_null(), "the manager writes its own: {spec}");
    };
    is_deployed().await;
    run.signal("INT");
    run.end();
    is_deployed().await;

    let mut run = project.start(Some(&server.kubeconfig), &["run", "--", "--debug-bind-address=0"]);
    run.until("v1.hire.example.com stays as it is");
    run.until("The operator runs");
    run.signal("INT");
    run.end();
    is_deployed().await;
    project.run(&server.kubeconfig, &["undeploy"]).fine();
    assert!(!is_there(&api_services(&cluster), API_SERVICE).await);
}

/// The manager as a user might edit it: its probes are on a port of their own, since all Pods share those of the machine.
fn manager(probes: u16) -> String {
    let labels = json!({ "app.kubernetes.io/name": "shop", "control-plane": "controller-manager" });
    let container = json!({
        "name": "manager",
        "image": "controller:latest",
        "args": ["--leader-elect", "--debug-bind-address=0", format!("--health-probe-bind-address=:{probes}")],
        "ports": [],
        "readinessProbe": { "httpGet": { "path": "/readyz", "port": probes }, "periodSeconds": 1 },
    });
    let deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": "controller-manager", "namespace": "system" },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "serviceAccountName": "controller-manager", "containers": [container] },
            },
        },
    });
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "system" } });
    format!("{namespace}\n---\n{deployment}\n")
}

#[tokio::test]
async fn a_deployed_operator_serves_its_api_from_its_pod_and_undeploy_leaves_nothing() {
    // The Service leads to a fixed port, and so does that of the metrics.
    if [7443, 8443]
        .iter()
        .any(|port| TcpListener::bind(("::", *port)).is_err())
    {
        return kubewright_test_support::skip("the ports 7443 and 8443 are in use");
    }
    let server = Server::start_with(&["--controllers=all", "--run-images"]);
    let (cluster, project) = (ClusterClient::of(&server.kubeconfig).await, project());
    project.write("config/manager/manager.yaml", &manager(free_port()));
    let system = cluster.of_kind("rbac.authorization.k8s.io", "v1", "RoleBinding", Some("kube-system"));
    let before = cluster.names(&system).await;

    let loaded = kubewright()
        .args(["image", "load", "shop:dev", "--binary"])
        .arg(program())
        .env("KUBECONFIG", &server.kubeconfig)
        .output()
        .unwrap();
    assert!(loaded.status.success(), "{loaded:?}");
    let deployed = project.run(&server.kubeconfig, &["deploy", "--image=shop:dev", "--timeout=50s"]);
    let waited = "✓ Waiting until apiservice.apiregistration.k8s.io/v1.hire.example.com is available";
    assert!(deployed.stderr.contains(waited), "{}", deployed.stderr);
    deployed.fine();
    is_served(&cluster).await;
    kubectl_shows_it(&server.kubeconfig);

    let arguments = ["undeploy", "--delete-namespace"];
    project.run(&server.kubeconfig, &arguments).fine();
    assert!(!is_there(&api_services(&cluster), API_SERVICE).await);
    assert_eq!(cluster.names(&system).await, before);
    let namespaces = cluster.of_kind("", "v1", "Namespace", None);
    assert!(!is_there(&namespaces, "shop-system").await);
}
