//! `kubewright run` as a user meets it: against a cluster, against the embedded API server, and again at each change.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_runtime::operator::{Operator, Rule};
use kubewright_runtime::webhook::{Validator, Webhook};
use serde_json::json;

use crate::operator_project::{ClusterClient, Running, TestProject, boats, description, kind, operator};
use crate::support::Server;

const BOATS: &str = "customresourcedefinition.apiextensions.k8s.io/boats.shop.example.com";

/// The kubeconfig of an embedded API server, which is told to the user.
fn exported(run: &mut Running) -> PathBuf {
    let line = run.until("export KUBECONFIG=");
    line.trim().trim_start_matches("export KUBECONFIG=").into()
}

/// The kubeconfig the operator was given.
fn given(run: &mut Running) -> PathBuf {
    let line = run.until("up with KUBECONFIG=");
    let (_, rest) = line.split_once("KUBECONFIG=").unwrap();
    rest.split_once(" flags:").unwrap().0.into()
}

#[test]
fn the_exit_code_of_the_operator_is_passed_on() {
    let (server, project) = (Server::start(), TestProject::new());
    project.script(
        "src/operator.sh",
        "#!/bin/sh\nif [ \"$1\" = describe ]; then exec cat src/describe.json; fi\nexit 3\n",
    );
    let ran = project.run(&server.kubeconfig, &["run"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
}

#[test]
fn a_signal_reaches_the_operator_which_stops_in_order() {
    for signal in ["INT", "TERM"] {
        let (server, project) = (Server::start(), TestProject::new());
        let mut run = project.start(
            Some(&server.kubeconfig),
            &["run", "--", "--log-level=debug", "two words"],
        );
        let line = run.until("up with");
        assert!(line.contains("flags: --log-level=debug two words"), "{line}");
        run.signal(signal);
        let (status, said) = run.end();
        assert_eq!(status.code(), Some(0), "{said}");
        assert_eq!(said.matches("down in order").count(), 1, "{said}");
    }
}

#[test]
fn a_second_signal_ends_an_operator_that_does_not_listen() {
    let (server, project) = (Server::start(), TestProject::new());
    let deaf = "#!/bin/sh\nif [ \"$1\" = describe ]; then exec cat src/describe.json; fi\ntrap 'echo heard' INT TERM\n\
                echo up with nothing\nwhile :; do sleep 0.05; done\n";
    project.script("src/operator.sh", deaf);
    let mut run = project.start(Some(&server.kubeconfig), &["run"]);
    run.until("up with");
    run.signal("INT");
    run.until("heard");
    run.signal("INT");
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(128 + 9), "{said}");
}

#[test]
fn an_operator_does_not_outlive_a_command_that_is_killed() {
    let (server, project) = (Server::start(), TestProject::new());
    // The guard learns of a process right after its start: an operator takes longer than that to be up.
    let script = "#!/bin/sh\nif [ \"$1\" = describe ]; then exec cat src/describe.json; fi\n\
                  trap 'echo asked to end; exit 0' TERM\nsleep 0.5\necho up with nothing\nwhile :; do sleep 0.05; done\n";
    project.script("src/operator.sh", script);
    let mut run = project.start(Some(&server.kubeconfig), &["run"]);
    run.until("up with");
    run.signal("KILL");
    run.until("asked to end");
    let (status, _) = run.end();
    assert!(!status.success());
}

#[tokio::test]
async fn kinds_stay_in_the_cluster_and_webhooks_go_with_the_run() {
    let (server, project) = (Server::start(), TestProject::new());
    let mut run = project.start(Some(&server.kubeconfig), &["run"]);
    run.until(&format!("{BOATS} created"));
    run.until("up with");
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let webhooks = cluster
        .mutating()
        .get("shop-mutating-webhook-configuration")
        .await
        .unwrap();
    assert_eq!(
        webhooks.data["webhooks"][0]["failurePolicy"], "Ignore",
        "nobody is held up"
    );
    run.signal("INT");
    let (_, said) = run.end();
    assert!(
        said.contains("shop-mutating-webhook-configuration deleted: it was there for this run"),
        "{said}"
    );
    assert_eq!(cluster.names(&cluster.mutating()).await, Vec::<String>::new());
    assert_eq!(cluster.names(&cluster.definitions()).await, ["boats.shop.example.com"]);
}

#[tokio::test]
async fn webhooks_of_a_deployed_operator_stay() {
    let (server, project) = (Server::start(), TestProject::new());
    project
        .run(&server.kubeconfig, &["deploy", "--no-wait", "--namespace=harbour"])
        .fine();
    let mut run = project.start(Some(&server.kubeconfig), &["run"]);
    run.until("up with");
    run.signal("INT");
    run.end();
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let webhooks = cluster
        .mutating()
        .get("shop-mutating-webhook-configuration")
        .await
        .unwrap();
    assert_eq!(webhooks.data["webhooks"][0]["failurePolicy"], "Fail");
    let service = &webhooks.data["webhooks"][0]["clientConfig"]["service"];
    assert_eq!(service["namespace"], "harbour");
    // It still belongs to the deploy, and goes with it.
    project
        .run(&server.kubeconfig, &["undeploy", "--namespace=harbour"])
        .fine();
    assert_eq!(cluster.names(&cluster.mutating()).await, Vec::<String>::new());
}

#[tokio::test]
async fn webhooks_that_a_lost_run_redirected_return_to_their_own_service() {
    let (server, project) = (Server::start(), TestProject::new());
    project
        .run(&server.kubeconfig, &["deploy", "--no-wait", "--namespace=harbour"])
        .fine();
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let name = "shop-mutating-webhook-configuration";
    let mut webhooks = cluster.mutating().get(name).await.unwrap().data["webhooks"].clone();
    let before = json!({ "clientConfig": webhooks[0]["clientConfig"], "failurePolicy": "Fail" });
    let webhook = webhooks[0]["name"].as_str().unwrap();
    let saved = json!({ "holder": "me", "until": "2026-01-01T00:00:00Z", "url": "https://me:9443",
        "webhooks": { webhook: before } });
    webhooks[0]["clientConfig"] = json!({ "url": "https://me:9443/x", "caBundle": "eA==" });
    let annotations = json!({ "kubewright.dev/local-run": saved.to_string() });
    let patch = json!({ "metadata": { "annotations": annotations }, "webhooks": webhooks });
    let patch = kube::api::Patch::Merge(&patch);
    let somebody = kube::api::PatchParams {
        field_manager: Some("somebody".to_owned()),
        ..Default::default()
    };
    cluster.mutating().patch(name, &somebody, &patch).await.unwrap();

    let mut run = project.start(Some(&server.kubeconfig), &["run"]);
    run.until("up with");
    let live = cluster.mutating().get(name).await.unwrap();
    let service = &live.data["webhooks"][0]["clientConfig"]["service"];
    assert_eq!(service["namespace"], "harbour", "{:?}", live.data);
    assert!(
        live.metadata
            .labels
            .unwrap()
            .contains_key("applyset.kubernetes.io/part-of")
    );
}

#[tokio::test]
async fn deployed_webhooks_stay_even_if_the_code_has_them_no_longer() {
    let (server, project) = (Server::start(), TestProject::new());
    project.run(&server.kubeconfig, &["deploy", "--no-wait"]).fine();
    let mut run = project.start(Some(&server.kubeconfig), &["run", "--watch"]);
    run.until("up with");
    project.describe(&description(&Operator::new("shop"), &[boats()]));
    // What the command says and what the operator says come through two pipes, in any order.
    run.until("shop-mutating-webhook-configuration is no longer rendered and stays until the next deploy");
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    assert_eq!(cluster.names(&cluster.mutating()).await.len(), 1);
}

#[tokio::test]
async fn webhooks_that_a_deploy_takes_over_meanwhile_stay() {
    let (server, project) = (Server::start(), TestProject::new());
    let mut run = project.start(Some(&server.kubeconfig), &["run"]);
    run.until("up with");
    project.run(&server.kubeconfig, &["deploy", "--no-wait"]).fine();
    run.signal("INT");
    let (_, said) = run.end();
    assert!(!said.contains("it was there for this run"), "{said}");
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let webhooks = cluster
        .mutating()
        .get("shop-mutating-webhook-configuration")
        .await
        .unwrap();
    assert_eq!(webhooks.data["webhooks"][0]["failurePolicy"], "Fail");
}

#[tokio::test]
async fn an_installation_that_fails_leaves_no_webhooks_behind() {
    struct Keep;
    impl Validator<ConfigMap> for Keep {}
    let (server, project) = (Server::start(), TestProject::new());
    let operator = operator().webhook(Webhook::of::<ConfigMap>().validator(Keep));
    let mut wrong = description(&operator, &[boats()]);
    let webhooks = wrong["webhooks"].as_array_mut().unwrap();
    assert_eq!(webhooks.len(), 2);
    // The server refuses this one, after it has taken the other.
    webhooks[1]["timeoutSeconds"] = 99.into();
    project.describe(&wrong);
    let ran = project.run(&server.kubeconfig, &["run"]);
    assert!(
        ran.stderr
            .contains("shop-mutating-webhook-configuration deleted: it was there for this run"),
        "{}",
        ran.stderr
    );
    let error = ran.error();
    assert!(error.contains("shop-validating-webhook-configuration"), "{error}");
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    assert_eq!(cluster.names(&cluster.mutating()).await, Vec::<String>::new());
}

#[test]
fn a_cluster_that_hangs_does_not_hold_up_the_end() {
    let (server, project) = (Server::start(), TestProject::new());
    let mut run = project.start(Some(&server.kubeconfig), &["run"]);
    run.until("up with");
    server.signal("STOP");
    run.signal("INT");
    run.until("down in order");
    run.signal("INT");
    let (_, said) = run.end();
    assert!(
        said.contains("shop-mutating-webhook-configuration may still be there, since the cluster does not answer"),
        "{said}"
    );
}

#[test]
fn a_cluster_that_hangs_while_a_change_is_applied_does_not_either() {
    let (server, project) = (Server::start(), TestProject::new());
    let mut run = project.start(Some(&server.kubeconfig), &["run", "--watch"]);
    run.until("up with");
    server.signal("STOP");
    project.describe(&description(&operator(), &[boats(), kind("Oar", "oars")]));
    run.until("down in order");
    run.until("Applying what changed");
    run.signal("INT");
    run.signal("TERM");
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(said.contains("may still be there"), "{said}");
}

#[tokio::test]
async fn nothing_is_installed_if_nothing_is_to_be() {
    let (server, project) = (Server::start(), TestProject::new());
    let mut run = project.start(Some(&server.kubeconfig), &["run", "--no-install"]);
    run.until("up with");
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    assert_eq!(cluster.names(&cluster.definitions()).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_context_that_was_chosen_reaches_the_operator() {
    let (server, project) = (Server::start(), TestProject::new());
    let flags = ["run", "--context=kubewright", "--kubeconfig"];
    let kubeconfig = server.kubeconfig.to_str().unwrap();
    let mut run = project.start(None, &[&flags[..], &[kubeconfig]].concat());
    let path = given(&mut run);
    assert_ne!(path, server.kubeconfig);
    let cluster = ClusterClient::of(&path).await;
    assert_eq!(cluster.names(&cluster.definitions()).await, ["boats.shop.example.com"]);
    run.signal("INT");
    run.end();
    assert!(!path.exists(), "it holds a key");
}

#[tokio::test]
async fn without_any_cluster_the_embedded_server_takes_its_place() {
    let project = TestProject::new();
    let mut run = project.start(None, &["run"]);
    run.until("no cluster is configured: an embedded API server takes its place");
    let kubeconfig = exported(&mut run);
    run.until("up with");
    let cluster = ClusterClient::of(&kubeconfig).await;
    assert_eq!(cluster.names(&cluster.definitions()).await, ["boats.shop.example.com"]);
    let folder = kubeconfig.parent().unwrap().metadata().unwrap();
    assert_eq!(folder.permissions().mode() & 0o777, 0o700, "it holds a key");
    assert_eq!(
        cluster.names(&cluster.deployments()).await,
        Vec::<String>::new(),
        "the manager runs here"
    );
    run.signal("TERM");
    let (status, _) = run.end();
    assert_eq!(status.code(), Some(0));
    assert!(!kubeconfig.exists());
}

#[tokio::test]
async fn at_the_embedded_server_the_operator_has_its_own_rights_and_no_others() {
    let project = TestProject::new();
    let mut run = project.start(None, &["run", "--embedded"]);
    exported(&mut run);
    let cluster = ClusterClient::of(&given(&mut run)).await;
    // Its controller reads these.
    cluster.names(&cluster.config_maps("default")).await;
    let refused = cluster
        .deployments()
        .list(&kube::api::ListParams::default())
        .await
        .unwrap_err();
    let kube::Error::Api(status) = refused else {
        panic!("{refused}");
    };
    assert_eq!(status.code, 403);
    assert!(
        status
            .message
            .contains("system:serviceaccount:shop-system:shop-controller-manager"),
        "{}",
        status.message
    );
    let told = run.until("the operator may not list deployments of apps");
    assert!(
        told.contains("#[rbac(groups = \"apps\", resources = \"deployments\", verbs = \"list\")]"),
        "{told}"
    );
}

#[tokio::test]
async fn deployments_come_to_life_at_the_embedded_server() {
    let project = TestProject::new();
    project.describe(&description(&Operator::new("shop"), &[]));
    let web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: default}\nspec:\n  selector: {matchLabels: \
               {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: nginx}]}\n";
    project.write("config/samples/web.yaml", web);
    let mut run = project.start(None, &["run", "--embedded", "--samples"]);
    let kubeconfig = exported(&mut run);
    run.until("sample deployment.apps/web created");
    let cluster = ClusterClient::of(&kubeconfig).await;
    cluster
        .until(
            &cluster.of_kind("apps", "v1", "Deployment", Some("default")),
            "web",
            |web| web.data["status"]["availableReplicas"] == 1,
        )
        .await;
    run.signal("INT");
    assert_eq!(run.end().0.code(), Some(0));
}

#[tokio::test]
async fn samples_are_applied_if_asked_for() {
    let project = TestProject::new();
    project.describe(&description(&Operator::new("shop"), &[boats()]));
    let boat = "apiVersion: shop.example.com/v1\nkind: Boat\nmetadata:\n  name: boat-sample\nspec:\n  colour: red\n";
    project.write("config/samples/shop_v1_boat.yaml", boat);
    project.write("config/samples/kustomization.yaml", "resources:\n- shop_v1_boat.yaml\n");
    let mut run = project.start(None, &["run", "--embedded", "--samples", "--watch"]);
    let kubeconfig = exported(&mut run);
    run.until("sample boat.shop.example.com/boat-sample created");
    let cluster = ClusterClient::of(&kubeconfig).await;
    assert_eq!(cluster.names(&cluster.boats()).await, ["boat-sample"]);
    project.write("config/samples/shop_v1_boat.yaml", &boat.replace("red", "blue"));
    run.until("changed: config/samples/shop_v1_boat.yaml");
    run.until("sample boat.shop.example.com/boat-sample configured");
    assert_eq!(
        cluster.boats().get("boat-sample").await.unwrap().data["spec"]["colour"],
        "blue"
    );
}

#[tokio::test]
async fn a_saved_file_builds_installs_and_starts_again() {
    let project = TestProject::new();
    let mut run = project.start(None, &["run", "--embedded", "--watch"]);
    let kubeconfig = exported(&mut run);
    run.until("up with");
    let cluster = ClusterClient::of(&kubeconfig).await;

    // Another kind, and another program.
    let script = std::fs::read_to_string(project.path("src/operator.sh")).unwrap();
    project.describe(&description(&operator(), &[boats(), kind("Oar", "oars")]));
    project.write("src/operator.sh", &script.replace("up with", "two up with"));
    run.until("changed: src/");
    run.until("down in order");
    run.until("customresourcedefinition.apiextensions.k8s.io/oars.shop.example.com created");
    run.until("two up with");
    assert_eq!(cluster.names(&cluster.definitions()).await.len(), 2);

    // A mistake leaves the one that runs alone.
    project.write("src/operator.sh", "MISTAKE");
    run.until("error[E0425]: cannot find value");
    run.until("the operator built before goes on");
    project.write("src/operator.sh", &script.replace("up with", "three up with"));
    run.until("down in order");
    run.until("three up with");
    run.signal("INT");
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(0), "{said}");
    assert_eq!(said.matches("down in order").count(), 3, "{said}");
}

