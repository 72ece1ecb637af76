//! An operator as a program: the example runs against the embedded server, stops on a signal and says what failed.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kubewright_apiserver::{ApiServer, ListenOptions, Options};
use kubewright_runtime::client::Client;
use kubewright_runtime::flags::{Environment, Flags};
use kubewright_runtime::informer::Cache;
use kubewright_runtime::object::ObjectKey;
use kubewright_runtime::operator::Operator;
use kubewright_runtime::stop::Stopper;
use serde_json::{Value, json};

/// No servers, so that tests can run side by side.
const QUIET: [&str; 2] = ["--health-probe-bind-address=0", "--debug-bind-address=0"];

/// The example as a program.
fn copier() -> Command {
    Command::new(kubewright_test_support::example_program(
        env!("CARGO_MANIFEST_DIR"),
        "copier",
        "examples/copier.rs",
    ))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn describe_prints_the_operator_as_json() {
    let Output { status, stdout, .. } = copier().arg("describe").output().unwrap();
    assert!(status.success());
    let printed: Value = serde_json::from_slice(&stdout).unwrap();
    assert_eq!((&printed["version"], &printed["name"]), (&json!(1), &json!("copier")));
    assert_eq!(printed["controllers"][0]["kind"], "ConfigMap");
}

#[test]
fn a_program_without_a_cluster_says_so_in_one_line() {
    let missing = ["--kubeconfig=/no/such/file", "--log-level=error"];
    let output = copier().args(missing).args(QUIET).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.starts_with("error: the kubeconfig from --kubeconfig=/no/such/file cannot be used: "),
        "{said}"
    );
    let output = copier().arg("--no-such-flag").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_does_its_work_until_a_signal_comes() {
    let server = ApiServer::new(Options::new());
    let listener = server.listen(ListenOptions::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, listener.kubeconfig()).unwrap();
    let user = Client::new(server.client(), Cache::default()).live();
    let source: ConfigMap = serde_json::from_value(json!({
        "metadata": { "name": "a", "namespace": "default", "labels": { "copy": "yes" } }, "data": { "key": "value" },
    }))
    .unwrap();
    user.create(&source).await.unwrap();

    let election = ["--leader-elect", "--leader-election-namespace=default"];
    let child = copier()
        .env("KUBECONFIG", &kubeconfig)
        .args(QUIET)
        .args(election)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let key = ObjectKey::namespaced("default", "a");
    let copied = tokio::time::timeout(Duration::from_mins(1), async {
        while user.get_opt::<Secret>(&key).await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let output = tokio::task::spawn_blocking(|| child.wait_with_output())
        .await
        .unwrap()
        .unwrap();
    let said = text(&output.stderr);
    assert!(copied.is_ok(), "{said}");
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("stopping"), "{said}");
    let lease = user
        .get::<k8s_openapi::api::coordination::v1::Lease>(&ObjectKey::namespaced("default", "copier"))
        .await
        .unwrap();
    assert_eq!(lease.spec.as_ref().unwrap().holder_identity.as_deref(), Some(""));
}

#[tokio::test]
async fn a_run_as_the_flags_say_ends_when_it_is_asked_to() {
    let server = ApiServer::new(Options::new());
    let listener = server.listen(ListenOptions::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, listener.kubeconfig()).unwrap();
    let variable = kubeconfig.to_str().unwrap();
    let flags = Flags::try_parse_from(["manager"].into_iter().chain(QUIET)).unwrap();
    let operator = Operator::new("idle").reads::<ConfigMap>();
    let elsewhere = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    // An operator works, whatever is said of its telemetry.
    for telemetry in [
        vec![],
        vec![elsewhere, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
        vec![elsewhere, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")],
        vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317")],
    ] {
        let variables = std::iter::once(("KUBECONFIG", variable)).chain(telemetry);
        let environment = Environment::of(variables);
        let (stopper, stop) = Stopper::new();
        let (done, ()) = tokio::join!(operator.run_with(&flags, &environment, stop), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            stopper.stop();
        });
        done.unwrap();
    }
}
