//! `kubewright deploy` and `undeploy` as a user meets them, on the embedded API server.
#![cfg(unix)]

use std::path::Path;

use kubewright_runtime::operator::Operator;
use serde_json::{Value, json};

use crate::operator_project::{ClusterClient, TestProject, boats, description, kind, operator};
use crate::support::Server;

const MANAGER: &str = "shop-controller-manager";
const DEPLOYMENT: &str = "deployment.apps/shop-controller-manager";

/// A rollout that has ended well.
fn rolled_out(generation: i64) -> Value {
    json!({ "observedGeneration": generation, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1 })
}

#[tokio::test]
async fn everything_is_applied_in_order_and_remembered() {
    let (server, project) = (Server::start(), TestProject::new());
    let text = project
        .run(&server.kubeconfig, &["deploy", "--image=shop:dev", "--no-wait"])
        .fine();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..2],
        [
            "namespace/shop-system created",
            "customresourcedefinition.apiextensions.k8s.io/boats.shop.example.com created"
        ]
    );
    assert!(
        lines.contains(&"serviceaccount/shop-controller-manager created"),
        "{text}"
    );
    assert!(
        lines.contains(&"clusterrole.rbac.authorization.k8s.io/shop-manager-role created"),
        "{text}"
    );
    assert!(lines.iter().all(|line| line.ends_with(" created")), "{text}");
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let deployment = cluster.deployments().get(MANAGER).await.unwrap();
    let container = &deployment.data["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "shop:dev");

    let inventory = cluster.config_maps("shop-system").get("shop-inventory").await.unwrap();
    let id = inventory.metadata.labels.unwrap()["applyset.kubernetes.io/id"].clone();
    let annotations = inventory.metadata.annotations.unwrap();
    let kinds = &annotations["applyset.kubernetes.io/contains-group-kinds"];
    assert!(
        kinds.contains("Deployment.apps") && kinds.contains("ServiceAccount"),
        "{kinds}"
    );
    assert!(
        !kinds.contains("Namespace") && !kinds.contains("CustomResourceDefinition"),
        "{kinds}"
    );
    assert_eq!(
        deployment.metadata.labels.unwrap()["applyset.kubernetes.io/part-of"],
        id
    );
}

#[tokio::test]
async fn a_second_deploy_changes_nothing_but_rolls_the_manager() {
    let (server, project) = (Server::start(), TestProject::new());
    let deploy = |more: &[&str]| {
        let arguments = [&["deploy", "--no-wait"], more].concat();
        project.run(&server.kubeconfig, &arguments).fine()
    };
    deploy(&["--image=shop:dev"]);
    let text = deploy(&["--image=shop:dev"]);
    let (restarted, unchanged): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.ends_with(" restarted"));
    assert_eq!(restarted, [format!("{DEPLOYMENT} restarted")]);
    assert!(unchanged.iter().all(|line| line.ends_with(" unchanged")), "{text}");

    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let generation = async || cluster.deployments().get(MANAGER).await.unwrap().metadata.generation;
    let template = cluster.deployments().get(MANAGER).await.unwrap().data["spec"]["template"].clone();
    assert!(template["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"].is_string());
    assert_eq!(generation().await, Some(2));
    let text = deploy(&["--image=shop:dev", "--no-restart"]);
    assert!(text.lines().all(|line| line.ends_with(" unchanged")), "{text}");
    assert_eq!(generation().await, Some(2));
    // Another image rolls by itself.
    let text = deploy(&["--image=shop:next"]);
    assert!(
        text.contains(&format!("{DEPLOYMENT} configured")) && !text.contains("restarted"),
        "{text}"
    );
}

