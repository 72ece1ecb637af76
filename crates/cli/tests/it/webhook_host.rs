//! `kubewright run` finds where a cluster calls this machine, says so, and the cluster is told. A server of ours stands in for one of kind,
//! by the name of its context, and a script for the engine.
#![cfg(target_os = "linux")]

use std::path::PathBuf;

use kube::api::{Api, DynamicObject};
use kubewright_codec::yaml;

use crate::aggregated;
use crate::operator_project::{ClusterClient, TestProject};
use crate::support::Server;

const WEBHOOKS: &str = "shop-mutating-webhook-configuration";

/// The kubeconfig of a server as kind would write it for its cluster `dev`.
fn as_kind(server: &Server, project: &TestProject) -> PathBuf {
    let text = std::fs::read(&server.kubeconfig).unwrap();
    let mut kubeconfig = yaml::decode(&text).unwrap().value;
    for name in ["/current-context", "/contexts/0/name"] {
        *kubeconfig.pointer_mut(name).unwrap() = "kind-dev".into();
    }
    project.write("kind.kubeconfig", &kubeconfig.to_string());
    project.path("kind.kubeconfig")
}

/// An engine in whose network `kind` this machine has an address that none but it has.
fn with_engine(project: &TestProject) {
    let script = "#!/bin/sh\ncase \"$*\" in 'network inspect kind '*) echo '127.0.0.2 ' ;; info*) echo Debian ;; *) exit 1 ;; esac\n";
    project.script("bin/docker", script);
}

#[tokio::test]
async fn webhooks_are_called_where_the_cluster_reaches_this_machine() {
    let (server, project) = (Server::start(), TestProject::real());
    with_engine(&project);
    let kubeconfig = as_kind(&server, &project);
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let found =
        "webhooks are called at 127.0.0.2, the gateway of the container network kind (--webhook-host says another)";
    for (arguments, host, is_found) in [
        (&["run"][..], "127.0.0.2", true),
        (&["run", "--webhook-host=localhost"], "localhost", false),
    ] {
        let mut run = project.start(Some(&kubeconfig), arguments);
        run.until("The operator runs");
        let is_told = |object: &DynamicObject| {
            let url = object.data["webhooks"][0]["clientConfig"]["url"].as_str();
            url.is_some_and(|url| url.starts_with(&format!("https://{host}:")))
        };
        cluster.until(&cluster.mutating(), WEBHOOKS, is_told).await;
        run.signal("INT");
        let (status, said) = run.end();
        assert!(status.success(), "{said}");
        assert_eq!(said.contains(found), is_found, "{said}");
        assert!(is_found || !said.contains("--webhook-host says another"), "{said}");
    }
}

#[tokio::test]
async fn an_aggregated_api_is_found_there_too() {
    let (server, project) = (Server::start(), aggregated::project());
    with_engine(&project);
    let kubeconfig = as_kind(&server, &project);
    let mut run = project.start(Some(&kubeconfig), &["run"]);
    run.until("the aggregated API is found at 127.0.0.2, the gateway of the container network kind (--webhook-host says another)");
    run.until(aggregated::AVAILABLE);
    let cluster = ClusterClient::of(&server.kubeconfig).await;
    let services: Api<DynamicObject> = cluster.of_kind("", "v1", "Service", Some("default"));
    let mut hosts = Vec::new();
    for name in cluster.names(&services).await {
        let service = services.get(&name).await.unwrap();
        hosts.extend(service.data["spec"]["externalName"].as_str().map(str::to_owned));
    }
    assert_eq!(hosts, ["127.0.0.2"]);
    run.signal("INT");
    let (status, said) = run.end();
    assert!(status.success(), "{said}");
}
