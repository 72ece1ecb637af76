//! The requests that are sent for each definition, with valid and with invalid objects.

use http::Method;
use serde_json::{Value, json};

use super::definitions::GROUP;

/// One request.
pub(super) struct Attempt {
    pub(super) title: String,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) content_type: &'static str,
    pub(super) body: Value,
    /// The pointer to the part of the response that is recorded.
    pub(super) shown: &'static str,
}

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// The requests to send once a definition is served, in order.
pub(super) fn attempts(definition: &Value) -> Vec<Attempt> {
    let plural = definition["spec"]["names"]["plural"].as_str().unwrap_or_default();
    let kind = definition["spec"]["names"]["kind"].as_str().unwrap_or_default();
    let on = ObjectKind { plural, kind };
    match kind {
        "Database" => databases(&on),
        "Pipeline" => pipelines(&on),
        "Gateway" => gateways(&on),
        "Nest" => nests(&on),
        _ => larges(&on),
    }
}

struct ObjectKind<'a> {
    plural: &'a str,
    kind: &'a str,
}

impl ObjectKind<'_> {
    fn collection(&self, version: &str) -> String {
        format!("/apis/{GROUP}/{version}/namespaces/default/{}", self.plural)
    }

    fn object(&self, version: &str, name: &str, spec: Value) -> Value {
        let mut object =
            json!({"apiVersion": format!("{GROUP}/{version}"), "kind": self.kind, "metadata": {"name": name}});
        object["spec"] = spec;
        object
    }

    fn create(&self, title: &str, version: &str, name: &str, spec: Value, shown: &'static str) -> Attempt {
        Attempt {
            title: format!("{}: {title}", self.plural),
            method: Method::POST,
            path: self.collection(version),
            content_type: JSON,
            body: self.object(version, name, spec),
            shown,
        }
    }

    fn patch(&self, title: &str, place: &str, content_type: &'static str, body: Value, shown: &'static str) -> Attempt {
        Attempt {
            title: format!("{}: {title}", self.plural),
            method: Method::PATCH,
            path: format!("{}/{place}", self.collection("v1")),
            content_type,
            body,
            shown,
        }
    }
}

/// A pod template that uses nearly every kind of field of its schema.
fn template() -> Value {
    json!({
        "metadata": {"labels": {"app": "db"}, "annotations": {"a": "b"}},
        "spec": {
            "serviceAccountName": "db", "nodeSelector": {"disk": "ssd"}, "priorityClassName": "high",
            "terminationGracePeriodSeconds": 30, "restartPolicy": "Always", "dnsPolicy": "ClusterFirst",
            "securityContext": {"runAsUser": 1000, "fsGroup": 1000, "sysctls": [{"name": "kernel.shm", "value": "1"}], "seccompProfile": {"type": "RuntimeDefault"}},
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}]}},
                "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}}]},
            },
            "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "db", "effect": "NoSchedule"}],
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
            "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}],
            "imagePullSecrets": [{"name": "registry"}],
            "initContainers": [{"name": "init", "image": "busybox", "command": ["true"]}],
            "containers": [{
                "name": "db", "image": "postgres:16", "args": ["-c", "x=y"],
                "ports": [{"name": "sql", "containerPort": 5432, "protocol": "TCP"}],
                "env": [{"name": "A", "value": "b"}, {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
                "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": 2}},
                "livenessProbe": {"httpGet": {"path": "/", "port": "sql"}, "periodSeconds": 5},
                "readinessProbe": {"tcpSocket": {"port": 5432}},
                "lifecycle": {"preStop": {"exec": {"command": ["stop"]}}},
                "volumeMounts": [{"name": "data", "mountPath": "/data", "subPath": "x"}],
                "securityContext": {"capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": true},
            }],
            "volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "config", "projected": {"sources": [{"configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}}, {"downwardAPI": {"items": [{"path": "cpu", "resourceFieldRef": {"containerName": "db", "resource": "limits.cpu", "divisor": "1m"}}]}}]}},
                {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi", "medium": "Memory"}},
            ],
        },
    })
}