#[tokio::test]
async fn what_is_no_longer_rendered_is_pruned_but_never_definitions() {
    let (server, project) = (Server::start(), TestProject::new());
    project.describe(&description(&operator(), &[boats(), kind("Oar", "oars")]));
    let arguments = ["deploy", "--no-wait"];
    project.run(&server.kubeconfig, &arguments).fine();
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    assert_eq!(
        cluster.names(&cluster.mutating()).await,
        ["shop-mutating-webhook-configuration"]
    );
    cluster.boat("red").await;

    project.describe(&description(&Operator::new("shop"), &[kind("Oar", "oars")]));
    let ran = project.run(&server.kubeconfig, &arguments);
    assert!(
        ran.stderr
            .contains("boats.shop.example.com is no longer part of this project and stays, with 1 object"),
        "{}",
        ran.stderr
    );
    let text = ran.fine();
    for pruned in [
        "mutatingwebhookconfiguration.admissionregistration.k8s.io/shop-mutating-webhook-configuration pruned",
        "service/shop-webhook-service pruned",
    ] {
        assert!(text.lines().any(|line| line == pruned), "{pruned} is not in\n{text}");
    }
    assert_eq!(cluster.names(&cluster.mutating()).await, Vec::<String>::new());
    assert_eq!(cluster.names(&cluster.definitions()).await.len(), 2);

    let error = project
        .run(&server.kubeconfig, &["deploy", "--no-wait", "--prune-definitions"])
        .error();
    assert!(error.contains("1 object would be deleted"), "{error}");
    let text = project
        .run(
            &server.kubeconfig,
            &["deploy", "--no-wait", "--prune-definitions", "--force"],
        )
        .fine();
    assert!(text.contains("boats.shop.example.com deleted"), "{text}");
    assert_eq!(cluster.names(&cluster.definitions()).await, ["oars.shop.example.com"]);
}

#[tokio::test]
async fn objects_of_others_are_never_pruned() {
    let (server, project) = (Server::start(), TestProject::new());
    project.run(&server.kubeconfig, &["deploy", "--no-wait"]).fine();
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let configs = cluster.config_maps("shop-system");
    let mine = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "mine" } });
    // The operator's webhook is not there to answer.
    cluster
        .mutating()
        .delete(
            "shop-mutating-webhook-configuration",
            &kube::api::DeleteParams::default(),
        )
        .await
        .unwrap();
    cluster.create(&configs, mine).await;
    project.describe(&description(&Operator::new("shop"), &[]));
    project.run(&server.kubeconfig, &["deploy", "--no-wait"]).fine();
    assert!(cluster.names(&configs).await.contains(&"mine".to_owned()));
}

#[tokio::test]
async fn it_waits_until_the_manager_runs_and_tells_what_it_waits_for() {
    let (server, project) = (Server::start(), TestProject::new());
    project.describe(&description(&Operator::new("shop"), &[]));
    let mut deploy = project.start(Some(&server.kubeconfig), &["deploy", "--image=shop:dev"]);
    deploy.until(&format!("{DEPLOYMENT} created"));
    deploy.until("waiting for the cluster to look at it");
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let pods = cluster.of_kind("", "v1", "Pod", Some("shop-system"));
    let template = cluster.deployments().get(MANAGER).await.unwrap().data["spec"]["template"].clone();
    let mut pod =
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"], "spec": template["spec"] });
    pod["metadata"]["name"] = "shop-1".into();
    cluster.create(&pods, pod).await;
    let waiting = json!({ "phase": "Pending", "containerStatuses": [{
        "name": "manager", "image": "shop:dev", "imageID": "", "ready": false, "restartCount": 0,
        "state": { "waiting": { "reason": "ErrImageNeverPull", "message": "Container image \"shop:dev\" is not present" } },
    }] });
    cluster.set_status(&pods, "shop-1", &waiting).await;
    let made = json!({ "observedGeneration": 1, "replicas": 1, "updatedReplicas": 1 });
    cluster.set_status(&cluster.deployments(), MANAGER, &made).await;
    let line = deploy.until("ErrImageNeverPull");
    assert!(
        line.contains("0 of 1 replicas available; pod/shop-1: ErrImageNeverPull (Container image \"shop:dev\" is not present; is the image"),
        "{line}"
    );
    cluster
        .set_status(&cluster.deployments(), MANAGER, &rolled_out(1))
        .await;
    let (status, said) = deploy.end();
    assert!(status.success(), "{said}");
    assert!(
        said.contains(&format!("✓ Waiting until {DEPLOYMENT} runs: 1 available (")),
        "{said}"
    );
    assert!(
        said.contains("kubectl -n shop-system logs deployment/shop-controller-manager -f"),
        "{said}"
    );
}

