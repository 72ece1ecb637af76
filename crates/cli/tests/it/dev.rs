//! `kubewright dev` as a user meets it: one command, and a save is all that a change takes.
#![cfg(unix)]

use std::path::PathBuf;

use kubewright_runtime::operator::Operator;

use crate::operator_project::{ClusterClient, Running, TestProject, boats, description, kind, operator};
use crate::support::{Server, endings};

const BOAT: &str = "apiVersion: shop.example.com/v1\nkind: Boat\nmetadata:\n  name: sloop\nspec:\n  colour: red\n";

/// A project with a sample, and no webhooks that it would wait for: its operator is a script.
fn project() -> TestProject {
    let project = TestProject::new();
    project.describe(&description(&Operator::new("shop"), &[boats()]));
    project.write("config/samples/shop_v1_boat.yaml", BOAT);
    project
}

fn exported(dev: &mut Running) -> PathBuf {
    let line = dev.until("export KUBECONFIG=");
    line.trim().trim_start_matches("export KUBECONFIG=").into()
}

#[tokio::test]
async fn a_cluster_the_operator_and_its_samples_come_with_one_word() {
    let (server, project) = (Server::start(), project());
    // The cluster of the current context is not touched.
    let mut dev = project.start(Some(&server.kubeconfig), &["dev"]);
    let kubeconfig = exported(&mut dev);
    dev.until("sample boat.shop.example.com/sloop created");
    let cluster = ClusterClient::of(&kubeconfig).await;
    assert_eq!(cluster.names(&cluster.boats()).await, ["sloop"]);
    let other = ClusterClient::of(&server.kubeconfig).await;
    assert_eq!(other.names(&other.definitions()).await, Vec::<String>::new());
    // The terminal is closed, which counts unless these tests ignore it themselves.
    dev.signal(endings().last().unwrap());
    let (status, said) = dev.end();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(said.contains("down in order"), "{said}");
    assert!(!kubeconfig.exists());
}

#[tokio::test]
async fn a_save_is_all_a_change_takes_and_objects_stay() {
    let project = project();
    let mut dev = project.start(None, &["dev"]);
    let kubeconfig = exported(&mut dev);
    dev.until("sample boat.shop.example.com/sloop created");
    let cluster = ClusterClient::of(&kubeconfig).await;
    let uid = cluster.boats().get("sloop").await.unwrap().metadata.uid;

    let script = std::fs::read_to_string(project.path("src/operator.sh")).unwrap();
    project.describe(&description(&Operator::new("shop"), &[boats(), kind("Oar", "oars")]));
    project.write("src/operator.sh", &script.replace("up with", "two up with"));
    dev.until("oars.shop.example.com created");
    let told = dev.until("the operator runs anew, ");
    assert!(
        told.contains("after the change: cargo ") && told.contains(", everything else "),
        "{told}"
    );
    assert_eq!(cluster.boats().get("sloop").await.unwrap().metadata.uid, uid);

    project.write("src/operator.sh", "MISTAKE");
    dev.until("error[E0425]: cannot find value");
    dev.until("the operator built before goes on");
    dev.signal("TERM");
    let (status, said) = dev.end();
    assert_eq!(status.code(), Some(0), "{said}");
    assert_eq!(said.matches("down in order").count(), 2, "{said}");
}

#[test]
fn an_operator_that_cannot_be_started_is_told_of_and_started_by_the_next_change() {
    let project = project();
    let script = std::fs::read_to_string(project.path("src/operator.sh")).unwrap();
    // It describes itself, and is no program any more afterwards.
    project.write(
        "src/operator.sh",
        &script.replacen('\n', "\nif [ \"$1\" = describe ]; then rm \"$0\"; fi\n", 1),
    );
    let mut dev = project.start(None, &["dev", "--no-samples"]);
    dev.until("cannot start ");
    dev.until("the operator is not started; the next change tries again");
    project.write("src/operator.sh", &script);
    dev.until("up with");
    dev.signal("TERM");
    let (status, said) = dev.end();
    assert_eq!(status.code(), Some(0), "{said}");
}

#[test]
fn a_build_does_not_outlive_the_command() {
    for signal in endings().into_iter().chain(["KILL"]) {
        let project = project();
        // A compiler as a child of cargo, which nobody waits for.
        let cargo = "#!/bin/sh\n(trap 'echo compiler ended; exit' TERM; while :; do sleep 0.05; done) &\n\
                     trap 'echo cargo ended; exit' TERM\nsleep 0.5\necho compiling >&2\nwhile :; do sleep 0.05; done\n";
        project.script("bin/cargo", &cargo.replace("ended", "ended >&2"));
        let mut dev = project.start(None, &["dev"]);
        dev.until("compiling");
        dev.signal(signal);
        // What is said to the end: pipes close when the last process is gone.
        let (_, said) = dev.end();
        assert!(
            said.contains("cargo ended") && said.contains("compiler ended"),
            "{signal}: {said}"
        );
    }
}

#[tokio::test]
async fn a_cluster_that_is_named_is_taken_and_left_tidy() {
    let (server, project) = (Server::start(), project());
    project.describe(&description(&operator(), &[boats()]));
    let mut dev = project.start(
        Some(&server.kubeconfig),
        &["dev", "--context=kubewright", "--no-samples"],
    );
    dev.until("up with");
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    assert_eq!(cluster.names(&cluster.mutating()).await.len(), 1);
    dev.signal("INT");
    let (status, said) = dev.end();
    assert_eq!(status.code(), Some(0), "{said}");
    assert_eq!(cluster.names(&cluster.mutating()).await, Vec::<String>::new());
    assert_eq!(cluster.names(&cluster.definitions()).await, ["boats.shop.example.com"]);
    assert_eq!(cluster.names(&cluster.boats()).await, Vec::<String>::new());
}

#[test]
fn samples_do_not_wait_for_the_webhooks_of_an_operator_that_ended() {
    let project = TestProject::real();
    let script = std::fs::read_to_string(project.path("src/operator.sh")).unwrap();
    let failing =
        "#!/bin/sh\nif [ \"$1\" = describe ]; then exec cat src/describe.json; fi\necho 'cannot listen' >&2\nexit 1\n";
    project.write("src/operator.sh", failing);
    let mut dev = project.start(None, &["dev", "--no-view"]);
    dev.until("the operator ended with exit code 1");
    dev.until("the samples are not applied: they are when the operator runs again");
    project.write("src/operator.sh", &script);
    dev.until("sample configmap/sample created");
    dev.signal("TERM");
    let (_, said) = dev.end();
    assert!(!said.contains("samples are applied without them"), "{said}");
}

#[test]
fn the_kubeconfig_of_a_command_that_was_killed_goes_with_the_next() {
    let (temporary, project) = (tempfile::tempdir().unwrap(), project());
    let start = || {
        let mut command = project.command(None, &["dev", "--no-view"]);
        command.env("TMPDIR", temporary.path());
        Running::start(command)
    };
    let mut dev = start();
    let left = exported(&mut dev);
    dev.until("up with");
    dev.signal("KILL");
    dev.end();
    assert!(left.exists());
    let mut dev = start();
    let kubeconfig = exported(&mut dev);
    assert!(kubeconfig.exists() && !left.parent().unwrap().exists());
    dev.signal("TERM");
    dev.end();
    assert!(!kubeconfig.exists());
}
