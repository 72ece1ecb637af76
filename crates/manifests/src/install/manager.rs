//! The manager: one container that runs as non-root with a read-only file system. Its file belongs to the user; what follows
//! from the code is patched into it.

use serde_json::{Value, json};

use super::certificates::{EXTENSION_SECRET, METRICS_SECRET, SERVING_SECRET};
use super::{GeneratedFile, RenderContext, extension};

/// Where the manager's file is, from the root of a project.
pub const MANAGER: &str = "config/manager/manager.yaml";

/// Where cert-manager's certificates are mounted.
const WEBHOOK_FOLDER: &str = "/tmp/k8s-webhook-server/serving-certs";
const EXTENSION_FOLDER: &str = "/tmp/k8s-extension-server/serving-certs";
const METRICS_FOLDER: &str = "/tmp/k8s-metrics-server/metrics-certs";

/// The first `config/manager/manager.yaml` of a project: namespace and Deployment, its user's from then on.
pub fn manager_yaml(operator: &str, namespaced: bool) -> String {
    let environment = if namespaced {
        WATCHED_NAMESPACE
    } else {
        "        env: []\n"
    };
    include_str!("manager.yaml")
        .replace("        env: {env}\n", environment)
        .replace("{name}", operator)
}

const WATCHED_NAMESPACE: &str = "        env:
        # The manager sees this namespace only. Separate several by commas, and bind its Role in each of them.
        - name: WATCH_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
";

/// The JSON patches of the manager's Deployment.
pub(super) fn patches(context: &RenderContext<'_>) -> Vec<GeneratedFile> {
    let metrics = [argument("--metrics-bind-address=:8443")];
    let mut files = vec![patch("manager_metrics_patch", &metrics)];
    if context.has_webhooks() {
        let mut operations = vec![add(
            "containers/0/ports",
            &json!({ "containerPort": 9443, "name": "webhook-server", "protocol": "TCP" }),
        )];
        if context.settings.cert_manager {
            operations.push(argument(&format!("--webhook-cert-path={WEBHOOK_FOLDER}")));
            operations.extend(mounted("webhook-certs", WEBHOOK_FOLDER, SERVING_SECRET));
        }
        files.push(patch("manager_webhook_patch", &operations));
    }
    if context.has_extension() {
        let mut operations = vec![add(
            "containers/0/ports",
            &json!({ "containerPort": extension::PORT, "name": "extension", "protocol": "TCP" }),
        )];
        if context.settings.cert_manager {
            operations.push(argument(&format!("--extension-cert-path={EXTENSION_FOLDER}")));
            operations.extend(mounted("extension-certs", EXTENSION_FOLDER, EXTENSION_SECRET));
        }
        files.push(patch("manager_extension_patch", &operations));
    }
    if context.settings.cert_manager {
        let mut operations = vec![argument(&format!("--metrics-cert-path={METRICS_FOLDER}"))];
        operations.extend(mounted("metrics-certs", METRICS_FOLDER, METRICS_SECRET));
        files.push(patch("cert_metrics_manager_patch", &operations));
    }
    files
}

fn patch(file: &str, operations: &[Value]) -> GeneratedFile {
    GeneratedFile::of(format!("default/{file}.yaml"), json!(operations))
}

/// A value at the end of a list of the Pod.
fn add(list: &str, value: &Value) -> Value {
    json!({ "op": "add", "path": format!("/spec/template/spec/{list}/-"), "value": value })
}

fn argument(argument: &str) -> Value {
    add("containers/0/args", &argument.into())
}

/// A Secret as a folder of the container.
fn mounted(name: &str, folder: &str, secret: &str) -> [Value; 2] {
    [
        add(
            "containers/0/volumeMounts",
            &json!({ "mountPath": folder, "name": name, "readOnly": true }),
        ),
        add("volumes", &json!({ "name": name, "secret": { "secretName": secret } })),
    ]
}