#[test]
fn a_manager_that_does_not_run_in_time_is_an_error_that_says_why() {
    let (server, project) = (Server::start(), TestProject::new());
    let ran = project.run(&server.kubeconfig, &["deploy", "--timeout=1s"]);
    assert_eq!(
        ran.error(),
        format!("error: {DEPLOYMENT} does not run after 1.0s: waiting for the cluster to look at it")
    );
}

/// cert-manager's kinds, without cert-manager.
async fn define_certificates(cluster: &ClusterClient) {
    for (kind, plural) in [("Certificate", "certificates"), ("Issuer", "issuers")] {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.cert-manager.io") },
            "spec": {
                "group": "cert-manager.io", "scope": "Namespaced", "names": { "kind": kind, "plural": plural },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                } } }],
            },
        });
        cluster.create(&cluster.definitions(), definition).await;
    }
}

#[tokio::test]
async fn a_certificate_nobody_issues_is_told_of() {
    let (server, project) = (Server::start(), TestProject::new());
    project.write(
        "PROJECT",
        "domain: example.com\nprojectName: shop\nversion: \"3\"\nplugins:\n  kubewright.dev/v1:\n    certManager: true\n",
    );
    let error = project.run(&server.kubeconfig, &["deploy", "--no-wait"]).error();
    assert!(
        error.contains("the cluster has no kind Certificate in cert-manager.io/v1; install cert-manager"),
        "{error}"
    );
    assert!(error.contains("kubewright edit --cert-manager=false"), "{error}");

    let cluster = ClusterClient::of(&server.kubeconfig).await;
    define_certificates(&cluster).await;
    let mut deploy = project.start(Some(&server.kubeconfig), &["deploy"]);
    deploy.until(DEPLOYMENT);
    deploy.until("Waiting until");
    let deployment = cluster.deployments().get(MANAGER).await.unwrap();
    let template = &deployment.data["spec"]["template"];
    let mut pod =
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"], "spec": template["spec"] });
    pod["metadata"]["name"] = "shop-1".into();
    let pods = cluster.of_kind("", "v1", "Pod", Some("shop-system"));
    cluster.create(&pods, pod).await;
    let line = deploy.until("is cert-manager running?");
    assert!(
        line.contains("secret/") && line.contains("certificate.cert-manager.io/"),
        "{line}"
    );
}

#[tokio::test]
async fn undeploy_takes_what_deploy_brought_and_leaves_users_data() {
    let (server, project) = (Server::start(), TestProject::new());
    project.run(&server.kubeconfig, &["deploy", "--no-wait"]).fine();
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    cluster.boat("red").await;
    std::fs::remove_file(project.path("cargo.log")).unwrap();

    let text = project
        .run(&server.kubeconfig, &["undeploy", "--dry-run=server"])
        .fine();
    assert!(
        text.lines().all(|line| line.ends_with(" deleted (server dry run)")),
        "{text}"
    );
    assert!(cluster.deployments().get_opt(MANAGER).await.unwrap().is_some());

    let ran = project.run(&server.kubeconfig, &["undeploy"]);
    assert!(
        ran.stderr.contains("namespace/shop-system stays (--delete-namespace)"),
        "{}",
        ran.stderr
    );
    let text = ran.fine();
    let at = |what: &str| {
        text.lines()
            .position(|line| line.starts_with(what))
            .unwrap_or_else(|| panic!("{what}: {text}"))
    };
    assert!(
        at("mutatingwebhookconfiguration") < at("deployment") && at("deployment") < at("serviceaccount"),
        "{text}"
    );
    assert_eq!(text.lines().last(), Some("configmap/shop-inventory deleted"));
    assert!(!project.was_built(), "the inventory knows what there is");
    assert_eq!(cluster.deployments().get_opt(MANAGER).await.unwrap().map(|_| ()), None);
    assert_eq!(cluster.names(&cluster.boats()).await, ["red"]);

    let again = project.run(&server.kubeconfig, &["undeploy"]);
    assert!(
        again.stderr.contains("nothing of shop is deployed in shop-system"),
        "{}",
        again.stderr
    );
    assert_eq!(again.code, Some(0));
}

