//! Runs outside the cluster: webhooks are called at this machine, and are as before afterwards.

use std::time::Duration;

use jiff::Timestamp;
use kubewright_runtime::certificates::{CertificateFiles, LocalMode, Source};
use serde_json::{Value, json};

use super::support::*;

const ANNOTATION: &str = "kubewright.dev/local-run";

fn local(port: u16) -> Source {
    let mut local = LocalMode::new("127.0.0.1", port);
    local.targets = targets().into();
    Source::Local(local)
}

fn run(cluster: &Cluster, port: u16, now: Timestamp) -> Replica {
    Replica::start(cluster.kube.clone(), local(port), now)
}

/// All three objects, without what every write changes.
async fn state(cluster: &Cluster) -> Vec<Value> {
    let mut objects = vec![
        cluster.mutating().await,
        cluster.validating().await,
        cluster.definition().await,
    ];
    for object in &mut objects {
        let metadata = object["metadata"].as_object_mut().unwrap();
        for field in ["managedFields", "resourceVersion", "generation"] {
            metadata.remove(field);
        }
        metadata.retain(|_, value| *value != json!({}));
    }
    objects
}

fn urls(state: &[Value]) -> Vec<&str> {
    let configs = [
        &state[0]["webhooks"][0]["clientConfig"],
        &state[0]["webhooks"][1]["clientConfig"],
        &state[1]["webhooks"][0]["clientConfig"],
        &state[1]["webhooks"][1]["clientConfig"],
        &state[2]["spec"]["conversion"]["webhook"]["clientConfig"],
    ];
    configs.map(|config| config["url"].as_str().unwrap_or_default()).into()
}

fn at(port: u16) -> Vec<String> {
    ["/a", "/b", "/a", "/b", "/convert"]
        .map(|path| format!("https://127.0.0.1:{port}{path}"))
        .into()
}

#[tokio::test]
async fn a_local_run_is_called_and_leaves_everything_as_it_was() {
    let cluster = Cluster::with_webhooks().await;
    Replica::managed(&cluster, epoch()).ready().await;
    let before = state(&cluster).await;
    let certificates = local(1).open().unwrap();
    let listening = listen(&certificates).await;
    let port = listening.address.port();
    let replica = run(&cluster, port, epoch());
    replica.ready().await;
    let redirected = state(&cluster).await;
    assert_eq!(urls(&redirected), at(port));
    for configuration in &redirected[..2] {
        for webhook in configuration["webhooks"].as_array().unwrap() {
            assert_eq!(
                (&webhook["failurePolicy"], &webhook["timeoutSeconds"]),
                (&json!("Ignore"), &json!(3))
            );
            assert!(webhook["clientConfig"].get("service").is_none());
        }
    }
    replica.stop().await;
    assert_eq!(state(&cluster).await, before);
}

#[tokio::test]
async fn the_certificate_of_a_local_run_is_trusted_by_its_bundle() {
    let cluster = Cluster::with_webhooks().await;
    let source = local(9443);
    let certificates = source.open().unwrap();
    let listening = listen(&certificates).await;
    let replica = Replica::resume(certificates, cluster.kube.clone(), epoch());
    replica.ready().await;
    let bundle = decoded(&cluster.mutating().await["webhooks"][0]["clientConfig"]["caBundle"]).unwrap();
    for name in ["127.0.0.1", "localhost"] {
        let mut stream = connect(listening.address, &bundle, name, epoch()).await.unwrap();
        assert!(ask(&mut stream).await.unwrap().starts_with("HTTP/1.1 200 OK"));
    }
    replica.stop().await;
}

#[tokio::test]
async fn after_a_kill_the_next_local_run_takes_over_and_restores_the_original() {
    let cluster = Cluster::with_webhooks().await;
    let before = state(&cluster).await;
    let replica = run(&cluster, 9001, epoch());
    replica.ready().await;
    replica.kill().await;
    assert_eq!(urls(&state(&cluster).await), at(9001));
    let replica = run(&cluster, 9002, epoch());
    replica.ready().await;
    assert_eq!(urls(&state(&cluster).await), at(9002));
    replica.stop().await;
    assert_eq!(state(&cluster).await, before);
}

#[tokio::test]
async fn after_a_kill_the_manager_in_the_cluster_restores_when_it_starts() {
    let cluster = Cluster::with_webhooks().await;
    let replica = run(&cluster, 9001, epoch());
    replica.ready().await;
    replica.kill().await;
    let manager = Replica::managed(&cluster, epoch());
    manager.ready().await;
    assert!(cluster.is_announced().await);
    let after = state(&cluster).await;
    assert_eq!(urls(&after), [""; 5]);
    assert_eq!(after[0]["webhooks"][0]["failurePolicy"], "Fail");
    assert_eq!(after[0]["webhooks"][0]["timeoutSeconds"], 7);
    assert!(
        after
            .iter()
            .all(|object| object["metadata"]["annotations"].get(ANNOTATION).is_none())
    );
}

