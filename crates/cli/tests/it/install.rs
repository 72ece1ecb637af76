//! `kubewright install` and `uninstall` as a user meets them, on the embedded API server.
#![cfg(unix)]

use std::path::Path;

use crate::operator_project::{ClusterClient, TestProject, boats, description, kind, operator};
use crate::support::Server;

const BOATS: &str = "customresourcedefinition.apiextensions.k8s.io/boats.shop.example.com";

#[test]
fn definitions_are_applied_once_and_then_unchanged() {
    let (server, project) = (Server::start(), TestProject::new());
    let install = |arguments: &[&str]| project.run(&server.kubeconfig, arguments).fine();
    assert_eq!(install(&["install"]), format!("{BOATS} created\n"));
    assert_eq!(install(&["install"]), format!("{BOATS} unchanged\n"));
    assert_eq!(install(&["install", "-o", "name"]), format!("{BOATS}\n"));

    let mut changed = boats();
    changed["schema"]["properties"]["spec"]["properties"]["sails"] = serde_json::json!({ "type": "string" });
    project.describe(&description(&operator(), &[changed]));
    assert_eq!(
        install(&["install", "--dry-run=server"]),
        format!("{BOATS} configured (server dry run)\n")
    );
    assert_eq!(install(&["install"]), format!("{BOATS} configured\n"));
    let installed: serde_json::Value = serde_json::from_str(&install(&["install", "-o", "json"])).unwrap();
    let properties = &installed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    assert_eq!(properties["spec"]["properties"]["sails"]["type"], "string");
    assert_eq!(installed["metadata"]["managedFields"], serde_json::Value::Null);
}

#[test]
fn the_cluster_is_named_before_anything_is_done() {
    let (server, project) = (Server::start(), TestProject::new());
    let ran = project.run(&server.kubeconfig, &["install"]);
    let first = ran.stderr.lines().next().unwrap().to_owned();
    assert!(first.starts_with("• Cluster kubewright (https://127.0.0.1:"), "{first}");
    assert!(!ran.stderr.contains('\x1b'), "a pipe gets no colours: {:?}", ran.stderr);
}