#[tokio::test]
async fn undeploy_deletes_definitions_only_if_asked_and_by_force() {
    let (server, project) = (Server::start(), TestProject::new());
    project.run(&server.kubeconfig, &["deploy", "--no-wait"]).fine();
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    cluster.boat("red").await;
    let error = project
        .run(&server.kubeconfig, &["undeploy", "--delete-definitions"])
        .error();
    assert!(
        error.contains("1 object would be deleted with their definitions"),
        "{error}"
    );
    assert!(
        cluster.deployments().get_opt(MANAGER).await.unwrap().is_some(),
        "nothing was deleted"
    );
    let text = project
        .run(&server.kubeconfig, &["undeploy", "--delete-definitions", "--force"])
        .fine();
    assert!(
        text.starts_with("customresourcedefinition.apiextensions.k8s.io/boats.shop.example.com deleted\n"),
        "{text}"
    );
    assert_eq!(cluster.names(&cluster.definitions()).await, Vec::<String>::new());
}

#[tokio::test]
async fn what_was_applied_by_other_means_is_undeployed_as_well() {
    let (server, project) = (Server::start(), TestProject::new());
    project.run(&server.kubeconfig, &["deploy", "--no-wait"]).fine();
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let configs = cluster.config_maps("shop-system");
    configs
        .delete("shop-inventory", &kube::api::DeleteParams::default())
        .await
        .unwrap();
    let ran = project.run(&server.kubeconfig, &["undeploy"]);
    assert!(
        ran.stderr.contains("there is no inventory in shop-system"),
        "{}",
        ran.stderr
    );
    assert!(ran.fine().contains(&format!("{DEPLOYMENT} deleted")));
    assert!(cluster.deployments().get_opt(MANAGER).await.unwrap().is_none());
}

#[tokio::test]
async fn an_inventory_of_another_tool_is_left_alone() {
    let (server, project) = (Server::start(), TestProject::new());
    project.describe(&description(&Operator::new("shop"), &[]));
    project.run(&server.kubeconfig, &["deploy", "--no-wait"]).fine();
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let configs = cluster.config_maps("shop-system");
    let patch = json!({ "metadata": { "annotations": { "applyset.kubernetes.io/tooling": "kubectl/v1.36" } } });
    configs
        .patch(
            "shop-inventory",
            &kube::api::PatchParams::default(),
            &kube::api::Patch::Merge(&patch),
        )
        .await
        .unwrap();
    for command in [&["deploy", "--no-wait"][..], &["undeploy"]] {
        let error = project.run(&server.kubeconfig, command).error();
        assert!(error.contains("it is managed by kubectl/v1.36"), "{error}");
    }
}

#[test]
fn namespace_replicas_and_prefix_are_the_users() {
    let project = TestProject::new();
    project.describe(&description(&Operator::new("shop"), &[]));
    let nowhere = Path::new("/no/such/kubeconfig");
    let arguments = [
        "deploy",
        "--dry-run=client",
        "-o",
        "json",
        "--namespace=harbour",
        "--name-prefix=pier-",
        "--replicas=3",
        "--image=a/b:c",
    ];
    let list: Value = serde_json::from_str(&project.run(nowhere, &arguments).fine()).unwrap();
    let items = list["items"].as_array().unwrap();
    let deployment = items.iter().find(|object| object["kind"] == "Deployment").unwrap();
    assert_eq!(deployment["metadata"]["name"], "pier-controller-manager");
    assert_eq!(deployment["metadata"]["namespace"], "harbour");
    assert_eq!(deployment["spec"]["replicas"], 3);
    assert_eq!(
        deployment["spec"]["template"]["spec"]["containers"][0]["image"],
        "a/b:c"
    );
}

