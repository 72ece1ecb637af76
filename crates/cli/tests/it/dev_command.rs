//! `kubewright dev --command`: an operator in any language.
#![cfg(unix)]

use crate::operator_project::{ClusterClient, TestProject, boats};
use crate::support::endings;

/// A folder that is no project of ours: a definition, a sample, and an operator as a script that makes a child.
fn folder() -> TestProject {
    let project = TestProject::new();
    std::fs::remove_file(project.path("PROJECT")).unwrap();
    let definition = &boats()["definition"];
    let mut definition = definition.clone();
    definition["spec"]["versions"][0]["schema"] = serde_json::json!({
        "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
    });
    project.write("config/crd/bases/boats.yaml", &definition.to_string());
    project.write(
        "config/samples/boat.yaml",
        "apiVersion: shop.example.com/v1\nkind: Boat\nmetadata:\n  name: sloop\n",
    );
    project.script(
        "operator.sh",
        "#!/bin/sh\necho \"up as $(grep -c token \"$KUBECONFIG\") with $ENABLE_WEBHOOKS $*\"\nsleep 1000 &\nwait\n",
    );
    project
}

#[tokio::test]
async fn a_command_runs_beside_a_cluster_and_again_at_each_save_and_leaves_nothing_behind() {
    for signal in endings() {
        let project = folder();
        let mut dev = project.start(None, &["dev", "--command", "./operator.sh first", "--", "--second one"]);
        let line = dev.until("export KUBECONFIG=");
        let kubeconfig = line.trim().trim_start_matches("export KUBECONFIG=").to_owned();
        dev.until("sample boat.shop.example.com/sloop created");
        let cluster = ClusterClient::of(kubeconfig.as_ref()).await;
        assert_eq!(cluster.names(&cluster.boats()).await, ["sloop"]);

        let script = std::fs::read_to_string(project.path("operator.sh")).unwrap();
        project.script("operator.sh", &script.replace("up as", "again as"));
        dev.until("changed: operator.sh");
        dev.until("again as 1");
        assert_eq!(cluster.names(&cluster.boats()).await, ["sloop"]);
        dev.signal(signal);
        // Pipes close when the last process is gone, the child of the script, too.
        let (_, said) = dev.end();
        assert!(said.contains("up as 1 with false first --second one"), "{said}");
    }
}

#[test]
fn a_command_that_ends_is_started_by_the_next_change_and_what_cannot_be_installed_is_named() {
    let project = folder();
    project.script("operator.sh", "#!/bin/sh\nexit 3\n");
    let mut dev = project.start(None, &["dev", "--no-samples", "--command", "./operator.sh"]);
    dev.until("the command ended with exit code 3; the next change starts it again");
    project.script("operator.sh", "#!/bin/sh\necho up\nexec sleep 1000\n");
    dev.until("up");
    dev.signal("TERM");
    dev.end();

    let mut dev = project.start(None, &["dev", "--command", "true", "--install", "nowhere"]);
    dev.until("cannot read nowhere");
    assert_eq!(dev.end().0.code(), Some(1));
    let mut dev = project.start(None, &["dev", "--install", "nowhere"]);
    dev.until("--command <COMMAND>");
    assert_eq!(dev.end().0.code(), Some(2));
}

#[tokio::test]
async fn a_mistake_in_what_is_installed_leaves_the_command_alone_and_its_correction_is_installed() {
    let project = folder();
    let definition = std::fs::read_to_string(project.path("config/crd/bases/boats.yaml")).unwrap();
    // The first definition is only half there.
    project.write("config/crd/bases/boats.yaml", "kind: [\n");
    let mut dev = project.start(None, &["dev", "--no-samples", "--command", "./operator.sh"]);
    let line = dev.until("export KUBECONFIG=");
    let kubeconfig = line.trim().trim_start_matches("export KUBECONFIG=").to_owned();
    dev.until("boats.yaml: ");
    dev.until("the command is not started; the next change tries again");
    project.write("config/crd/bases/boats.yaml", &definition);
    dev.until("up as 1");
    let cluster = ClusterClient::of(kubeconfig.as_ref()).await;
    assert_eq!(cluster.names(&cluster.definitions()).await, ["boats.shop.example.com"]);

    // What cannot be read and what the cluster refuses: the command goes on, also when another file is saved.
    for (mistake, why) in [
        (definition[..definition.len() / 2].to_owned(), "boats.yaml: "),
        (definition.replace("\"Namespaced\"", "\"Nowhere\""), "was refused"),
    ] {
        project.write("config/crd/bases/boats.yaml", &mistake);
        dev.until(why);
        dev.until("the command started before goes on; the next change tries again");
    }
    project.write("notes.txt", "still refused");
    dev.until("changed: notes.txt");
    dev.until("the command started before goes on; the next change tries again");
    assert!(!dev.said.contains("Stopping the command"), "{}", dev.said);
    project.write("config/crd/bases/boats.yaml", &definition);
    dev.until("Stopping the command");
    dev.until("up as 1");
    dev.signal("TERM");
    dev.end();
}