#[tokio::test(start_paused = true)]
async fn a_manager_leaves_a_local_run_alone_as_long_as_it_lives() {
    let cluster = Cluster::with_webhooks().await;
    let manager = Replica::managed(&cluster, epoch());
    manager.ready().await;
    let before = state(&cluster).await;
    let replica = run(&cluster, 9001, epoch());
    replica.ready().await;
    for _ in 0..12 {
        tokio::time::sleep(Duration::from_mins(10)).await;
        assert_eq!(urls(&state(&cluster).await), at(9001));
    }
    replica.kill().await;
    tokio::time::sleep(Duration::from_mins(8)).await;
    assert_eq!(urls(&state(&cluster).await), at(9001));
    tokio::time::sleep(Duration::from_mins(20)).await;
    assert_eq!(state(&cluster).await, before);
}

#[tokio::test]
async fn of_two_local_runs_the_later_is_called_and_the_last_restores() {
    let cluster = Cluster::with_webhooks().await;
    let before = state(&cluster).await;
    let first = run(&cluster, 9001, epoch());
    first.ready().await;
    let second = run(&cluster, 9002, epoch());
    second.ready().await;
    assert_eq!(urls(&state(&cluster).await), at(9002));
    first.stop().await;
    assert_eq!(urls(&state(&cluster).await), at(9002));
    second.stop().await;
    assert_eq!(state(&cluster).await, before);
}

#[tokio::test]
async fn what_is_changed_during_a_local_run_is_what_is_restored() {
    let cluster = Cluster::with_webhooks().await;
    let replica = run(&cluster, 9001, epoch());
    replica.ready().await;
    // Somebody installs a new version: one webhook less, another timeout.
    let mut manifest = configuration("Mutating", "shop");
    manifest["webhooks"].as_array_mut().unwrap().remove(0);
    manifest["webhooks"][0]["timeoutSeconds"] = 11.into();
    manifest["metadata"] = cluster.mutating().await["metadata"].clone();
    manifest["metadata"]["annotations"] = json!({});
    cluster.put(&format!("{MUTATING}/shop"), &manifest).await;
    eventually("it is redirected again", async || {
        cluster.mutating().await["webhooks"][0]["clientConfig"]["url"] == "https://127.0.0.1:9001/b"
    })
    .await;
    replica.stop().await;
    let after = cluster.mutating().await;
    assert_eq!(after["webhooks"].as_array().unwrap().len(), 1);
    assert_eq!(after["webhooks"][0]["timeoutSeconds"], 11);
    assert_eq!(after["webhooks"][0]["clientConfig"]["service"]["path"], "/b");
}

#[tokio::test]
async fn cert_manager_does_not_interfere_with_a_local_run_and_has_its_way_afterwards() {
    let cluster = Cluster::with_webhooks().await;
    let annotation = "cert-manager.io/inject-ca-from";
    let annotated = json!({ "metadata": { "annotations": { annotation: "shop/serving" } } });
    cluster.merge(&format!("{MUTATING}/shop"), &annotated).await;
    let before = state(&cluster).await;
    let replica = run(&cluster, 9001, epoch());
    replica.ready().await;
    let redirected = state(&cluster).await;
    assert_eq!(urls(&redirected), at(9001));
    assert!(redirected[0]["metadata"]["annotations"].get(annotation).is_none());
    replica.kill().await;
    let replica = run(&cluster, 9002, epoch());
    replica.ready().await;
    replica.stop().await;
    assert_eq!(state(&cluster).await, before);
}

#[tokio::test]
async fn an_annotation_that_nobody_can_read_is_told_and_nothing_is_guessed() {
    let cluster = Cluster::with_webhooks().await;
    let rubbish = json!({ "metadata": { "annotations": { ANNOTATION: "rubbish" } } });
    cluster.merge(&format!("{MUTATING}/shop"), &rubbish).await;
    let before = cluster.mutating().await;
    let manager = Replica::managed(&cluster, epoch());
    eventually("it is told", async || {
        manager.certificates.check().is_err_and(|error| {
            error.starts_with(
                "MutatingWebhookConfiguration shop: the annotation kubewright.dev/local-run cannot be read",
            )
        })
    })
    .await;
    assert_eq!(cluster.mutating().await, before);
    // The others do not have to wait for it.
    assert!(cluster.bundles().await[2].is_some());
}

#[tokio::test(start_paused = true)]
async fn a_manager_with_certificates_from_files_restores_too() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.path().join("tls.crt"), made.cert.pem()).unwrap();
    std::fs::write(folder.path().join("tls.key"), made.signing_key.serialize_pem()).unwrap();
    let files = CertificateFiles::in_folder(folder.path(), "tls.crt", "tls.key");
    let cluster = Cluster::with_webhooks().await;
    let before = state(&cluster).await;
    let killed = run(&cluster, 9001, epoch());
    killed.ready().await;
    killed.kill().await;
    let certificates = Source::Files(files).open().unwrap().restoring(targets());
    assert_eq!(certificates.check(), Ok(()));
    let manager = Replica::resume(certificates, cluster.kube.clone(), epoch());
    eventually("it is restored", async || state(&cluster).await == before).await;

    // A run that lives is left alone until it is over.
    let replica = run(&cluster, 9002, epoch());
    replica.ready().await;
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(urls(&state(&cluster).await), at(9002));
    replica.kill().await;
    tokio::time::sleep(Duration::from_mins(30)).await;
    assert_eq!(state(&cluster).await, before);
    manager.stop().await;
}