#[tokio::test]
async fn changed_roles_and_webhooks_are_applied_and_told_of() {
    let project = TestProject::new();
    let mut run = project.start(None, &["run", "--embedded", "--watch"]);
    let kubeconfig = exported(&mut run);
    run.until("up with");
    let rule = Rule::new(["apps"], ["deployments"], ["create"]);
    project.describe(&description(&Operator::new("shop").rule(rule), &[boats()]));
    run.until("changed: src/describe.json");
    run.until("clusterrole.rbac.authorization.k8s.io/shop-manager-role configured");
    run.until("shop-mutating-webhook-configuration deleted");
    run.until("up with");
    let cluster = ClusterClient::of(&kubeconfig).await;
    let roles = cluster.of_kind("rbac.authorization.k8s.io", "v1", "ClusterRole", None);
    let manager = roles.get("shop-manager-role").await.unwrap();
    assert!(
        manager.data["rules"].to_string().contains("deployments"),
        "{:?}",
        manager.data
    );
    assert_eq!(cluster.names(&cluster.mutating()).await, Vec::<String>::new());
}

#[test]
fn an_operator_that_ends_is_started_again_by_the_next_change() {
    let project = TestProject::new();
    let script = std::fs::read_to_string(project.path("src/operator.sh")).unwrap();
    project.script(
        "src/operator.sh",
        "#!/bin/sh\nif [ \"$1\" = describe ]; then exec cat src/describe.json; fi\nexit 7\n",
    );
    let mut run = project.start(None, &["run", "--embedded", "--watch"]);
    run.until("the operator ended with exit code 7; the next change starts it again");
    project.write("src/operator.sh", &script);
    run.until("up with");
    run.signal("INT");
    assert_eq!(run.end().0.code(), Some(0));
}