#[test]
fn without_a_cluster_nothing_is_built_and_the_next_step_is_named() {
    let project = TestProject::new();
    let error = project.run(Path::new("/no/such/kubeconfig"), &["install"]).error();
    assert_eq!(error, "error: the kubeconfig /no/such/kubeconfig does not exist");

    project.write(
        "kubeconfig",
        "{apiVersion: v1, kind: Config, current-context: here, contexts: [{name: here, context: {cluster: c, user: u}}], \
         clusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}], users: [{name: u, user: {}}]}",
    );
    let kubeconfig = project.path("kubeconfig");
    for command in ["install", "uninstall", "deploy", "undeploy", "run"] {
        let error = project.run(&kubeconfig, &[command]).error();
        assert!(
            error.starts_with("error: the cluster here (http://127.0.0.1:1) does not answer: "),
            "{error}"
        );
        assert!(error.contains("kubewright run --embedded"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let error = project.run(&kubeconfig, &["install", "--context", "there"]).error();
    assert!(error.ends_with("has no context \"there\"; it has here"), "{error}");
    assert!(!project.was_built());
}

#[test]
fn a_mistake_in_a_kubeconfig_is_told_without_its_text() {
    const SECRET: &str = "s3cr3t-t0k3n";
    let project = TestProject::new();
    let path = project.path("kubeconfig");
    for (text, told) in [
        (
            "users:\n- name: u\n  user:\n    token: \"SECRET\n",
            "is not valid YAML at line ",
        ),
        (
            "users:\n- name: u\n  user:\n    token: SECRET\n   x: [\n",
            "is not valid YAML at line ",
        ),
        (
            "users:\n- name: u\n  user:\n    token: [SECRET]\n",
            "wrong type at line 4, column ",
        ),
        (
            "users:\n- name: u\n  user:\n    exec: SECRET\n",
            "wrong type at line 4, column ",
        ),
        ("users:\n- name: u\n  user: SECRET\n", "wrong type at line 3, column "),
        ("SECRET\n", "wrong type"),
    ] {
        project.write("kubeconfig", &text.replace("SECRET", SECRET));
        let ran = project.run(&path, &["install"]);
        assert!(!ran.stderr.contains(SECRET) && !ran.stdout.contains(SECRET), "{ran:?}");
        let error = ran.error();
        let begin = format!("error: the kubeconfig {} ", path.display());
        assert!(error.starts_with(&begin) && error.contains(told), "{text}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_dry_run_on_the_client_needs_no_cluster() {
    let project = TestProject::new();
    let nowhere = Path::new("/no/such/kubeconfig");
    let text = project
        .run(nowhere, &["install", "--dry-run=client", "-o", "yaml"])
        .fine();
    assert!(text.starts_with("---\napiVersion: apiextensions.k8s.io/v1\n"), "{text}");
    assert!(text.contains("name: boats.shop.example.com"), "{text}");
    let text = project.run(nowhere, &["install", "--dry-run=client"]).fine();
    assert_eq!(text, format!("{BOATS} would be applied (dry run)\n"));
}

#[tokio::test]
async fn a_dry_run_on_the_server_changes_nothing() {
    let (server, project) = (Server::start(), TestProject::new());
    let text = project.run(&server.kubeconfig, &["install", "--dry-run=server"]).fine();
    assert_eq!(text, format!("{BOATS} created (server dry run)\n"));
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    assert_eq!(cluster.names(&cluster.definitions()).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_definition_that_is_no_longer_part_of_the_project_stays_and_is_told_of() {
    let (server, project) = (Server::start(), TestProject::new());
    project.describe(&description(&operator(), &[boats(), kind("Oar", "oars")]));
    project.run(&server.kubeconfig, &["install"]).fine();
    ClusterClient::of(&server.kubeconfig).await.boat("red").await;
    project.describe(&description(&operator(), &[kind("Oar", "oars")]));
    let ran = project.run(&server.kubeconfig, &["install"]);
    let told = format!("! {BOATS} is no longer part of this project and stays, with 1 object;");
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    assert_eq!(ran.code, Some(0));
}

#[test]
fn what_the_cluster_refuses_is_named() {
    let (server, project) = (Server::start(), TestProject::new());
    let mut wrong = boats();
    wrong["schema"]["properties"]["spec"]["x-kubernetes-validations"] =
        serde_json::json!([{ "rule": "self.length > 3", "message": "too short" }]);
    project.describe(&description(&operator(), &[wrong]));
    let error = project.run(&server.kubeconfig, &["install"]).error();
    assert!(error.starts_with(&format!("error: {BOATS}: ")), "{error}");
    assert!(error.contains("undefined field 'length'"), "{error}");
}

#[tokio::test]
async fn definitions_with_objects_go_only_by_force() {
    let (server, project) = (Server::start(), TestProject::new());
    project.run(&server.kubeconfig, &["install"]).fine();
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    cluster.boat("red").await;
    cluster.boat("blue").await;
    assert_eq!(
        project.run(&server.kubeconfig, &["uninstall"]).error(),
        "error: 2 objects would be deleted with their definitions: 2 boats.shop.example.com; --force deletes them"
    );
    assert_eq!(cluster.names(&cluster.boats()).await.len(), 2);
    let text = project
        .run(&server.kubeconfig, &["uninstall", "--dry-run=server"])
        .fine();
    assert_eq!(text, format!("{BOATS} deleted (server dry run)\n"));
    assert_eq!(cluster.names(&cluster.boats()).await.len(), 2);

    let text = project.run(&server.kubeconfig, &["uninstall", "--force"]).fine();
    assert_eq!(text, format!("{BOATS} deleted\n"));
    assert_eq!(cluster.names(&cluster.definitions()).await, Vec::<String>::new());
    let again = project.run(&server.kubeconfig, &["uninstall"]);
    assert!(
        again.stderr.contains("none of this project's kinds is in the cluster"),
        "{again:?}"
    );
    assert_eq!(again.fine(), "");
}

#[tokio::test]
async fn an_object_that_does_not_go_is_waited_for_and_named() {
    let (server, project) = (Server::start(), TestProject::new());
    project.run(&server.kubeconfig, &["install"]).fine();
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let boat = serde_json::json!({
        "apiVersion": "shop.example.com/v1", "kind": "Boat", "spec": {},
        "metadata": { "name": "moored", "finalizers": ["shop.example.com/anchor"] },
    });
    cluster.create(&cluster.boats(), boat).await;
    let error = project
        .run(&server.kubeconfig, &["uninstall", "--force", "--timeout=1s"])
        .error();
    assert!(
        error.starts_with(&format!("error: still there after 1 seconds: {BOATS} (")),
        "{error}"
    );
}

#[tokio::test]
async fn a_definition_that_is_being_deleted_is_waited_for_and_made_anew() {
    let (server, project) = (Server::start(), TestProject::new());
    project.run(&server.kubeconfig, &["install"]).fine();
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let boat = serde_json::json!({
        "apiVersion": "shop.example.com/v1", "kind": "Boat", "spec": {},
        "metadata": { "name": "moored", "finalizers": ["shop.example.com/anchor"] },
    });
    cluster.create(&cluster.boats(), boat).await;
    let delete = kube::api::DeleteParams::default();
    cluster
        .definitions()
        .delete("boats.shop.example.com", &delete)
        .await
        .unwrap();
    let error = project.run(&server.kubeconfig, &["install", "--timeout=0s"]).error();
    assert!(
        error.starts_with(&format!("error: still there after 0 seconds: {BOATS} (")),
        "{error}"
    );
    let ran = project.run(&server.kubeconfig, &["install", "--dry-run=server"]);
    assert!(ran.stderr.contains(&format!("{BOATS} is being deleted")), "{ran:?}");

    let mut install = project.start(Some(&server.kubeconfig), &["install"]);
    install.until(&format!("Waiting until {BOATS} is gone"));
    let free = serde_json::json!({ "metadata": { "finalizers": null } });
    cluster
        .boats()
        .patch(
            "moored",
            &kube::api::PatchParams::default(),
            &kube::api::Patch::Merge(&free),
        )
        .await
        .unwrap();
    install.until(&format!("{BOATS} created"));
    let (status, said) = install.end();
    assert!(status.success(), "{said}");
    assert_eq!(cluster.names(&cluster.boats()).await, Vec::<String>::new());
}

#[tokio::test]
async fn what_would_be_deleted_can_be_printed() {
    let (server, project) = (Server::start(), TestProject::new());
    project.run(&server.kubeconfig, &["install"]).fine();
    for dry_run in ["--dry-run=client", "--dry-run=server"] {
        let text = project
            .run(&server.kubeconfig, &["uninstall", dry_run, "-o", "json"])
            .fine();
        let definition: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(definition["metadata"]["name"], "boats.shop.example.com");
    }
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    assert_eq!(cluster.names(&cluster.definitions()).await, ["boats.shop.example.com"]);
}

#[test]
fn definitions_without_objects_go_without_a_question() {
    let (server, project) = (Server::start(), TestProject::new());
    project.run(&server.kubeconfig, &["install"]).fine();
    assert_eq!(
        project.run(&server.kubeconfig, &["uninstall"]).fine(),
        format!("{BOATS} deleted\n")
    );
}

#[test]
fn a_bad_flag_is_one_sentence() {
    let project = TestProject::new();
    for (arguments, part) in [
        (&["uninstall", "--timeout=soon"][..], "write a duration such as 90s"),
        (&["install", "--timeout=soon"], "write a duration such as 90s"),
        (&["install", "-o", "xml"], "'xml' for '--output <FORMAT>'"),
        (&["install", "--dry-run=perhaps"], "'perhaps' for '--dry-run <WHERE>'"),
        (&["deploy", "--namespace=Shop"], "a namespace has at most 63"),
        (&["deploy", "--name-prefix=-"], "a prefix has at most 40"),
        (&["deploy", "--image="], "write an image such as"),
        (&["deploy", "--replicas=-1"], "'--replicas"),
        (&["deploy", "--force"], "--prune-definitions"),
        (&["deploy", "--no-prune", "--prune-definitions"], "cannot be used with"),
        (&["undeploy", "--timeout="], "'--timeout"),
        (&["run", "--webhook-host=https://me"], "write a host name or an address"),
        (&["run", "--embedded", "--context=here"], "cannot be used with"),
        (&["run", "--embedded", "--no-install"], "cannot be used with"),
        (&["run", "--controllers=deploymnt"], "did you mean \"deployment\"?"),
        (&["run", "--secure-port=many"], "'many' for '--secure-port <PORT>'"),
        (&["run", "--log-level=debug"], "unexpected argument '--log-level'"),
    ] {
        let ran = project.run(Path::new("/no/such/kubeconfig"), arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(part), "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn help_has_examples() {
    let project = TestProject::new();
    for command in ["install", "uninstall", "deploy", "undeploy", "run"] {
        let text = project.run(Path::new("/no"), &[command, "--help"]).fine();
        assert!(text.contains("Examples:\n  # "), "{text}");
        assert!(text.contains(&format!("  kubewright {command}")), "{text}");
    }
}
