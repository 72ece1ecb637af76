//! The Deployment of the manager: one container, not root, with nothing writable and no rights it does not need.

use serde_json::{Value, json};

use super::{Place, access};

pub(super) fn deployment(place: &Place<'_>) -> Value {
    let mut deployment = place.namespaced("apps/v1", "Deployment", &place.name("controller-manager"));
    deployment["metadata"]["labels"]["control-plane"] = "controller-manager".into();
    deployment["spec"] = json!({
        "replicas": place.settings.replicas,
        "selector": { "matchLabels": place.selector() },
        "template": {
            "metadata": {
                "annotations": { "kubectl.kubernetes.io/default-container": "manager" },
                "labels": place.selector(),
            },
            "spec": {
                "containers": [container(place)],
                "securityContext": { "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } },
                "serviceAccountName": access::account(place),
                "terminationGracePeriodSeconds": 10,
            },
        },
    });
    deployment
}

fn container(place: &Place<'_>) -> Value {
    let mut ports = vec![json!({ "name": "metrics", "containerPort": 8443, "protocol": "TCP" })];
    if place.has_webhooks() {
        ports.push(json!({ "name": "webhook-server", "containerPort": 9443, "protocol": "TCP" }));
    }
    json!({
        "name": "manager",
        "image": place.settings.image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["--leader-elect", "--health-probe-bind-address=:8081", "--metrics-bind-address=:8443"],
        "ports": ports,
        "env": [{ "name": "POD_NAMESPACE", "valueFrom": { "fieldRef": { "fieldPath": "metadata.namespace" } } }],
        "livenessProbe": {
            "httpGet": { "path": "/healthz", "port": 8081 }, "initialDelaySeconds": 15, "periodSeconds": 20,
        },
        "readinessProbe": {
            "httpGet": { "path": "/readyz", "port": 8081 }, "initialDelaySeconds": 5, "periodSeconds": 10,
        },
        "resources": { "limits": { "cpu": "500m", "memory": "128Mi" }, "requests": { "cpu": "10m", "memory": "16Mi" } },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
            "readOnlyRootFilesystem": true,
        },
    })
}
