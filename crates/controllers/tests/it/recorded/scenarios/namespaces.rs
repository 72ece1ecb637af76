//! What every namespace has, how one goes, and cluster roles that gather rules.

use serde_json::{Value, json};

use super::{Act, Scenario, delete, patch, scenario, template, template_on_a_node};

fn config(name: &str, metadata: Value) -> Act {
    let mut config = json!({ "kind": "ConfigMap", "metadata": metadata });
    config["metadata"]["name"] = name.into();
    Act::Create(config)
}

fn deployment(template: Value) -> Act {
    Act::Create(json!({
        "kind": "Deployment", "metadata": { "name": "web" },
        "spec": { "replicas": 2, "selector": { "matchLabels": { "app": "web" } }, "template": template },
    }))
}

fn role(name: &str, label: &str, resource: &str) -> Act {
    Act::Create(json!({
        "kind": "ClusterRole", "metadata": { "name": name, "labels": { label: "true" } },
        "rules": [{ "apiGroups": [""], "resources": [resource], "verbs": ["get", "list"] }],
    }))
}

/// The real controller looks at what is left every few seconds.
fn in_a_while(act: Act) -> Act {
    Act::All(vec![act, Act::Wait(25)])
}

pub(super) fn all() -> Vec<Scenario> {
    vec![
        scenario(
            "namespace-goes-with-its-content",
            vec![
                deployment(template("nginx:1")),
                config("settings", json!({})),
                delete("Namespace", "namespace-goes-with-its-content", "Background"),
            ],
        )
        .also_showing(&["Namespace", "ServiceAccount"]),
        scenario(
            "namespace-held-by-finalizers",
            vec![
                config("one", json!({ "finalizers": ["example.com/hold"] })),
                config(
                    "two",
                    json!({ "finalizers": ["example.com/hold", "example.com/other"] }),
                ),
                delete("Namespace", "namespace-held-by-finalizers", "Background"),
                config("three", json!({})),
                in_a_while(patch("ConfigMap", "one", json!({ "metadata": { "finalizers": null } }))),
                in_a_while(patch("ConfigMap", "two", json!({ "metadata": { "finalizers": null } }))),
            ],
        )
        .also_showing(&["Namespace"]),
        scenario(
            "namespace-waits-for-its-pods",
            vec![
                deployment(template_on_a_node("nginx:1")),
                config("settings", json!({})),
                delete("Namespace", "namespace-waits-for-its-pods", "Background"),
                in_a_while(Act::Gone(2)),
            ],
        )
        .also_showing(&["Namespace"]),
        scenario(
            "account-and-certificates",
            vec![
                delete("ServiceAccount", "default", "Background"),
                delete("ConfigMap", "kube-root-ca.crt", "Background"),
                patch(
                    "ConfigMap",
                    "kube-root-ca.crt",
                    json!({ "data": { "ca.crt": "", "more": "kept?" } }),
                ),
                patch(
                    "ServiceAccount",
                    "default",
                    json!({ "automountServiceAccountToken": false }),
                ),
            ],
        )
        .also_showing(&["ServiceAccount", "kube-root-ca.crt"]),
        scenario(
            "roles-gather-rules",
            vec![
                role("roles-gather-rules-b", "example.com/to-all", "pods"),
                Act::Create(json!({
                    "kind": "ClusterRole", "metadata": { "name": "roles-gather-rules-all" },
                    "aggregationRule": { "clusterRoleSelectors": [
                        { "matchLabels": { "example.com/to-all": "true" } },
                        { "matchLabels": { "example.com/more": "true" } },
                    ] },
                    "rules": [{ "apiGroups": ["gone"], "resources": ["*"], "verbs": ["*"] }],
                })),
                role("roles-gather-rules-a", "example.com/more", "services"),
                role("roles-gather-rules-c", "example.com/to-all", "pods"),
                patch(
                    "ClusterRole",
                    "roles-gather-rules-b",
                    json!({ "metadata": { "labels": { "example.com/to-all": null } } }),
                ),
                delete("ClusterRole", "roles-gather-rules-a", "Background"),
                delete("ClusterRole", "roles-gather-rules-c", "Background"),
            ],
        ),
    ]
}