fn databases(on: &ObjectKind<'_>) -> Vec<Attempt> {
    let spec = |extra: Value| {
        let mut spec = json!({"engine": "postgres", "replicas": 3, "storage": "10Gi", "podTemplate": template(),
            "parameters": {"shared_buffers": "1GB", "nested": {"list": [1, {"deep": null}]}},
            "claims": [{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {"resources": {}}}]});
        if let (Value::Object(spec), Value::Object(extra)) = (&mut spec, extra) {
            spec.extend(extra);
        }
        spec
    };
    let mut odd_template = template();
    odd_template["spec"]["containers"][0]["imagine"] = json!("x");
    odd_template["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("a lot");
    let mut duplicate = template();
    let port = duplicate["spec"]["containers"][0]["ports"][0].clone();
    duplicate["spec"]["containers"][0]["ports"] = json!([port, port]);
    vec![
        on.create("everything", "v1", "full", spec(json!({})), "/metadata/generation"),
        on.create("defaults", "v1", "small", json!({"engine": "mysql", "backup": {}}), "/spec"),
        on.create("nothing", "v1", "none", json!({}), "/details/causes"),
        on.create("a bad pod", "v1", "bad", spec(json!({"podTemplate": odd_template})), "/details/causes"),
        on.create("a port twice", "v1", "twice", spec(json!({"podTemplate": duplicate})), "/details/causes"),
        on.create("no template", "v1", "types", spec(json!({"podTemplate": {"spec": {"containers": {}}}})), "/details/causes"),
        on.create("a claim without kind", "v1", "claim", spec(json!({"claims": [{"apiVersion": "v1"}]})), "/details/causes"),
        on.create("a bad quantity", "v1", "quantity", spec(json!({"storage": "much"})), "/details/causes"),
        on.patch("another image", "full", MERGE, json!({"spec": {"podTemplate": {"spec": {"nodeSelector": {"disk": "hdd"}}}}}), "/spec/podTemplate/spec/nodeSelector"),
        on.patch("one container applied", "full?fieldManager=me&force=true", APPLY,
            on.object("v1", "full", json!({"podTemplate": {"spec": {"containers": [{"name": "side", "image": "log"}]}}})), "/spec/podTemplate/spec/containers/1"),
        on.patch("scale", "full/scale", MERGE, json!({"spec": {"replicas": 5}}), "/spec"),
        on.patch("status", "full/status", MERGE, json!({"status": {"conditions": [{"type": "Ready", "status": "Maybe", "reason": "r", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}), "/details/causes"),
    ]
}

fn pipelines(on: &ObjectKind<'_>) -> Vec<Attempt> {
    let task = |name: &str, after: &[&str]| json!({"name": name, "ref": {"name": "t"}, "runAfter": after});
    vec![
        on.create(
            "good",
            "v1",
            "good",
            json!({"tasks": [task("a", &[]), task("b", &["a"])]}),
            "/spec/mode",
        ),
        on.create(
            "a cycle of one",
            "v1",
            "self",
            json!({"tasks": [task("a", &["a"])]}),
            "/details/causes",
        ),
        on.create(
            "a task that is not there",
            "v1",
            "lost",
            json!({"tasks": [task("a", &["z"])]}),
            "/details/causes",
        ),
        on.create(
            "neither alternative",
            "v1",
            "neither",
            json!({"tasks": [{"name": "a"}]}),
            "/details/causes",
        ),
        on.create(
            "both alternatives",
            "v1",
            "both",
            json!({"tasks": [{"name": "a", "ref": {}, "embedded": {"x": 1}}]}),
            "/details/causes",
        ),
        on.create(
            "a composite key twice",
            "v1",
            "keys",
            json!({"tasks": [{"name": "a", "ref": {}}, {"name": "a", "ref": {}, "stage": 0}]}),
            "/details/causes",
        ),
        on.create(
            "composite keys that differ",
            "v1",
            "differ",
            json!({"tasks": [{"name": "a", "ref": {}}, {"name": "a", "ref": {}, "stage": 1}]}),
            "/spec/tasks",
        ),
        on.create(
            "a forbidden number",
            "v1",
            "three",
            json!({"tasks": [task("a", &[])], "retries": 3}),
            "/details/causes",
        ),
        on.create(
            "two sources",
            "v1",
            "sources",
            json!({"tasks": [task("a", &[])], "workspaces": [{"name": "w", "from": {"claim": {}, "configMap": {}}}]}),
            "/details/causes",
        ),
        on.patch(
            "mode is fixed",
            "good",
            MERGE,
            json!({"spec": {"mode": "Parallel"}}),
            "/details/causes",
        ),
        on.patch(
            "a task applied",
            "good?fieldManager=me",
            APPLY,
            on.object(
                "v1",
                "good",
                json!({"tasks": [{"name": "c", "stage": 2, "ref": {"name": "u"}}]}),
            ),
            "/spec/tasks",
        ),
    ]
}

fn gateways(on: &ObjectKind<'_>) -> Vec<Attempt> {
    vec![
        on.create("good", "v1", "good", json!({"hosts": ["*.example.com"], "listeners": [{"port": 80}, {"port": 443, "protocol": "HTTPS", "tls": {}}], "weights": {"a": 1}}), "/spec"),
        on.create("old", "v1alpha1", "old", json!({"hosts": ["a.example.com"]}), "/spec"),
        on.create("middle", "v1beta1", "middle", json!({"hosts": ["b.example.com"]}), "/spec"),
        on.create("too many hosts for the old one", "v1alpha1", "many", json!({"hosts": ["a", "b", "c", "d", "e"]}), "/details/causes"),
        on.create("a host twice", "v1", "twice", json!({"hosts": ["a", "a"]}), "/details/causes"),
        on.create("a bad host", "v1", "host", json!({"hosts": ["-a"]}), "/details/causes"),
        on.create("a listener twice", "v1", "listener", json!({"hosts": [], "listeners": [{"port": 80}, {"port": 80, "protocol": "HTTP"}]}), "/details/causes"),
        on.create("tls without https", "v1", "tls", json!({"hosts": [], "listeners": [{"port": 80, "tls": {}}]}), "/details/causes"),
        on.create("an address that is none", "v1", "address", json!({"hosts": [], "listeners": [{"port": 80, "address": "here"}]}), "/code"),
        on.create("a weight too heavy", "v1", "weight", json!({"hosts": [], "weights": {"a": 101}}), "/details/causes"),
    ]
}

/// The leaf inside the nested objects, lists and maps of the schema.
fn nest(leaf: &Value) -> Value {
    let mut value = json!({"leaf": leaf});
    for level in 0..40 {
        value = match level % 3 {
            0 => json!({"down": value}),
            1 => json!({"down": [value]}),
            _ => json!({"down": {"key": value}}),
        };
    }
    json!({"down": value})
}

fn nests(on: &ObjectKind<'_>) -> Vec<Attempt> {
    vec![
        on.create("good", "v1", "good", nest(&json!("abc")), "/metadata/generation"),
        on.create(
            "too long at the bottom",
            "v1",
            "long",
            nest(&json!("abcdef")),
            "/details/causes",
        ),
        on.create(
            "another type at the bottom",
            "v1",
            "type",
            nest(&json!({"a": 1})),
            "/details/causes",
        ),
        on.create(
            "a default at the bottom",
            "v1",
            "default",
            nest(&Value::Null),
            "/metadata/generation",
        ),
    ]
}

fn larges(on: &ObjectKind<'_>) -> Vec<Attempt> {
    vec![
        on.create("a template and sections", "v1", "good", json!({"template": template(), "section0": {"name": "a"}, "section1": {"name": "b", "labels": {"x": "y"}, "port": "http"}}), "/spec/section0"),
        on.create("a rule", "v1", "rule", json!({"section3": {"name": "a", "owner": "a"}}), "/details/causes"),
        on.create("a field missing", "v1", "missing", json!({"section4": {}}), "/details/causes"),
        on.create("an unknown section", "v1", "unknown", json!({"section99999": {}}), "/spec"),
        on.patch("one field", "good", MERGE, json!({"spec": {"section1": {"zone": "z"}}}), "/spec/section1"),
    ]
}