#[test]
fn a_dry_run_on_the_server_says_what_it_could_not_check() {
    let (server, project) = (Server::start(), TestProject::new());
    let text = project.run(&server.kubeconfig, &["deploy", "--dry-run=server"]).fine();
    assert!(
        text.starts_with("namespace/shop-system created (server dry run)\n"),
        "{text}"
    );
    assert!(
        text.contains(&format!(
            "{DEPLOYMENT} created (not checked: its namespace or kind is not there yet) (server dry run)\n"
        )),
        "{text}"
    );
    let text = project.run(&server.kubeconfig, &["undeploy"]);
    assert!(text.stderr.contains("nothing of shop"), "{text:?}");
}

#[tokio::test]
async fn with_controllers_it_runs_rolls_and_goes_without_a_trace() {
    let (server, project) = (Server::start_with(&["--controllers=all"]), TestProject::new());
    project.describe(&description(&Operator::new("shop"), &[boats()]));
    let ran = project.run(&server.kubeconfig, &["deploy", "--replicas=2"]);
    assert!(ran.stderr.contains("runs: 2 available"), "{ran:?}");
    ran.fine();
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let sets = cluster.of_kind("apps", "v1", "ReplicaSet", Some("shop-system"));
    assert_eq!(cluster.names(&sets).await.len(), 1);

    let again = project.run(&server.kubeconfig, &["deploy", "--replicas=2"]).fine();
    assert!(again.contains(&format!("{DEPLOYMENT} restarted")), "{again}");
    assert_eq!(cluster.names(&sets).await.len(), 2, "the manager was rolled");

    project
        .run(
            &server.kubeconfig,
            &["undeploy", "--delete-namespace", "--delete-definitions"],
        )
        .fine();
    let namespaces = cluster.of_kind("", "v1", "Namespace", None);
    assert!(!cluster.names(&namespaces).await.contains(&"shop-system".to_owned()));
}

#[tokio::test]
async fn what_others_wrote_into_webhooks_is_no_hindrance() {
    let (server, project) = (Server::start(), TestProject::new());
    project.run(&server.kubeconfig, &["deploy", "--no-wait"]).fine();
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    // A manager writes its caBundle, and a run on somebody's machine an address of its own.
    let name = "shop-mutating-webhook-configuration";
    let live = cluster.mutating().get(name).await.unwrap();
    let mut webhooks = live.data["webhooks"].clone();
    let before = json!({ "clientConfig": webhooks[0]["clientConfig"], "failurePolicy": "Fail" });
    let saved = json!({ "holder": "me", "until": "2026-01-01T00:00:00Z", "url": "https://me:9443",
        "webhooks": { "mconfigmap.kb.io": before } });
    webhooks[0]["clientConfig"] = json!({ "url": "https://me:9443/x", "caBundle": "eA==" });
    webhooks[0]["failurePolicy"] = "Ignore".into();
    let mut other = webhooks[0].clone();
    other["name"] = "gone.shop.example.com".into();
    webhooks.as_array_mut().unwrap().push(other);
    let annotations = json!({ "kubewright.dev/local-run": saved.to_string() });
    let patch = json!({ "metadata": { "annotations": annotations }, "webhooks": webhooks });
    let manager = kube::api::PatchParams {
        field_manager: Some("somebody".to_owned()),
        ..Default::default()
    };
    cluster
        .mutating()
        .patch(name, &manager, &kube::api::Patch::Merge(&patch))
        .await
        .unwrap();

    let ran = project.run(&server.kubeconfig, &["deploy", "--no-wait"]);
    assert!(
        ran.stderr
            .contains("were called on somebody's machine by `kubewright run`"),
        "{}",
        ran.stderr
    );
    assert!(ran.fine().contains("shop-mutating-webhook-configuration configured"));
    let live = cluster.mutating().get(name).await.unwrap();
    let webhooks = live.data["webhooks"].as_array().unwrap();
    assert_eq!(webhooks.len(), 1);
    assert_eq!(webhooks[0]["clientConfig"]["service"]["name"], "shop-webhook-service");
    assert_eq!(webhooks[0]["failurePolicy"], "Fail");
}