#[test]
fn a_first_build_that_fails_waits_for_a_change() {
    let project = TestProject::new();
    let script = std::fs::read_to_string(project.path("src/operator.sh")).unwrap();
    project.write("src/operator.sh", "MISTAKE");
    let mut run = project.start(None, &["run", "--embedded", "--watch"]);
    run.until("error[E0425]");
    run.until("the next change builds again");
    project.write("src/operator.sh", &script);
    run.until("up with");
    // Without watching it is the end.
    project.write("src/operator.sh", "MISTAKE");
    let ran = project.command(None, &["run", "--embedded"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(1));
}

/// Asserts that the sample went through the operator's webhook, which is called on this machine.
async fn assert_defaulted(cluster: &ClusterClient) {
    let made = cluster.config_maps("default").get("sample").await.unwrap();
    assert_eq!(
        json!(made.metadata.labels),
        json!({ "shop.example.com/defaulted": "true" })
    );
    let webhooks = cluster
        .mutating()
        .get("shop-mutating-webhook-configuration")
        .await
        .unwrap();
    let url = webhooks.data["webhooks"][0]["clientConfig"]["url"]
        .as_str()
        .unwrap_or_default();
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
}

#[tokio::test]
async fn a_real_operator_answers_webhooks_on_this_machine() {
    let project = TestProject::real();
    let mut run = project.start(None, &["run", "--embedded", "--samples"]);
    let kubeconfig = exported(&mut run);
    run.until("sample configmap/sample created");
    assert_defaulted(&ClusterClient::of(&kubeconfig).await).await;
    run.signal("INT");
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(
        !said.contains("may not"),
        "it needs no more than its role allows: {said}"
    );
}

#[tokio::test]
async fn in_a_cluster_samples_wait_for_the_webhooks_too() {
    let (server, project) = (Server::start(), TestProject::real());
    let mut run = project.start(Some(&server.kubeconfig), &["run", "--samples"]);
    run.until("sample configmap/sample created");
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    assert_defaulted(&cluster).await;
    run.signal("INT");
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(0), "{said}");
    assert_eq!(cluster.names(&cluster.mutating()).await, Vec::<String>::new());
}
