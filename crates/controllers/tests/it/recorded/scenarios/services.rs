//! Where the Pods are that a Service means.

use serde_json::{Value, json};

use super::{Act, Scenario, delete, merge, patch, scenario};

fn service(change: Value) -> Act {
    let mut web = json!({
        "kind": "Service", "metadata": { "name": "web", "labels": { "team": "shop" } },
        "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80, "targetPort": 8080 }] },
    });
    merge(&mut web["spec"], change);
    Act::Create(web)
}

/// Where the Pods of a scenario are. It is not shown.
fn host(name: &str) -> Act {
    Act::Create(json!({ "kind": "Node", "metadata": { "name": name } }))
}

fn pod(name: &str, host: &str, spec: Value) -> Act {
    let mut pod = json!({
        "kind": "Pod", "metadata": { "name": name, "labels": { "app": "web" } },
        "spec": { "nodeName": host, "containers": [{ "name": "main", "image": "nginx:1" }] },
    });
    merge(&mut pod["spec"], spec);
    Act::Create(pod)
}

fn serving(port: i32) -> Value {
    json!({ "containers": [{
        "name": "main", "image": "nginx:1", "ports": [{ "name": "http", "containerPort": port }],
    }] })
}

fn runs(name: &str, ip: &str, ready: bool) -> Act {
    let status = json!({
        "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }],
        "conditions": [{
            "type": "Ready", "status": if ready { "True" } else { "False" }, "lastTransitionTime": "$now",
        }],
    });
    Act::Status("Pod".to_owned(), name.to_owned(), status)
}

fn ends(name: &str) -> Act {
    let status = json!({
        "phase": "Succeeded",
        "conditions": [{ "type": "Ready", "status": "False", "lastTransitionTime": "$now" }],
    });
    Act::Status("Pod".to_owned(), name.to_owned(), status)
}

fn change(spec: Value) -> Act {
    patch("Service", "web", json!({ "spec": spec }))
}

pub(super) fn all() -> Vec<Scenario> {
    let plain = |name: &str, host: &str| pod(name, host, json!({}));
    vec![
        scenario(
            "service-knows-its-pods",
            vec![
                host("host-1"),
                service(json!({})),
                plain("a", "host-1"),
                runs("a", "10.1.0.1", false),
                runs("a", "10.1.0.1", true),
                plain("b", "host-1"),
                runs("b", "10.1.0.2", true),
                delete("Pod", "a", "Background"),
                Act::Gone(1),
                delete("Service", "web", "Background"),
            ],
        ),
        scenario(
            "service-with-ports-by-name",
            vec![
                host("host-2"),
                pod("a", "host-2", serving(8080)),
                pod("b", "host-2", serving(9090)),
                plain("c", "host-2"),
                runs("a", "10.1.0.1", true),
                runs("b", "10.1.0.2", true),
                runs("c", "10.1.0.3", true),
                service(json!({ "ports": [
                    { "name": "web", "port": 80, "targetPort": "http" },
                    { "name": "admin", "port": 81, "targetPort": 7070, "appProtocol": "h2c" },
                ] })),
                patch(
                    "Service",
                    "web",
                    json!({ "metadata": { "labels": { "team": "sales" } } }),
                ),
            ],
        ),
        scenario(
            "service-without-a-head",
            vec![
                host("host-3"),
                pod("a", "host-3", json!({ "hostname": "first", "subdomain": "web" })),
                pod("b", "host-3", json!({ "hostname": "second", "subdomain": "other" })),
                runs("a", "10.1.0.1", true),
                runs("b", "10.1.0.2", true),
                service(json!({ "clusterIP": "None" })),
                change(json!({ "ports": null })),
            ],
        ),
        scenario(
            "service-that-means-other-pods",
            vec![
                host("host-4"),
                plain("a", "host-4"),
                plain("b", "host-4"),
                runs("a", "10.1.0.1", true),
                runs("b", "10.1.0.2", true),
                patch("Pod", "b", json!({ "metadata": { "labels": { "track": "new" } } })),
                service(json!({})),
                change(json!({ "selector": { "track": "new" } })),
                patch("Pod", "b", json!({ "metadata": { "labels": { "track": null } } })),
                change(json!({ "ports": [{ "port": 80, "protocol": "TCP", "targetPort": 9090 }] })),
            ],
        ),
        scenario(
            "service-without-a-selector",
            vec![
                host("host-5"),
                plain("a", "host-5"),
                runs("a", "10.1.0.1", true),
                service(json!({ "selector": null })),
                change(json!({ "selector": { "app": "web" } })),
                change(json!({ "selector": null })),
            ],
        ),
        scenario(
            "service-that-publishes-early",
            vec![
                service(json!({ "publishNotReadyAddresses": true })),
                plain("a", "nowhere"),
                runs("a", "10.1.0.1", false),
                delete("Pod", "a", "Background"),
            ],
        ),
        scenario(
            "service-leaves-out-pods-that-ended",
            vec![
                host("host-6"),
                service(json!({})),
                plain("a", "host-6"),
                runs("a", "10.1.0.1", true),
                ends("a"),
            ],
        ),
        scenario(
            "service-of-a-pod-on-no-node",
            vec![
                plain("a", "host-7"),
                runs("a", "10.1.0.1", true),
                service(json!({})),
                host("host-7"),
                Act::Wait(30),
            ],
        ),
        scenario(
            "service-somewhere-else",
            vec![
                host("host-8"),
                plain("a", "host-8"),
                runs("a", "10.1.0.1", true),
                service(json!({ "type": "ExternalName", "externalName": "example.com" })),
                change(json!({ "type": "ClusterIP", "externalName": null })),
            ],
        ),
    ]
}