#[tokio::test]
async fn undeploy_never_takes_what_another_installation_has() {
    let (server, project) = (Server::start(), TestProject::new());
    project.describe(&description(&Operator::new("shop"), &[]));
    project
        .run(&server.kubeconfig, &["deploy", "--no-wait", "--namespace=harbour"])
        .fine();
    let ran = project.run(&server.kubeconfig, &["undeploy"]);
    assert!(
        ran.stderr
            .contains("shop-metrics-reader belongs to another installation and stays"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.fine(), "");
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let roles = cluster.of_kind("rbac.authorization.k8s.io", "v1", "ClusterRole", None);
    assert!(roles.get_opt("shop-metrics-reader").await.unwrap().is_some());
    let text = project
        .run(&server.kubeconfig, &["undeploy", "--namespace=harbour"])
        .fine();
    assert!(text.contains("shop-metrics-reader deleted"), "{text}");
}

#[tokio::test]
async fn a_dry_run_on_the_server_tells_what_would_be_pruned() {
    let (server, project) = (Server::start(), TestProject::new());
    project.describe(&description(&operator(), &[boats(), kind("Oar", "oars")]));
    project.run(&server.kubeconfig, &["deploy", "--no-wait"]).fine();
    project.describe(&description(&Operator::new("shop"), &[boats()]));
    let dry_run = ["deploy", "--dry-run=server"];
    let ran = project.run(&server.kubeconfig, &dry_run);
    assert!(
        ran.stderr
            .contains("oars.shop.example.com is no longer part of this project and stays"),
        "{}",
        ran.stderr
    );
    let text = ran.fine();
    let pruned: Vec<&str> = text.lines().filter(|line| line.contains(" pruned")).collect();
    for wanted in [
        "mutatingwebhookconfiguration.admissionregistration.k8s.io/shop-mutating-webhook-configuration pruned (server dry run)",
        "service/shop-webhook-service pruned (server dry run)",
    ] {
        assert!(pruned.contains(&wanted), "{wanted} is not in\n{text}");
    }
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    assert_eq!(cluster.names(&cluster.mutating()).await.len(), 1, "nothing is deleted");
    let text = project
        .run(&server.kubeconfig, &[&dry_run[..], &["--no-prune"]].concat())
        .fine();
    assert!(!text.contains("pruned"), "{text}");

    // It tells what a deploy then does.
    let text = project.run(&server.kubeconfig, &["deploy", "--no-wait"]).fine();
    let really: Vec<String> = text
        .lines()
        .filter(|line| line.ends_with(" pruned"))
        .map(|line| format!("{line} (server dry run)"))
        .collect();
    assert_eq!(really, pruned);
}

#[tokio::test]
async fn undeploy_takes_no_certificates_but_the_operators_own() {
    let (server, project) = (Server::start(), TestProject::new());
    project.run(&server.kubeconfig, &["deploy", "--no-wait"]).fine();
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let secrets = cluster.of_kind("", "v1", "Secret", Some("shop-system"));
    for name in ["shop-webhook-service-cert", "harbour-webhook-service-cert"] {
        let labels = json!({ "kubewright.dev/certificates": "webhooks" });
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "labels": labels } });
        cluster.create(&secrets, secret).await;
    }
    let text = project.run(&server.kubeconfig, &["undeploy"]).fine();
    assert!(text.contains("secret/shop-webhook-service-cert deleted"), "{text}");
    assert_eq!(cluster.names(&secrets).await, ["harbour-webhook-service-cert"]);
}

#[tokio::test]
async fn undeploy_prints_which_objects_go_but_not_what_they_hold() {
    let (server, project) = (Server::start(), TestProject::new());
    project.run(&server.kubeconfig, &["deploy", "--no-wait"]).fine();
    let text = project
        .run(&server.kubeconfig, &["undeploy", "--dry-run=client", "-o", "json"])
        .fine();
    let list: Value = serde_json::from_str(&text).unwrap();
    let items = list["items"].as_array().unwrap();
    let manager = items.iter().find(|item| item["kind"] == "Deployment").unwrap();
    assert_eq!(manager["metadata"]["name"], MANAGER);
    assert!(items.iter().all(|item| item.as_object().unwrap().len() == 3), "{text}");
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    assert!(cluster.deployments().get_opt(MANAGER).await.unwrap().is_some());
}
