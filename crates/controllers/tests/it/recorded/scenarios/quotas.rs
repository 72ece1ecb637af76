//! Quotas: what is counted, when something is given back, and what becomes of the status when the quota itself changes.

use serde_json::{Value, json};

use super::{Act, Scenario, delete, end, merge, patch, scenario};

const QUOTA: &str = "ResourceQuota";

fn quota(name: &str, hard: Value, spec: Value) -> Act {
    let mut quota = json!({ "kind": QUOTA, "metadata": { "name": name }, "spec": { "hard": hard } });
    merge(&mut quota["spec"], spec);
    Act::Create(quota)
}

/// A Pod on no node, whose container has these resources.
fn pod(name: &str, resources: Value) -> Act {
    Act::Create(json!({
        "kind": "Pod", "metadata": { "name": name },
        "spec": { "containers": [{ "name": "main", "image": "nginx:1", "resources": resources }] },
    }))
}

fn requests(cpu: &str) -> Value {
    json!({ "requests": { "cpu": cpu } })
}

fn service(name: &str, spec: Value) -> Act {
    let mut service = json!({ "kind": "Service", "metadata": { "name": name }, "spec": { "ports": [{ "port": 80 }] } });
    merge(&mut service["spec"], spec);
    Act::Create(service)
}

fn claim(name: &str, size: &str) -> Act {
    Act::Create(json!({
        "kind": "PersistentVolumeClaim", "metadata": { "name": name }, "spec": {
            "resources": { "requests": { "storage": size } }, "accessModes": ["ReadWriteOnce"], "storageClassName": "",
        },
    }))
}

/// A quota of one claim, for claims by their class of attributes.
fn of_attributes(name: &str, operator: &str, values: Value) -> Act {
    let expression = json!({ "scopeName": "VolumeAttributesClass", "operator": operator, "values": values });
    let selector = json!({ "scopeSelector": { "matchExpressions": [expression] } });
    quota(
        name,
        json!({ "persistentvolumeclaims": "9", "requests.storage": "9Gi" }),
        selector,
    )
}

fn claim_of_class(name: &str, class: &str) -> Act {
    let Act::Create(mut claim) = claim(name, "1Gi") else {
        unreachable!("a claim is created");
    };
    claim["spec"]["volumeAttributesClassName"] = class.into();
    Act::Create(claim)
}

fn gone(kind: &str, name: &str) -> Act {
    delete(kind, name, "Background")
}

fn hard(quota: &str, hard: Value) -> Act {
    patch(QUOTA, quota, json!({ "spec": { "hard": hard } }))
}

pub(super) fn all() -> Vec<Scenario> {
    vec![
        scenario(
            "quota-counts-pods",
            vec![
                pod("a", requests("500m")),
                quota(
                    "most",
                    json!({ "pods": "2", "requests.cpu": "1", "count/pods": "3" }),
                    json!({}),
                ),
                pod("b", requests("500m")),
                pod("c", requests("100m")),
                pod("none", json!({})),
                end(1, "Succeeded"),
                pod("d", requests("0.25")),
                end(1, "Failed"),
                gone("Pod", "a"),
                gone("Pod", "b"),
                gone("Pod", "d"),
            ],
        ),
        scenario(
            "quota-follows-its-spec",
            vec![
                pod("a", requests("500m")),
                quota("most", json!({ "pods": "5" }), json!({})),
                hard("most", json!({ "pods": null, "count/pods": "3", "requests.cpu": "2" })),
                hard("most", json!({ "count/pods": "0" })),
                pod("b", requests("500m")),
                hard("most", json!({ "example.com/nothing": "1" })),
                Act::Status(
                    QUOTA.to_owned(),
                    "most".to_owned(),
                    json!({ "used": { "count/pods": "7" } }),
                ),
                hard("most", json!({ "count/pods": "2" })),
                gone(QUOTA, "most"),
                pod("c", requests("500m")),
            ],
        ),
        scenario(
            "quota-of-a-scope",
            vec![
                quota("light", json!({ "pods": "1" }), json!({ "scopes": ["BestEffort"] })),
                quota(
                    "heavy",
                    json!({ "pods": "2", "limits.cpu": "1" }),
                    json!({ "scopes": ["NotBestEffort", "NotTerminating"] }),
                ),
                pod("a", json!({})),
                pod("b", json!({})),
                pod("c", json!({ "limits": { "cpu": "1" } })),
                pod("d", json!({ "limits": { "cpu": "1" } })),
                gone("Pod", "a"),
                gone("Pod", "c"),
            ],
        ),
        scenario(
            "quota-of-claims",
            vec![
                claim("a", "1Gi"),
                quota(
                    "most",
                    json!({ "persistentvolumeclaims": "2", "requests.storage": "3Gi" }),
                    json!({}),
                ),
                claim("b", "3Gi"),
                claim("c", "2Gi"),
                gone("PersistentVolumeClaim", "a"),
                gone("PersistentVolumeClaim", "c"),
            ],
        ),
        scenario(
            "quota-of-an-attributes-class",
            vec![
                of_attributes("in", "In", json!(["gold"])),
                of_attributes("not-in", "NotIn", json!(["gold"])),
                of_attributes("some", "Exists", Value::Null),
                of_attributes("none", "DoesNotExist", Value::Null),
                claim_of_class("a", "gold"),
                claim_of_class("b", "silver"),
                claim("c", "1Gi"),
                Act::Status(
                    "PersistentVolumeClaim".to_owned(),
                    "c".to_owned(),
                    json!({ "currentVolumeAttributesClassName": "gold" }),
                ),
                gone("PersistentVolumeClaim", "a"),
            ],
        ),
        scenario(
            "quota-of-services",
            vec![
                quota(
                    "most",
                    json!({ "services": "2", "services.loadbalancers": "1", "count/services": "2" }),
                    json!({}),
                ),
                service("a", json!({})),
                service(
                    "b",
                    json!({ "type": "LoadBalancer", "allocateLoadBalancerNodePorts": false }),
                ),
                service("c", json!({})),
                gone("Service", "a"),
                gone("Service", "b"),
            ],
        ),
    ]
}
