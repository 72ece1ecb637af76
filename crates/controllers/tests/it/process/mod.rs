//! Containers as processes of this machine: the example `container` is loaded as an image, and its roles are what containers do.
#![cfg(unix)]
#![allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]

mod connect;
mod life;
mod refusals;
mod support;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use serde_json::json;
use support::{Cluster, eventually, main_status, phase, pod, with};

#[tokio::test]
async fn a_process_gets_the_words_variables_and_files_of_its_pod_and_nothing_else() {
    let cluster = Cluster::start().await;
    let config = json!({ "metadata": { "name": "settings" }, "data": { "COLOUR": "blue", "app.conf": "size = 3" } });
    cluster.create::<ConfigMap>(config).await;
    let secret = json!({ "metadata": { "name": "keys" }, "stringData": { "key": "s3cret" } });
    cluster.create::<Secret>(secret).await;
    let mut looking = with(
        pod("look", "look", "Never"),
        json!({
            "command": ["/child"],
            "args": ["config=/etc/app/app.conf", "$(GREETING) $$(GREETING) $(NONE)"],
            "envFrom": [{ "prefix": "APP_", "configMapRef": { "name": "settings" } }],
            "env": [
                { "name": "GREETING", "value": "hello from $(POD)" },
                { "name": "POD", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
                { "name": "KEY", "valueFrom": { "secretKeyRef": { "name": "keys", "key": "key" } } },
                { "name": "NOT_THERE", "valueFrom": { "configMapKeyRef": { "name": "none", "key": "x", "optional": true } } },
                { "name": "FILES", "value": "/etc/app/app.conf,/keys/deep/key,/labels/labels" },
            ],
            "volumeMounts": [
                { "name": "app", "mountPath": "/etc/app" }, { "name": "keys", "mountPath": "/keys" },
                { "name": "labels", "mountPath": "/labels" }, { "name": "scratch", "mountPath": "/scratch" },
            ],
        }),
    );
    looking["metadata"]["labels"] = json!({ "app": "looker" });
    looking["spec"]["volumes"] = json!([
        { "name": "app", "configMap": { "name": "settings" } },
        { "name": "keys", "secret": { "secretName": "keys", "items": [{ "key": "key", "path": "deep/key" }] } },
        { "name": "labels", "downwardAPI": { "items": [{ "path": "labels", "fieldRef": { "fieldPath": "metadata.labels" } }] } },
        { "name": "scratch", "emptyDir": {} },
    ]);
    // Variables are known to those that follow.
    looking["spec"]["containers"][0]["env"]
        .as_array_mut()
        .unwrap()
        .swap(1, 2);
    cluster.create::<Pod>(looking).await;
    let ended = eventually(&cluster.pods, "look", |pod| phase(pod) == "Succeeded").await;
    let status = main_status(&ended).unwrap();
    assert!(status.image_id.starts_with("sha256:") && status.container_id.as_ref().unwrap().starts_with("process://"));

    let log = cluster.log("look", false).await;
    let root = log
        .lines()
        .find_map(|line| line.strip_prefix("variable CONTAINER_SANDBOX_MOUNT_POINT="));
    let root = root.unwrap();
    let words = format!("words [\"config={root}/etc/app/app.conf\", \"hello from look $(GREETING) $(NONE)\"]");
    for line in [
        words.as_str(),
        "variable APP_COLOUR=blue",
        "variable GREETING=hello from look",
        "variable KEY=s3cret",
        "variable HOSTNAME=look",
        "variable KUBERNETES_SERVICE_HOST=127.0.0.1",
        "file size = 3",
        "file s3cret",
        "file app=\"looker\"",
        "mode of its folder 700",
        "mode of its token 600",
    ] {
        assert!(log.lines().any(|found| found == line), "{line} is not in\n{log}");
    }
    // Ours are not given away.
    assert!(std::env::vars().any(|(name, _)| name.starts_with("CARGO")));
    assert!(!log.contains("variable CARGO") && !log.contains("NOT_THERE"), "{log}");
    cluster.stop().await;
}

#[tokio::test]
async fn a_process_uses_the_api_server_as_its_own_account() {
    let cluster = Cluster::start().await;
    let rule = json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"] });
    cluster
        .create::<Role>(json!({ "metadata": { "name": "maker" }, "rules": [rule] }))
        .await;
    let binding = json!({
        "metadata": { "name": "maker" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "maker" },
        "subjects": [{ "kind": "ServiceAccount", "name": "default", "namespace": "default" }],
    });
    cluster.create::<RoleBinding>(binding).await;
    cluster.create::<Pod>(pod("client", "use-the-api", "Never")).await;
    eventually(&cluster.pods, "client", |pod| phase(pod) == "Succeeded").await;
    cluster.api::<ConfigMap>().get("made-by-a-process").await.unwrap();
    let log = cluster.log("client", false).await;
    assert!(
        log.contains("\"system:serviceaccount:default:default\" cannot list resource \"secrets\""),
        "{log}"
    );
    cluster.stop().await;
}
