//! What policies allocate for writes that they are not about: nothing. A program of its own, because all that it allocates is counted.

use bytes::Bytes;
use http::{Method, Request};
use kubewright_apiserver::{ApiServer, Options};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

const POLICIES: usize = 10;
const GROUP: &str = "admissionregistration.k8s.io/v1";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// A server and the thread that it runs on.
struct Cluster {
    runtime: Runtime,
    server: ApiServer,
}

impl Cluster {
    /// A server with policies of both kinds about a resource. They are bound or not, and otherwise the servers have the same objects.
    fn with_policies_about(group: &str, resource: &str, are_bound: bool) -> Cluster {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let server = runtime.block_on(async { ApiServer::new(Options::new().seed(1)) });
        let cluster = Cluster { runtime, server };
        cluster.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition());
        for number in 0..POLICIES {
            let name = format!("policy-{number}");
            let policy = if are_bound {
                name.clone()
            } else {
                format!("nobody-{number}")
            };
            let constraints = |operations: &[&str]| {
                json!({ "resourceRules": [{
                    "operations": operations, "apiGroups": [group], "apiVersions": ["*"], "resources": [resource],
                }] })
            };
            cluster.create(
                "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
                &json!({
                    "apiVersion": GROUP, "kind": "ValidatingAdmissionPolicy", "metadata": { "name": name },
                    "spec": { "matchConstraints": constraints(&["*"]), "validations": [{ "expression": "request.name != 'x'" }] },
                }),
            );
            cluster.create(
                "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
                &json!({
                    "apiVersion": GROUP, "kind": "ValidatingAdmissionPolicyBinding", "metadata": { "name": name },
                    "spec": { "policyName": policy, "validationActions": ["Deny"] },
                }),
            );
            cluster.create(
                "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
                &json!({
                    "apiVersion": GROUP, "kind": "MutatingAdmissionPolicy", "metadata": { "name": name },
                    "spec": {
                        "matchConstraints": constraints(&["CREATE", "UPDATE"]), "failurePolicy": "Fail", "reinvocationPolicy": "Never",
                        "mutations": [{ "patchType": "JSONPatch", "jsonPatch": { "expression": "[JSONPatch{op: 'test', path: '/kind', value: object.kind}]" } }],
                    },
                }),
            );
            cluster.create(
                "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
                &json!({
                    "apiVersion": GROUP, "kind": "MutatingAdmissionPolicyBinding", "metadata": { "name": name },
                    "spec": { "policyName": policy },
                }),
            );
        }
        cluster
    }

    fn create(&self, path: &str, object: &Value) {
        self.ask(&Method::POST, path, object);
    }

    fn ask(&self, method: &Method, path: &str, body: &Value) {
        let content_type = match *method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let body = Bytes::from(body.to_string());
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type);
        let answer = self
            .runtime
            .block_on(self.server.handle(request.body(body).expect("a request")));
        assert!(answer.status().is_success(), "{method} {path}: {}", answer.status());
    }

    /// How often each of some writes allocates.
    fn allocations(&self) -> Vec<u64> {
        let config_map =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "a": "1" } });
        let widget = json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "a" }, "spec": { "a": "1" } });
        let mut counts = Vec::new();
        for (path, object) in [(CONFIG_MAPS, config_map), (WIDGETS, widget)] {
            let one = format!("{path}/a");
            let changed = json!({ "metadata": { "labels": { "a": "b" } } });
            // The first writes also make what is made once.
            let before = counts.len();
            for _ in 0..2 {
                counts.truncate(before);
                for (method, path, body) in [
                    (Method::POST, path, &object),
                    (Method::PATCH, &one, &changed),
                    (Method::DELETE, &one, &Value::Null),
                ] {
                    let counted = allocation_counter::measure(|| self.ask(&method, path, body));
                    counts.push(counted.count_total);
                }
            }
        }
        counts
    }
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object",
                "properties": { "spec": { "type": "object", "properties": { "a": { "type": "string" } } } },
            } } }],
        },
    })
}

#[test]
fn a_write_that_no_policy_is_about_allocates_nothing_for_policies() {
    let without = Cluster::with_policies_about("", "pods", false).allocations();
    let with = Cluster::with_policies_about("", "pods", true).allocations();
    assert_eq!(with, without);
    // Every resource of another group.
    let with = Cluster::with_policies_about("apps", "*", true).allocations();
    assert_eq!(with, without);
}

/// What the other test would see.
#[test]
fn a_policy_about_a_write_allocates() {
    let without = Cluster::with_policies_about("*", "*", false).allocations();
    let with = Cluster::with_policies_about("*", "*", true).allocations();
    for (with, without) in with.iter().zip(&without) {
        assert!(with > without, "{with} with policies, {without} without");
    }
}
